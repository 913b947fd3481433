package symbol

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"io"
	"testing"
)

// TestOpen opens the file of a mapping and its separate debug file, when they
// belong to it.
func TestOpen(t *testing.T) {
	dir, rest := hexID(idA)
	stripped := elfSpec{off: 0x2000, vaddr: 0x403000, text: 0x800, id: idA}
	for _, c := range []struct {
		name  string
		files map[string][]byte
		m     Mapping
		want  int
		why   string
	}{
		{"by path", map[string][]byte{"opt/srv": stripped.build(t)}, appMap("/opt/srv", idA), 1, ""},
		{"by the end of the path", map[string][]byte{"srv": stripped.build(t)}, appMap("/opt/srv", idA), 1, ""},
		{"of another build", map[string][]byte{"opt/srv": app(idB, "x").build(t)}, appMap("/opt/srv", idA), 0, WhyBuildID},
		{"none", nil, appMap("/opt/srv", idA), 0, WhyMissing},
		{"not ELF", map[string][]byte{"opt/srv": []byte("#!/bin/sh\n")}, appMap("/opt/srv", idA), 0, WhyDamaged},
		{"anonymous", nil, appMap("//anon", nil), 0, WhyAnon},
		{"debug file without tables", map[string][]byte{"opt/srv": stripped.build(t),
			"usr/lib/debug/.build-id/" + dir + "/" + rest + ".debug": app(idA, "x").build(t)}, appMap("/opt/srv", idA), 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, b := range c.files {
				put(t, root, name, b)
			}
			r, err := New(Options{Symfs: root, NoHost: true})
			if err != nil {
				t.Fatal(err)
			}
			got, why := r.Open(c.m)
			if len(got) != c.want || len(got) == 0 && why != c.why {
				t.Fatalf("%d files, %q; want %d, %q", len(got), why, c.want, c.why)
			}
			for _, o := range got {
				if v, ok := o.Vaddr(appAddr - c.m.Start + c.m.PgOff); !ok || v != 0x403180 || o.Machine != elf.EM_X86_64 {
					t.Errorf("address %#x, %v; machine %v", v, ok, o.Machine)
				}
				if err := o.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestCompressedSection unpacks a section, within its limit.
func TestCompressedSection(t *testing.T) {
	want := bytes.Repeat([]byte("unwind tables "), 400)
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := w.Write(want); err != nil {
		t.Fatal(err)
	}
	w.Close()
	packed := func(typ elf.CompressionType, size int) []byte {
		b, err := binary.Append(nil, binary.LittleEndian, elf.Chdr64{Type: uint32(typ), Size: uint64(size)})
		if err != nil {
			t.Fatal(err)
		}
		return append(b, z.Bytes()...)
	}
	for _, c := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"zlib", packed(elf.COMPRESS_ZLIB, len(want)), true},
		{"another way", packed(9, len(want)), false},
		{"too large", packed(elf.COMPRESS_ZLIB, 1<<30), false},
		{"cut header", make([]byte, 5), false},
		{"damaged", append(packed(elf.COMPRESS_ZLIB, len(want))[:24], "no zlib"...), false},
	} {
		o := &Object{Order: binary.LittleEndian, Wide: true}
		r, err := o.unpack(io.NewSectionReader(bytes.NewReader(c.data), 0, int64(len(c.data))), 1<<20)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !c.ok {
			continue
		}
		got := make([]byte, r.Size())
		if _, err := r.ReadAt(got, 0); err != nil && err != io.EOF || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
	}
}

// TestLikely opens this machine's file for a capture without build-ids, when
// its code has the mapped size.
func TestLikely(t *testing.T) {
	root := t.TempDir()
	put(t, root, "opt/srv", app(idA, "x").build(t))
	larger := app(idA, "x")
	larger.text = 0x1200
	put(t, root, "opt/larger", larger.build(t))
	r, err := newResolver(Options{}, newMachine(root, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    Mapping
		want int
		why  string
	}{
		{appMap("/opt/srv", nil), 1, ""},
		{appMap("/opt/srv", idA), 1, ""},
		{appMap("/opt/srv", idB), 0, WhyBuildID},
		{appMap("/opt/larger", nil), 0, WhyMismatch},
		{appMap("/opt/none", nil), 0, WhyNoBuildID},
		{appMap("srv", nil), 0, WhyNoBuildID},
	} {
		got, why := Likely{r}.Open(c.m)
		if len(got) != c.want || len(got) == 0 && why != c.why {
			t.Errorf("%s %x: %d files, %q; want %d, %q", c.m.Path, c.m.BuildID, len(got), why, c.want, c.why)
		}
		for _, o := range got {
			o.Close()
		}
		if strict, _ := r.Open(c.m); len(c.m.BuildID) == 0 && len(strict) > 0 {
			t.Errorf("%s: opened without a build-id", c.m.Path)
		}
	}
}

package symbol

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ctxan/parse/evidence"
)

// koFile is a kernel module's file: it gives its sections no addresses.
func koFile(id []byte) elfSpec {
	return elfSpec{off: 0x1000, vaddr: 0, text: 0x400, id: id, noPhdrs: true,
		symtab: []elfSym{fn("ext4_sync_file", 0x100, 0x80), fn("ext4_readdir", 0x180, 0x80), {name: "jbd2_exit", value: 0x10, size: 8, typ: 2, bind: 1, sec: ".plt"}}}
}

func TestModuleFile(t *testing.T) {
	const path = "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko"
	good := koFile(idA).build(t)
	a, rest := hexID(idA)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		files map[string][]byte
		path  string
		id    []byte
		want  string
	}{
		{"by path", map[string][]byte{path: good}, path, idA, "ext4_sync_file"},
		{"packed by xz", map[string][]byte{path + ".xz": packXZ(t, good)}, path, idA, "ext4_sync_file"},
		{"packed by zstd", map[string][]byte{path + ".zst": z.EncodeAll(good, nil)}, path, idA, "ext4_sync_file"},
		{"by name", map[string][]byte{"ext4.ko": good}, path, idA, "ext4_sync_file"},
		{"by build-id", map[string][]byte{".build-id/" + a + "/" + rest + "/elf": good}, "[ext4]", idA, "ext4_sync_file"},
		{"no build-id, whole path", map[string][]byte{path: good}, path, nil, "ext4_sync_file"},
		{"no build-id, name only", map[string][]byte{"ext4.ko": good}, path, nil, WhyNoKernelSymbols},
		{"another build", map[string][]byte{path: koFile(idB).build(t)}, path, idA, WhyBuildID},
		{"damaged", map[string][]byte{path: []byte("text")}, path, idA, WhyDamaged},
		{"a program", map[string][]byte{path: app(idA, "f").build(t)}, path, idA, WhyDamaged},
		{"none", nil, path, idA, WhyNoKernelSymbols},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range c.files {
				put(t, dir, name, data)
			}
			r := mustNew(t, Options{Symfs: dir, NoHost: true})
			m := Mapping{Start: 0xffffffffc0800000, End: 0xffffffffc0802000, Path: c.path, BuildID: c.id, Kernel: true}
			f := r.Kernel(m, m.Start+0x120, evidence.Host{Release: "6.1.0"})
			if f.Symbol+f.Why != c.want || f.Module != "[ext4]" {
				t.Errorf("got %+v, want %s; %v", f, c.want, r.Report())
			}
			if c.want != "ext4_sync_file" {
				return
			}
			if f := r.Kernel(m, m.Start+0x200, evidence.Host{}); f.Why != WhyNoSymbol {
				t.Errorf("behind the functions: %+v", f)
			}
		})
	}
}

// TestModuleSymbolsFirst checks that kallsyms of the recorded kernel goes
// before a module's file.
func TestModuleSymbolsFirst(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "ext4.ko", bytes.Clone(koFile(idA).build(t)))
	list := "ffffffff81000000 T _text\nffffffff81000100 T f\nffffffff81002000 T _etext\nffffffffc0800100 t from_kallsyms\t[ext4]\n"
	r := mustNew(t, Options{Symfs: dir, NoHost: true, Kallsyms: put(t, dir, "kallsyms", []byte(list))})
	m := Mapping{Start: 0xffffffffc0800000, End: 0xffffffffc0802000, Path: "/lib/modules/x/ext4.ko", BuildID: idA, Kernel: true}
	if f := r.Kernel(m, m.Start+0x100, evidence.Host{}); f.Symbol != "from_kallsyms" {
		t.Errorf("got %+v; %v", f, r.Report())
	}
	m.Path, m.BuildID = "/lib/modules/x/xfs.ko", idA
	if f := r.Kernel(m, m.Start+0x100, evidence.Host{}); f.Why != WhyNoModule {
		t.Errorf("a module that nothing has: %+v", f)
	}
}

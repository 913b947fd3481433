package symbol

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

type tarEntry struct {
	name, link string
	typ        byte
	data       []byte
}

func makeTar(t testing.TB, entries []tarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		if e.typ == 0 {
			e.typ = tar.TypeReg
		}
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.typ, Size: int64(len(e.data)), Mode: 0o644, ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPerfArchive resolves by an archive that perf archive made.
func TestPerfArchive(t *testing.T) {
	r := mustNew(t, Options{Symfs: fixtures + "jobs-perf-archive-6.1.tar.bz2", NoHost: true})
	id := []byte("\x1a\xb5\x9d\x08\x91\x7a\xd8\x3c\x7a\xd2\x31\x67\x39\x35\x3b\x31\x94\x01\xa4\xfe")
	m := Mapping{Start: 0x400000, End: 0x401000, Path: "/opt/demo/app/bin/jobs", BuildID: id}
	if got := text(r.User(m, leaveAddr)); got != leaveText {
		t.Errorf("got %s; %v", got, r.Report())
	}
	if u := r.Report(); len(u) != 1 || !strings.HasSuffix(u[0].Path, ".tar.bz2/.build-id/1a/b59d08917ad83c7ad2316739353b319401a4fe/elf") {
		t.Errorf("report: %v", u)
	}
	m.BuildID = idA
	if got := text(r.User(m, leaveAddr)); got != WhyMissing+" :0" {
		t.Errorf("another build: %s", got)
	}
}

func TestArchives(t *testing.T) {
	a, rest := hexID(idA)
	good, bad := app(idA, "good").build(t), app(idB, "bad").build(t)
	byID := ".build-id/" + a + "/" + rest
	cases := []struct {
		name    string
		entries []tarEntry
		want    string
	}{
		{"by path", []tarEntry{{name: "./opt/srv", data: good}}, "good"},
		{"by build-id", []tarEntry{{name: byID + "/elf", data: good}}, "good"},
		{"folder linked", []tarEntry{{name: byID, link: "../../srv/" + rest, typ: tar.TypeSymlink}, {name: "srv/" + rest + "/elf", data: good}}, "good"},
		{"linked absolutely", []tarEntry{{name: "opt", link: "/data/opt", typ: tar.TypeSymlink}, {name: "data/opt/srv", data: good}}, "good"},
		{"hard link", []tarEntry{{name: "data", data: good}, {name: "opt/srv", link: "data", typ: tar.TypeLink}}, "good"},
		{"the last one holds", []tarEntry{{name: "opt/srv", data: bad}, {name: "opt/srv", data: good}}, "good"},
		{"out of it", []tarEntry{{name: "opt/srv", link: "../../../../../../etc/passwd", typ: tar.TypeSymlink}}, WhyMissing},
		{"names that lead out", []tarEntry{{name: "../../opt/srv", data: good}}, "good"}, // and stay in
		{"links in a circle", []tarEntry{{name: "opt", link: "a", typ: tar.TypeSymlink}, {name: "a", link: "opt", typ: tar.TypeSymlink}}, WhyMissing},
		{"a device", []tarEntry{{name: "opt/srv", typ: tar.TypeChar}}, WhyMissing},
		{"nothing", nil, WhyMissing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := put(t, t.TempDir(), "x.tar", makeTar(t, c.entries))
			r := mustNew(t, Options{Symfs: name, NoHost: true})
			if got := user(r, appMap("/opt/srv", idA), appAddr); got != c.want {
				t.Errorf("got %q, want %q; %v", got, c.want, r.Report())
			}
		})
	}
}

func TestPackedArchives(t *testing.T) {
	plain := makeTar(t, []tarEntry{{name: "opt/srv", data: app(idA, "good").build(t)}})
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(plain)
	w.Close()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"plain": plain, "gzip": gz.Bytes(), "xz": packXZ(t, plain), "zstd": z.EncodeAll(plain, nil), "cut": plain[:len(plain)-700]} {
		r := mustNew(t, Options{Symfs: put(t, t.TempDir(), "x", data), NoHost: true})
		if got := user(r, appMap("/opt/srv", idA), appAddr); got != "good" {
			t.Errorf("%s: %q; %v", name, got, r.Report())
		}
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"text": []byte("not a tar file\n"), "damaged": gz.Bytes()[:40], "too large": gz.Bytes()} {
		lim := Limits{}
		if name == "too large" {
			lim.SpoolBytes = 100
		}
		_, err := New(Options{Symfs: put(t, dir, name, data), Limits: lim})
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(makeTar(f, []tarEntry{{name: "opt/srv", data: []byte("x")}, {name: "l", link: "opt", typ: tar.TypeSymlink}}))
	f.Add([]byte(readFile(f, fixtures+"jobs-perf-archive-6.1.tar.bz2")))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := openArchive(put(t, dir, "x", b), &spooler{left: 1 << 20})
		if err != nil {
			return
		}
		defer a.file.Close()
		for _, name := range []string{"/opt/srv", "/l/srv", "/l"} {
			if f, why := a.open(name, name); why == "" && f.size < 0 {
				t.Errorf("%s has %d bytes", name, f.size)
			}
		}
	})
}

package collect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"strings"
)

// noteBuildID takes a build-id out of the bytes of ELF notes; nil for none.
//
// Layout: Elf64_Nhdr, of which name and content are padded to 4 bytes.
func noteBuildID(b []byte, o binary.ByteOrder) []byte {
	const gnuBuildID = 3
	for len(b) >= 12 {
		name, desc, typ := uint64(o.Uint32(b)), uint64(o.Uint32(b[4:])), o.Uint32(b[8:])
		b = b[12:]
		n, d := (name+3)&^3, (desc+3)&^3
		if n > uint64(len(b)) || desc > uint64(len(b))-n {
			return nil
		}
		if typ == gnuBuildID && string(bytes.TrimRight(b[:name], "\x00")) == "GNU" && desc > 0 && desc <= 20 {
			return bytes.Clone(b[n : n+desc])
		}
		b = b[min(n+d, uint64(len(b))):]
	}
	return nil
}

// elfBuildID returns the build-id of an ELF file, nil when it has none.
func elfBuildID(r io.ReaderAt) []byte {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<16 {
			continue
		}
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err != nil {
			continue
		}
		if id := noteBuildID(b, f.ByteOrder); id != nil {
			return id
		}
	}
	return nil
}

// buildIDs finds the build-ids of mapped files, each once.
type buildIDs struct {
	proc procfs
	seen map[fileKey][]byte
}

type fileKey struct {
	maj, min uint32
	inode    uint64
	path     string
}

// of returns the build-id of a mapping's file. The file is opened in the
// file system of the process, which may be that of a container.
func (ids *buildIDs) of(pid int, m *mapping) []byte {
	if !strings.HasPrefix(m.path, "/") || strings.HasPrefix(m.path, "//") || m.inode == 0 {
		return nil
	}
	key := fileKey{m.maj, m.min, m.inode, m.path}
	if id, ok := ids.seen[key]; ok {
		return id
	}
	var id []byte
	if f := openMapped(ids.proc, pid, m); f != nil {
		id = elfBuildID(f)
		f.Close()
	}
	ids.seen[key] = id
	return id
}

// openMapped opens the file of a mapping: by the mapping itself, which works
// for deleted files too but needs a right, or by its path.
func openMapped(p procfs, pid int, m *mapping) *os.File {
	names := []string{p.path(pid, "map_files", hexRange(m)), p.path(pid, "root") + strings.TrimSuffix(m.path, " (deleted)")}
	for _, n := range names {
		st, err := os.Stat(n)
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		if f, err := os.Open(n); err == nil {
			return f
		}
	}
	return nil
}

// kernelBuildID is the build-id of the running kernel, nil when it can't be read.
func kernelBuildID() []byte {
	b, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		return nil
	}
	return noteBuildID(b, binary.NativeEndian)
}

func moduleBuildID(name string) []byte {
	b, err := os.ReadFile("/sys/module/" + name + "/notes/.note.gnu.build-id")
	if err != nil {
		return nil
	}
	return noteBuildID(b, binary.NativeEndian)
}

// vdsoBuildID is that of the code which the kernel maps into every process.
func vdsoBuildID(p procfs) []byte {
	maps, err := p.maps(os.Getpid())
	if err != nil {
		return nil
	}
	for i := range maps {
		if m := &maps[i]; m.path == "[vdso]" && m.end-m.start < 1<<20 {
			mem, err := os.Open(p.path("self", "mem"))
			if err != nil {
				return nil
			}
			defer mem.Close()
			return elfBuildID(io.NewSectionReader(mem, int64(m.start), int64(m.end-m.start)))
		}
	}
	return nil
}

package collect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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
	dead map[device]bool // file systems that did not answer
}

func newBuildIDs(p procfs) buildIDs {
	return buildIDs{p, map[fileKey][]byte{}, map[device]bool{}}
}

type device struct{ maj, min uint32 }

type fileKey struct {
	device
	inode uint64
	path  string
}

// patience is how long a file system may take to open a file. One whose server
// is gone (NFS, FUSE) never answers.
const patience = 2 * time.Second

// of returns the build-id of a mapping's file. The file is opened in the
// file system of the process, which may be that of a container.
func (ids *buildIDs) of(pid int, m *mapping) []byte {
	if !strings.HasPrefix(m.path, "/") || strings.HasPrefix(m.path, "//") || m.inode == 0 {
		return nil
	}
	key := fileKey{device{m.maj, m.min}, m.inode, m.path}
	if id, ok := ids.seen[key]; ok || ids.dead[key.device] {
		return id
	}
	type answer struct {
		id     []byte
		opened bool
	}
	a, ok := within(patience, func() answer {
		f := openMapped(ids.proc, pid, m)
		if f == nil {
			return answer{}
		}
		defer f.Close()
		return answer{elfBuildID(f), true}
	}, nil)
	if !ok {
		ids.dead[key.device] = true
	}
	if a.opened { // else the process may just have ended: the next may be asked
		ids.seen[key] = a.id
	}
	return a.id
}

// within returns what f returns, or false when that takes longer than d. What
// comes later is handed to late.
func within[T any](d time.Duration, f func() T, late func(T)) (T, bool) {
	got, timer := make(chan T, 1), time.NewTimer(d)
	defer timer.Stop()
	go func() { got <- f() }()
	select {
	case v := <-got:
		return v, true
	case <-timer.C:
	}
	if late != nil {
		go func() { late(<-got) }()
	}
	var none T
	return none, false
}

// openMapped opens the file of a mapping: by the mapping itself, which works
// for deleted files too but needs a right and the process, or by its path. A
// path is good for the file that has the mapping's inode: what stands there by
// now may be a newer build.
func openMapped(p procfs, pid int, m *mapping) *os.File {
	path := strings.TrimSuffix(m.path, " (deleted)")
	for _, try := range []struct {
		name string
		same func(*unix.Stat_t) bool
	}{
		{p.path(pid, "map_files", hexRange(m)), func(*unix.Stat_t) bool { return true }},
		{p.path(pid, "root") + path, func(st *unix.Stat_t) bool { return st.Ino == m.inode }},
		{path, func(st *unix.Stat_t) bool { // the process may be gone
			return st.Ino == m.inode && unix.Major(st.Dev) == m.maj && unix.Minor(st.Dev) == m.min
		}},
	} {
		if f := openRegular(try.name, try.same); f != nil {
			return f
		}
	}
	return nil
}

// openRegular opens a regular file of which a condition holds, nil when there is
// none. What stands at a path may be a FIFO by now, which would keep its reader
// waiting, or a device, which does something when it is opened.
func openRegular(name string, same func(*unix.Stat_t) bool) *os.File {
	good := func(st *unix.Stat_t, err error) bool {
		return err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && same(st)
	}
	var st unix.Stat_t
	if !good(&st, unix.Stat(name, &st)) {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if !good(&st, unix.Fstat(int(f.Fd()), &st)) { // it was replaced in between
		f.Close()
		return nil
	}
	return f
}

// newFiles finds the build-ids of files that are mapped while it is measured.
//
// The kernel would tell them (attr.build_id), but that harms others who record
// at the same time: up to 6.18 at least it then says of their records too that
// they have a build-id where they have a device and an inode, and perf 6.1
// aborts on such a file. So the files are looked at, beside the reading of the
// rings, while the process is likely to be there still.
type newFiles struct {
	seen map[fileKey]bool
	ask  chan mappedBy
	done chan struct{}
	ids  buildIDs

	mu sync.Mutex
	of map[string][]byte // by path; nil where files with different ids had it
}

func findNewFiles(p procfs) *newFiles {
	n := &newFiles{
		seen: map[fileKey]bool{}, ask: make(chan mappedBy, 1024), done: make(chan struct{}),
		ids: newBuildIDs(p), of: map[string][]byte{},
	}
	go n.find(n.ask)
	return n
}

func (n *newFiles) find(ask <-chan mappedBy) {
	defer close(n.done)
	for by := range ask {
		n.found(by.m.path, n.ids.of(by.pid, &by.m))
	}
}

func (n *newFiles) found(path string, id []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if have, ok := n.of[path]; ok && !bytes.Equal(have, id) {
		id = nil
	}
	n.of[path] = id
}

// maxNewFiles bounds the files that are looked at.
const maxNewFiles = 1 << 16

// mapped takes the body of a MMAP2 record. It does not wait: a file that finds
// no room is asked for with its next mapping.
func (n *newFiles) mapped(body []byte) {
	const protExec, name = 4, 64
	if len(body) <= name || le.Uint32(body[56:])&protExec == 0 || body[name] != '/' || len(n.seen) >= maxNewFiles {
		return
	}
	path, _, _ := bytes.Cut(body[name:], []byte{0})
	key := fileKey{device{le.Uint32(body[32:]), le.Uint32(body[36:])}, le.Uint64(body[40:]), string(path)}
	if n.seen[key] {
		return
	}
	start := le.Uint64(body[8:])
	by := mappedBy{int(int32(le.Uint32(body))), mapping{
		start: start, end: start + le.Uint64(body[16:]), off: le.Uint64(body[24:]),
		maj: key.maj, min: key.min, inode: key.inode, path: key.path,
	}}
	select {
	case n.ask <- by:
		n.seen[key] = true
	default:
	}
}

// table returns the build-ids by path, when no more files come: those that were
// found in time.
func (n *newFiles) table() map[string][]byte {
	n.close()
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.of)
}

// close ends the search, which may have some file systems yet to wait for.
func (n *newFiles) close() {
	if n.ask == nil {
		return
	}
	close(n.ask)
	n.ask = nil
	select {
	case <-n.done:
	case <-time.After(2 * patience):
	}
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

package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"ctxan/parse/evidence"
)

// machine is this machine's own files. A test puts another folder in the place
// of the root.
type machine struct {
	root string // "" is /
	home string // the folder that holds .debug and .cache; "" for none
	id   func() []byte
}

func thisMachine() *machine {
	home, _ := os.UserHomeDir()
	return newMachine("", home)
}

func newMachine(root, home string) *machine {
	m := &machine{root: root, home: home}
	m.id = sync.OnceValue(m.kernelID)
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.root, filepath.FromSlash(name)) }

// kernelID is the build-id of the running kernel, nil when it can't be read.
func (m *machine) kernelID() []byte {
	b, err := os.ReadFile(m.path("/sys/kernel/notes"))
	if err != nil {
		return nil
	}
	return noteBuildID(b, binary.NativeEndian)
}

// is reports whether the machine has that name, kernel release and kernel.
func (m *machine) is(h evidence.Host, kernelID []byte) bool {
	if h.Name == "" || h.Release == "" || !sameID(kernelID, m.id()) {
		return false
	}
	return h.Name == m.line("/proc/sys/kernel/hostname") && h.Release == m.line("/proc/sys/kernel/osrelease")
}

// line reads a file that holds one line.
func (m *machine) line(name string) string {
	b, err := os.ReadFile(m.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// ownVDSO returns the vdso that the kernel maps into this process.
func ownVDSO() (*file, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(maps) {
		if !bytes.HasSuffix(bytes.TrimSpace(line), []byte("[vdso]")) {
			continue
		}
		lo, hi, err := hexRange(string(line))
		if err != nil || hi <= lo || hi-lo > maxVDSO {
			return nil, errors.New("the vdso's mapping is out of bounds")
		}
		return readMem(lo, hi)
	}
	return nil, errors.New("no vdso is mapped")
}

const maxVDSO = 1 << 20

// hexRange reads the "lo-hi" in front of a line of maps.
func hexRange(line string) (lo, hi uint64, err error) {
	a, rest, _ := strings.Cut(line, "-")
	b, _, _ := strings.Cut(rest, " ")
	if lo, err = strconv.ParseUint(a, 16, 64); err == nil {
		hi, err = strconv.ParseUint(b, 16, 64)
	}
	return lo, hi, err
}

// readMem copies a part of this process's memory.
func readMem(lo, hi uint64) (*file, error) {
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	b := make([]byte, hi-lo)
	if n, err := mem.ReadAt(b, int64(lo)); n == 0 {
		return nil, fmt.Errorf("reading the vdso: %w", err)
	}
	return &file{ReaderAt: bytes.NewReader(b), path: "[vdso]", size: int64(len(b)), close: io.NopCloser(nil).Close}, nil
}

package symbol

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// place is where symbol files are looked for: below --symfs, or on this
// machine. Names are absolute paths of the recorded machine.
type place struct {
	dir     string   // in front of names, for messages and for the host
	root    *os.Root // of --symfs: neither ".." nor a link leads out of it
	archive *archive // of --symfs that is a tar file
}

func (p *place) close() error {
	switch {
	case p == nil:
		return nil
	case p.archive != nil:
		return p.archive.file.Close()
	case p.root != nil:
		return p.root.Close()
	}
	return nil
}

// file is an open symbol file. Only regular ones are ever opened, but for a
// pipe that the user names.
type file struct {
	io.ReaderAt
	path  string
	size  int64
	pipe  io.Reader // instead of the above
	close func() error
}

// reader reads the file up to its end; those of /proc say that they are empty.
func (f *file) reader() io.Reader {
	if f.pipe != nil {
		return f.pipe
	}
	return io.NewSectionReader(f, 0, 1<<62)
}

// openGiven opens a file that the user names, which may be a pipe.
func openGiven(name string) (*file, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, cause(err)
	}
	h, err := os.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	f := &file{ReaderAt: h, path: name, size: info.Size(), close: h.Close}
	if !info.Mode().IsRegular() {
		f.pipe = h
	}
	return f, nil
}

// cause drops the operation and the path from an error.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// openSymfs opens a --symfs folder.
func openSymfs(dir string) (*place, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &place{dir: dir, root: root}, nil
}

// open opens a regular file of the place, or says why not.
func (p *place) open(name string) (f *file, why string) {
	name = path.Clean("/" + name)
	full := filepath.Join(p.dir, filepath.FromSlash(name))
	if p.archive != nil {
		return p.archive.open(full, name)
	}
	stat, open := os.Stat, os.OpenFile
	at := full
	if p.root != nil {
		stat, open, at = p.root.Stat, p.root.OpenFile, filepath.FromSlash(strings.TrimPrefix(name, "/"))
		if at == "" {
			return nil, WhyMissing
		}
	}
	return openRegular(full, at, stat, open)
}

// openRegular opens a file after looking at it: opening a pipe or a device can
// block or do something. It does not block either if the file is swapped for
// one in between.
func openRegular(full, at string, stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error)) (*file, string) {
	info, err := stat(at)
	if err != nil {
		return nil, whyNot(err)
	}
	if !info.Mode().IsRegular() {
		return nil, WhyNotFile
	}
	h, err := open(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, whyNot(err)
	}
	if info, err = h.Stat(); err != nil || !info.Mode().IsRegular() {
		h.Close()
		return nil, WhyNotFile
	}
	return &file{ReaderAt: h, path: full, size: info.Size(), close: h.Close}, ""
}

func whyNot(err error) string {
	if os.IsPermission(err) {
		return WhyPermission
	}
	return WhyMissing
}

// pseudo reports whether a path that a capture names lies in a file system
// whose files do things when they are read.
func pseudo(name string) bool {
	name = path.Clean("/" + name)
	for _, dir := range []string{"/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(name+"/", dir) {
			return true
		}
	}
	return false
}

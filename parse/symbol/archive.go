package symbol

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// archive is a tar file given as --symfs, as `perf archive` makes it. Only its
// regular files are opened, by their names in it: nothing leads out of it.
type archive struct {
	file  *os.File // unpacked; its name is gone when it is a temporary file
	files map[string]member
	links map[string]string // symbolic links, by name
}

// member is where the contents of a file are.
type member struct{ off, size int64 }

const (
	maxMembers     = 1 << 20
	maxMemberNames = 64 << 20 // bytes of all names
	maxLinks       = 40       // links followed for one name
)

// openPlace opens what is given as --symfs: a folder or an archive.
func (r *Resolver) openPlace(name string) (*place, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return openSymfs(name)
	}
	a, err := openArchive(name, &r.spool)
	if err != nil {
		return nil, fmt.Errorf("%s: neither a folder nor a tar archive: %w", name, err)
	}
	return &place{dir: name, archive: a}, nil
}

// openArchive reads the list of an archive. A packed one is unpacked into a
// temporary file, as its files are wanted in any order.
func openArchive(name string, s *spooler) (*archive, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	z, err := unpacked(f)
	if err == nil && z != nil {
		defer f.Close()
		var plain *os.File
		if plain, _, err = s.keep(z, s.left); err == nil {
			err = z.Close()
		}
		if f.Close(); plain == nil {
			return nil, err
		}
		f = plain
	}
	a := &archive{file: f, files: map[string]member{}, links: map[string]string{}}
	if err == nil {
		err = a.list()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return a, nil
}

// list notes the files and links. Of several with one name the last one holds,
// as when tar unpacks them. A cut archive has what is whole.
func (a *archive) list() error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	r := io.NewSectionReader(a.file, 0, info.Size())
	tr, names := tar.NewReader(r), 0
	for {
		h, err := tr.Next()
		if err != nil {
			if cut := errors.Is(err, io.ErrUnexpectedEOF); err == io.EOF || cut && len(a.files) > 0 {
				return nil
			}
			return err
		}
		at, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if names += len(h.Name) + len(h.Linkname); names > maxMemberNames || len(a.files)+len(a.links) > maxMembers {
			return errLimit
		}
		a.note(h, member{at, h.Size}, info.Size())
	}
}

// note takes one entry of the list.
func (a *archive) note(h *tar.Header, m member, end int64) {
	name := path.Clean("/" + h.Name)
	switch h.Typeflag {
	case tar.TypeReg:
		if sparse(h) || m.size > end-m.off {
			return
		}
		a.files[name] = m
		delete(a.links, name)
	case tar.TypeLink:
		if to, ok := a.files[path.Clean("/"+h.Linkname)]; ok {
			a.files[name] = to
			delete(a.links, name)
		}
	case tar.TypeSymlink:
		a.links[name] = h.Linkname
		delete(a.files, name)
	}
}

// sparse reports whether a file is stored without its holes.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// open opens a file by its name, following links within the archive.
func (a *archive) open(full, name string) (*file, string) {
	at, ok := a.resolve(name)
	if !ok {
		return nil, WhyMissing
	}
	m, ok := a.files[at]
	if !ok {
		return nil, WhyMissing
	}
	none := func() error { return nil }
	return &file{ReaderAt: io.NewSectionReader(a.file, m.off, m.size), path: full, size: m.size, close: none}, ""
}

// resolve replaces the links in a name.
func (a *archive) resolve(name string) (string, bool) {
	if len(a.links) == 0 {
		return name, true
	}
	at, rest := "/", strings.TrimPrefix(name, "/")
	for hops := 0; rest != ""; {
		part, after, _ := strings.Cut(rest, "/")
		next := path.Join(at, part)
		to, link := a.links[next]
		if !link {
			at, rest = next, after
			continue
		}
		if hops++; hops > maxLinks || len(to)+len(after) > maxLinkName {
			return "", false
		}
		rest = to + "/" + after
		if path.IsAbs(to) {
			at, rest = "/", strings.TrimPrefix(rest, "/")
		}
	}
	return at, true
}

// maxLinkName bounds a name while links are followed.
const maxLinkName = 4 << 10

package collect

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// drainAll empties the rings. The events are off by now; the end of the target
// can be told before its last records are there.
func (s *measurement) drainAll() error {
	for range 3 {
		if err := s.round(); err != nil {
			return err
		}
	}
	return nil
}

func (s *measurement) closeFile() error {
	if s.w == nil {
		return nil
	}
	s.features(s.w)
	err := s.w.Close()
	if e := s.file.Close(); err == nil {
		err = e
	}
	s.file, s.w = nil, nil
	if err != nil {
		return &WriteError{"perf.data", err}
	}
	return nil
}

// save writes a file whole: under another name first.
func (s *measurement) save(name string, write func(io.Writer) error) error {
	full := filepath.Join(s.res.Dir, name)
	f, err := os.OpenFile(full+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = write(f)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err == nil {
		err = os.Rename(full+".part", full)
	}
	if err != nil {
		_ = os.Remove(full + ".part") // the error that counts is the one above
		return &WriteError{name, err}
	}
	return nil
}

func (s *measurement) saveCounters() error {
	if !slices.ContainsFunc(s.counters, (*counter).counted) {
		return nil
	}
	text := statFile(s.counters, s.target.statOf(s.opt.Command), s.began, s.res.Elapsed)
	return s.save("perf-stat.txt", func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (s *measurement) saveKallsyms() error {
	if s.kernel == nil {
		return nil
	}
	return s.save("kallsyms.gz", s.kernel.write)
}

// own gives the captures to the user who called sudo.
func (s *measurement) own() error {
	uid, e1 := strconv.Atoi(os.Getenv("SUDO_UID"))
	gid, e2 := strconv.Atoi(os.Getenv("SUDO_GID"))
	if e1 != nil || e2 != nil || os.Geteuid() != 0 {
		return nil
	}
	return filepath.WalkDir(s.res.Dir, func(p string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(p, uid, gid))
	})
}

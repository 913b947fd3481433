package collect

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata"
)

// How much of the programs and libraries is kept: larger ones, and what goes
// beyond the sum, are left out, and a note says so.
const (
	maxSymbolFile = 256 << 20
	maxSymbols    = 1 << 30
)

// saveSymbols keeps the files that the call chains went through, and their
// separate debug files, as a folder that --symfs reads: the capture can then be
// analysed on another machine.
func (s *measurement) saveSymbols() error {
	if s.step > StepSoftware || s.opt.NoStacks {
		return nil
	}
	used, err := usedModules(filepath.Join(s.res.Dir, "perf.data"))
	if err != nil {
		return fmt.Errorf("reading perf.data again, for the programs it needs: %w", err)
	}
	k := &keeper{dir: filepath.Join(s.res.Dir, "symbols"), left: maxSymbols}
	where := s.mappings()
	for _, path := range used {
		if err := k.keep(s, path, where[path]); err != nil {
			return &WriteError{"symbols" + path, err}
		}
	}
	if len(k.large) > 0 {
		s.note("not kept in symbols/, as they are large: %s", strings.Join(k.large, ", "))
	}
	return nil
}

// usedModules lists the files in the user parts of the call chains.
func usedModules(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var set evidence.Set
	b := set.NewBuilder("perf.data", perfdata.Format)
	if err := perfdata.Read(perfdata.Input{R: f, Size: st.Size(), Name: "perf.data"}, b, perfdata.Options{}); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range set.Stacks {
		for _, fr := range set.Stacks[i].Frames {
			if !fr.Kernel && strings.HasPrefix(fr.Module, "/") && !strings.HasPrefix(fr.Module, "//") {
				seen[fr.Module] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// mappedBy is a process that has a file mapped.
type mappedBy struct {
	pid int
	m   mapping
}

// mappings says for each mapped file which process of the target has it.
func (s *measurement) mappings() map[string]mappedBy {
	out := map[string]mappedBy{}
	if s.target.kind == ofSystem && len(s.after.tasks) > 20000 {
		return out
	}
	for _, pid := range s.target.processes() {
		list, err := s.proc.maps(pid)
		if err != nil {
			continue
		}
		for _, m := range list {
			if _, have := out[m.path]; !have {
				out[m.path] = mappedBy{pid, m}
			}
		}
	}
	return out
}

// keeper copies symbol files.
type keeper struct {
	dir   string
	left  int64
	large []string
}

// keep copies the file that a process has mapped or, when that process is
// gone, the one at the path, if that has the build-id which the mapped one had.
// A file that can't be read is left out: its frames are then unresolved, and
// the report says so.
func (k *keeper) keep(s *measurement, path string, by mappedBy) error {
	src, ok := within(patience, func() symbolSource { return s.symbolSource(path, by) }, symbolSource.close)
	if !ok || src.f == nil {
		return nil
	}
	defer src.close()
	if err := k.copy(src.f, strings.TrimSuffix(path, " (deleted)")); err != nil || src.debug == nil {
		return err
	}
	return k.copy(src.debug, src.debug.Name())
}

// symbolSource is a file with symbols and its separate debug file; nil where
// there is none.
type symbolSource struct{ f, debug *os.File }

func (x symbolSource) close() {
	for _, f := range []*os.File{x.f, x.debug} {
		if f != nil {
			f.Close()
		}
	}
}

func (s *measurement) symbolSource(path string, by mappedBy) (x symbolSource) {
	whatever := func(*unix.Stat_t) bool { return true }
	if by.pid != 0 {
		x.f = openMapped(s.proc, by.pid, &by.m)
	}
	gone := x.f == nil
	if gone {
		x.f = openRegular(strings.TrimSuffix(path, " (deleted)"), whatever)
	}
	if x.f == nil {
		return x
	}
	id := elfBuildID(x.f)
	if want := s.ids[path]; gone && len(want) > 0 && !bytes.Equal(want, id) {
		x.close()
		return symbolSource{}
	}
	if h := hex.EncodeToString(id); len(id) >= 2 { // most files have none
		x.debug = openRegular("/usr/lib/debug/.build-id/"+h[:2]+"/"+h[2:]+".debug", whatever)
	}
	return x
}

// copy copies a file to the place below the folder that has its path.
func (k *keeper) copy(f *os.File, path string) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() > maxSymbolFile || st.Size() > k.left {
		k.large = append(k.large, path)
		return nil
	}
	to := filepath.Join(k.dir, filepath.Clean("/"+path))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.NewSectionReader(f, 0, st.Size()))
	k.left -= n
	if err = errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(to) // half a file would be taken for a whole one; the error that counts is the one before
	}
	return err
}

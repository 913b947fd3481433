package collect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
// gone, the one at the path. A file that can't be read is left out: its frames
// are then unresolved, and the report says so.
func (k *keeper) keep(s *measurement, path string, by mappedBy) error {
	var f *os.File
	if by.pid != 0 {
		f = openMapped(s.proc, by.pid, &by.m)
	}
	if f == nil {
		var err error
		if f, err = os.Open(strings.TrimSuffix(path, " (deleted)")); err != nil {
			return nil
		}
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	id := elfBuildID(f)
	if err := k.copy(f, strings.TrimSuffix(path, " (deleted)")); err != nil || len(id) < 2 {
		return err
	}
	h := hex.EncodeToString(id)
	debug := "/usr/lib/debug/.build-id/" + h[:2] + "/" + h[2:] + ".debug"
	d, err := os.Open(debug)
	if err != nil { // most files have none
		return nil
	}
	defer d.Close()
	return k.copy(d, debug)
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
	return errors.Join(err, out.Close())
}

package perfdata

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// TestKernelOfAnotherBuild: symbols of the recorded kernel name the frames;
// those of a kernel of the same bounds, in which the functions lie elsewhere, are
// refused, as by them the switches would come from anywhere.
func TestKernelOfAnotherBuild(t *testing.T) {
	right := filepath.Join(shared.Dir(t), "fixtures", "kallsyms-6.18.gz")
	wrong := filepath.Join(t.TempDir(), "kallsyms")
	if err := os.WriteFile(wrong, moved(t, shared.Gunzip(t, right), 0x2340), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"netio_task_fp", "mutex_a", "netio_a_allsched", "sched_record", "churn_a", "synth_le_std"} {
		for kallsyms, good := range map[string]bool{right: true, wrong: false} {
			s := newResolver(t, symbol.Options{NoHost: true, Kallsyms: kallsyms})
			fx := readFixture(t, filepath.Join(local(t), name, "perf.data"), Options{Symbols: s})
			if fx.err != nil {
				t.Fatal(fx.err)
			}
			named, frames, scheduler := 0, 0, false
			for _, st := range fx.set.Stacks {
				for _, f := range st.Frames {
					if f.Kernel {
						frames++
						if f.Symbol != "" {
							named++
						}
						scheduler = scheduler || f.Symbol == "__schedule"
					}
				}
			}
			if good && frames > 0 && name != "synth_le_std" && (named < frames || !scheduler) || !good && named > 0 {
				t.Errorf("%s with %s: %d of %d kernel frames have names", name, filepath.Base(kallsyms), named, frames)
			}
			refused := strings.Contains(fmt.Sprint(s.Report()), "do not come from the scheduler")
			if frames > 0 && name != "synth_le_std" && refused == good {
				t.Errorf("%s with %s: %v", name, filepath.Base(kallsyms), s.Report())
			}
		}
	}
}

// moved shifts the functions of a kallsyms file, but for those that bound the kernel.
func moved(t *testing.T, text []byte, by uint64) []byte {
	t.Helper()
	var out bytes.Buffer
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		f := strings.SplitN(sc.Text(), " ", 3)
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		switch f[2] {
		case "_text", "_stext", "_etext", "_edata", "_end":
		default:
			addr += by
		}
		fmt.Fprintf(&out, "%016x %s %s\n", addr, f[1], f[2])
	}
	return out.Bytes()
}

package collect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tracefs is where tracepoints are described. It is found at one of two
// places; go-perf knows the older one only.
type tracefs struct{ dir string }

var tracefsPlaces = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// findTracefs returns the tracefs that is mounted.
func findTracefs(places []string) (tracefs, error) {
	if places == nil {
		places = tracefsPlaces
	}
	var last error = os.ErrNotExist
	for _, d := range places {
		_, err := os.Stat(filepath.Join(d, "events/sched/sched_switch/id"))
		if err == nil {
			return tracefs{d}, nil
		}
		if errors.Is(err, os.ErrPermission) || errors.Is(last, os.ErrNotExist) {
			last = err
		}
	}
	return tracefs{}, last
}

// id returns the number of a tracepoint, "sched:sched_switch".
func (t tracefs) id(name string) (uint64, error) {
	system, event, _ := strings.Cut(name, ":")
	b, err := os.ReadFile(filepath.Join(t.dir, "events", system, event, "id"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}

// formats returns the formats of tracepoints by system, for tracing data.
func (t tracefs) formats(names []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, n := range names {
		system, event, _ := strings.Cut(n, ":")
		b, err := os.ReadFile(filepath.Join(t.dir, "events", system, event, "format"))
		if err != nil {
			return nil, fmt.Errorf("format of %s: %w", n, err)
		}
		out[system] = append(out[system], string(b))
	}
	return out, nil
}

// header returns one of the files that say how the ring buffer of ftrace is
// laid out; nil when it can't be read.
func (t tracefs) header(name string) []byte {
	b, err := os.ReadFile(filepath.Join(t.dir, "events", name))
	if err != nil {
		return nil
	}
	return b
}

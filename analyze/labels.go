package analyze

import (
	"path"
	"strings"

	"ctxan/parse/evidence"
)

// labels gives each source the shortest end of its path that no other file's
// path ends in: "perf.data", or "before/perf.data" beside "after/perf.data".
func labels(set *evidence.Set) map[int]string {
	parts := map[string][]string{}
	for _, s := range set.Sources {
		parts[s.Name] = strings.Split(s.Name, "/")
	}
	out := map[int]string{}
	for _, s := range set.Sources {
		n := 1
		for n < len(parts[s.Name]) && !alone(parts, s.Name, n) {
			n++
		}
		switch {
		case s.Name == "-":
			out[s.ID] = "stdin"
			continue
		case strings.HasPrefix(s.Name, "/dev/fd/"), strings.HasPrefix(s.Name, "/proc/self/fd/"):
			out[s.ID] = "pipe " + path.Base(s.Name)
			continue
		}
		out[s.ID] = strings.Join(parts[s.Name][len(parts[s.Name])-n:], "/")
	}
	return out
}

// alone reports whether the last n parts of a path end no other path.
func alone(parts map[string][]string, name string, n int) bool {
	end := strings.Join(parts[name][len(parts[name])-n:], "/")
	for other := range parts {
		if other != name && (other == end || strings.HasSuffix(other, "/"+end)) {
			return false
		}
	}
	return true
}

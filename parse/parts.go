package parse

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ctxan/parse/perfdata"
)

// partsOf opens the files beside the file "data" of a recording made with perf
// record --threads: data.0, data.1, and so on, which hold most of its records.
// end closes them.
func partsOf(path string) (parts []perfdata.Part, end func(), err error) {
	var open []*os.File
	end = func() {
		for _, f := range open {
			f.Close()
		}
	}
	for _, name := range partNames(path) {
		f, err := os.Open(name)
		if err != nil {
			end()
			return nil, func() {}, err
		}
		open = append(open, f)
		st, err := f.Stat()
		if err != nil {
			end()
			return nil, func() {}, err
		}
		if st.Mode().IsRegular() {
			parts = append(parts, perfdata.Part{R: f, Size: st.Size()})
		}
	}
	return parts, end, nil
}

// partNames lists those files by number; none for a file of another name.
func partNames(path string) []string {
	if filepath.Base(path) != "data" {
		return nil
	}
	list, err := filepath.Glob(escapeGlob(path) + ".*")
	if err != nil {
		return nil
	}
	list = slices.DeleteFunc(list, func(p string) bool { return partNumber(p) < 0 })
	slices.SortFunc(list, func(a, b string) int { return partNumber(a) - partNumber(b) })
	return list
}

// escapeGlob keeps the signs of a name from meaning anything in a pattern.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// partNumber returns the N of data.N, -1 for other names.
func partNumber(path string) int {
	digits, ok := strings.CutPrefix(filepath.Base(path), "data.")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return -1
	}
	return int(n)
}

// isPart reports whether a file is one of those, and not a capture of its own.
func isPart(path string) bool {
	if partNumber(path) < 0 {
		return false
	}
	f, err := os.Open(filepath.Join(filepath.Dir(path), "data"))
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 16)
	n, _ := f.ReadAt(head, 0)
	return isPerfData(head[:n])
}

// recordingName is the name of a recording that is a folder: that of the folder.
func recordingName(path, name string) string {
	if dir := filepath.Dir(name); dir != "." {
		return dir
	}
	if abs, err := filepath.Abs(path); err == nil {
		return filepath.Base(filepath.Dir(abs))
	}
	return name
}

package perfdata

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/perfdata/wire"
	"ctxan/testdata/shared"
)

// TestThirdParty reads the files that other projects test with: records by
// type, samples by event, times, losses. Those made to break a reader must give
// an error or evidence.
func TestThirdParty(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "third_party")
	b, err := os.ReadFile(filepath.Join(dir, "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	col := map[string]int{}
	for i, name := range strings.Split(lines[0], "\t") {
		col[name] = i
	}
	c := &checker{}
	for _, line := range lines[1:] {
		row := strings.Split(line, "\t")
		at := func(name string) string {
			if i := col[name]; i < len(row) {
				return row[i]
			}
			return ""
		}
		t.Run(filepath.Base(at("file")), func(t *testing.T) {
			c.t = t
			fx := readFixture(t, filepath.Join(dir, at("file")), Options{})
			if fx.err != nil {
				if !strings.Contains(at("file"), "/corpus/") {
					t.Errorf("%v", fx.err)
				}
				return
			}
			if at("raw_error") != "" || strings.Contains(at("file"), "/corpus/") {
				return
			}
			for kind, n := range numbersBy(at("raw_records"), " ", "=") {
				c.equal(kind, fx.stats.Records[recordType(kind)], n)
			}
			for name, n := range numbersBy(strings.Trim(at("raw_samples"), "{}"), ", ", ": ") {
				if name = strings.Trim(name, "'"); !strings.HasPrefix(name, "type") {
					c.equal(name, fx.stats.Samples[name], n)
				}
			}
			c.equal("first", strconv.FormatUint(fx.stats.FirstNS, 10), at("time_first_ns"))
			c.equal("last", strconv.FormatUint(fx.stats.LastNS, 10), at("time_last_ns"))
			c.equal("lost", strconv.FormatUint(fx.src.Loss.LostRecords, 10), at("lost"))
			if fx.src.Loss.Truncated {
				t.Errorf("taken for cut: %q", fx.src.Warnings)
			}
		})
	}
	t.Logf("%d of %d values equal", c.right, c.total)
}

func numbersBy(s, sep, eq string) map[string]uint64 {
	m := map[string]uint64{}
	for _, part := range strings.Split(s, sep) {
		i := strings.LastIndex(part, eq)
		if i < 0 {
			continue
		}
		if n, err := strconv.ParseUint(part[i+len(eq):], 10, 64); err == nil {
			m[part[:i]] = n
		}
	}
	return m
}

func TestOtherKinds(t *testing.T) {
	for _, c := range []struct {
		content string
		want    error
	}{
		{"SIMPLEPERF\x01\x00rest of it", ErrSimpleperf},
		{"PERFFILE" + strings.Repeat("\x00", 100), wire.ErrOldV1},
		{"\x1f\x8bgzip", wire.ErrMagic},
		{"", wire.ErrMagic},
		{"PERFILE2", wire.ErrHeader},
	} {
		_, err := open(Input{R: strings.NewReader(c.content), Size: int64(len(c.content)), Name: "x"})
		if !errors.Is(err, c.want) {
			t.Errorf("%.10q: %v, want %v", c.content, err, c.want)
		}
	}
	for _, head := range []string{"PERFILE2", "2ELIFREP", "SIMPLEPERF", "PERFFILE"} {
		if !Detect([]byte(head)) {
			t.Errorf("%s not taken for the format", head)
		}
	}
	if Detect([]byte("Performance counter stats")) || Detect(nil) {
		t.Error("a text taken for the format")
	}
}

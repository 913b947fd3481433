package perfstat

import (
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// mayBeJSON is a quick look for an object of perf stat -j.
func mayBeJSON(s string) bool {
	i := strings.IndexByte(s, '{')
	if i < 0 {
		return false
	}
	return strings.TrimLeft(s[:i], " \t[,") == "" &&
		(strings.Contains(s, `"counter-value"`) || strings.Contains(s, `"event-runtime"`) ||
			strings.Contains(s, `"metric-value"`) || strings.TrimRight(s[i:], " \t") == "{")
}

// pendingJSON gathers an object that goes over several lines.
type pendingJSON struct {
	line  int
	lines int
	text  string
}

func (p *pendingJSON) open() bool { return p.lines > 0 }

// maxObjectLines bounds an object; perf prints one on one line, formatters one
// key a line.
const maxObjectLines = 40

func (p *pendingJSON) flush(r *reader) {
	if p.lines > 0 && strings.Contains(p.text, `"counter-value"`) {
		r.object(p.line, p.text)
	}
	*p = pendingJSON{}
}

// jsonLine reads the objects of a line, and reports whether the line was JSON.
// perf prints objects that are not valid: with a comma before the brace, or
// with decimal commas. Only what is complete in a cut object counts.
func (r *reader) jsonLine(no int, s string) bool {
	if r.json.open() {
		r.json.text += " " + s
		r.json.lines++
		if strings.IndexByte(s, '}') >= 0 || r.json.lines > maxObjectLines {
			r.json.flush(r)
		}
		return true
	}
	if strings.TrimSpace(s) == "{" {
		r.json = pendingJSON{line: no, lines: 1, text: s}
		return true
	}
	any := false
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return any
		}
		end := objectEnd(s[i:])
		r.object(no, s[i:i+end])
		any = true
		s = s[i+end:]
	}
}

// objectEnd returns the length of the object at the start of s: up to its
// brace, which strings may hold too.
func objectEnd(s string) int {
	in := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && in:
			i++
		case s[i] == '"':
			in = !in
		case s[i] == '}' && !in:
			return i + 1
		}
	}
	return len(s)
}

// object reads one object. Objects without an event carry metrics.
//
// Layout: print_counter_value_json in the kernel's tools/perf/util/stat-display.c.
func (r *reader) object(no int, s string) {
	var c cell
	c.line = no
	var p part
	seen := map[string]bool{}
	for s = strings.TrimLeft(s, "{ \t"); s != ""; {
		key, value, rest, ok := pair(s)
		if !ok {
			break
		}
		s = rest
		seen[key] = true
		r.jsonKey(&c, &p, key, value)
	}
	if r.detect {
		r.found = r.found || seen["event"] && seen["counter-value"] || seen["event-runtime"] || seen["metric-unit"]
		return
	}
	if c.ev == nil || !seen["counter-value"] {
		if seen["counter-value"] || strings.Contains(s, "counter-value") {
			r.onDrop(no, errCut)
		}
		return
	}
	c.part = r.part(p)
	if s != "" {
		r.truncated = true // what is left of an object that was cut
		if b := r.cur; p.agg == "" && b != nil && !b.empty() && b.previous().part != nil {
			r.onDrop(no, errCut)
			return
		}
	}
	r.place(&c, styleJSON)
	r.put(c)
}

// jsonKey takes one pair into a cell.
func (r *reader) jsonKey(c *cell, p *part, key, value string) {
	switch key {
	case "counter-value":
		row := csvRow{}
		row.setValue(value)
		c.value, c.status = row.value, row.status
	case "unit":
		c.unit = value
	case "event":
		if c.ev = r.event(value); c.ev == nil && value != "" {
			c.ev = &event{raw: value, name: value}
		}
	case "interval":
		if v, ok := parseDecimal(value); ok {
			c.time, c.timed = v, true
		}
	case "variance":
		if v, ok := parseDecimal(value); ok && v > 0 {
			c.devPct = evidence.Some(v)
		}
	case "pcnt-running":
		if v, ok := parseDecimal(value); ok && v < 100 {
			c.runPct = evidence.Some(v)
		}
	case "core", "die", "socket", "node", "cache", "cluster", "cpu", "thread":
		if key == "cpu" && isID(value) {
			value = "CPU" + value
		}
		p.agg, p.name = key, value
	case "cgroup":
		if value == "" {
			return
		}
		if p.agg == "" {
			p.agg, p.name = "cgroup", value
		} else if p.agg != "cgroup" {
			p.cgroup = value
		}
	}
}

// pair reads `"key" : value` and what separates it from the next pair. A value
// that the end of the text cuts is not taken.
func pair(s string) (key, value, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", "", false
	}
	key, s, ok = quotedString(s)
	if !ok {
		return "", "", "", false
	}
	s = strings.TrimLeft(s, " \t")
	if s, ok = strings.CutPrefix(s, ":"); !ok {
		return "", "", "", false
	}
	s = strings.TrimLeft(s, " \t")
	if s != "" && s[0] == '"' {
		if value, s, ok = quotedString(s); !ok {
			return "", "", "", false
		}
		return key, value, nextPair(s), true
	}
	end := bareEnd(s)
	if end < 0 {
		return "", "", "", false
	}
	return key, strings.TrimRight(s[:end], " \t,"), nextPair(s[end:]), true
}

func nextPair(s string) string { return strings.TrimLeft(s, " \t,}") }

// bareEnd finds the end of a number, which may hold a decimal comma: the comma
// before the next key, or the brace.
func bareEnd(s string) int {
	for i := range len(s) {
		if s[i] == '}' {
			return i
		}
		if s[i] == ',' && (i+1 == len(s) || !isDigit(s[i+1])) {
			return i
		}
	}
	return -1
}

// quotedString reads a JSON string.
func quotedString(s string) (value, rest string, ok bool) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			if strings.IndexByte(s[:i], '\\') < 0 {
				return s[1:i], s[i+1:], true
			}
			v, err := strconv.Unquote(s[:i+1])
			if err != nil {
				v = s[1:i]
			}
			return v, s[i+1:], true
		}
	}
	return "", "", false
}

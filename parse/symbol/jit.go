package symbol

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// jit is the functions that a process wrote to perf-PID.map.
type jit struct {
	table *table
	use   *Use
	why   string
}

type jitKey struct {
	pid  int
	host bool
}

// jitSymbol names an address in memory that has no file.
func (r *Resolver) jitSymbol(m *Mapping, addr uint64) (name, why string) {
	key := jitKey{m.PID, m.ThisHost}
	j := r.jits[key]
	if j == nil {
		j = r.findJIT(m)
		r.jits[key] = j
	}
	if j.table == nil {
		return "", j.why
	}
	name, ok := j.table.lookup(addr)
	if !ok {
		return "", WhyAnon
	}
	j.use.Frames++
	return cut(name, r.opt.Limits.NameBytes), ""
}

// findJIT looks for the map of a process below --symfs, and on this machine
// when the capture was made on it.
func (r *Resolver) findJIT(m *Mapping) *jit {
	name := fmt.Sprintf("/perf-%d.map", m.PID)
	list := []candidate{{place: r.symfs, name: "/tmp" + name}, {place: r.symfs, name: name}}
	if m.ThisHost {
		list = append(list, candidate{place: r.host, name: "/tmp" + name})
	}
	for _, c := range list {
		if c.place == nil {
			continue
		}
		f, why := c.open()
		if why == WhyMissing {
			continue
		}
		what := fmt.Sprintf("code of process %d made while it ran", m.PID)
		if why != "" {
			r.refused(c.String(), what, why, "")
			return &jit{why: why}
		}
		defer f.close()
		t, err := readJIT(f.reader(), r.opt.Limits)
		if err == nil {
			err = r.charge(t.bytes())
		}
		if err != nil {
			r.refused(c.String(), what, whyLoad(err), err.Error())
			return &jit{why: whyLoad(err)}
		}
		return &jit{table: t, use: r.used(f.path, what, "")}
	}
	return &jit{why: WhyAnon}
}

// readJIT reads a perf-PID.map: lines of start and size, hexadecimal, and the
// name up to the end of the line. Other lines are left out. Of two functions at
// one address the later one holds.
//
// Layout: tools/perf/Documentation/jit-interface.txt in the kernel.
func readJIT(r io.Reader, lim Limits) (*table, error) {
	t := &table{names: &names{}, limit: lim.NameBytes, last: true}
	br := bufio.NewReaderSize(r, 64<<10)
	var total int64
	for {
		line, err := br.ReadSlice('\n')
		if total += int64(len(line)); total > lim.FileBytes || len(t.syms) > lim.Symbols {
			return nil, errLimit
		}
		if err == bufio.ErrBufferFull {
			t.addJIT(line)
			err = skipLine(br, &total)
		} else {
			t.addJIT(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	t.finish(func(addr uint64) uint64 { return addr })
	return t, nil
}

// addJIT takes one line.
func (t *table) addJIT(line []byte) {
	addr, rest, ok := hexField(line)
	if !ok {
		return
	}
	size, rest, ok := hexField(rest)
	name := bytes.TrimRight(rest, "\r\n")
	if !ok || size == 0 || addr+size < addr || len(name) == 0 || int64(len(t.names.blob)) > 1<<32-1-int64(t.limit) {
		return
	}
	e := entry{addr: addr, name: uint32(len(t.names.blob))}
	e.setLength(size)
	t.names.blob = append(append(t.names.blob, name[:min(len(name), t.limit)]...), 0)
	t.syms = append(t.syms, e)
}

// hexField reads a hexadecimal number, with or without 0x, and the space after it.
func hexField(b []byte) (v uint64, rest []byte, ok bool) {
	b = bytes.TrimPrefix(bytes.TrimLeft(b, " \t"), []byte("0x"))
	i := 0
	for ; i < len(b) && hexDigit[b[i]] != 0xff; i++ {
		v = v<<4 | uint64(hexDigit[b[i]])
	}
	if i == 0 || i > 16 || i == len(b) || b[i] != ' ' {
		return 0, nil, false
	}
	return v, b[i+1:], true
}

package symbol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// kernelSyms is what a kallsyms file, a System.map or a vmlinux says.
type kernelSyms struct {
	text    *table
	modules map[string]*module
	marks   map[string]uint64 // addresses of the symbols that bound the kernel
}

// module is the text symbols of one module.
type module struct {
	table  *table
	lo, hi uint64 // first and last symbol
}

// markNames are the symbols that relocation and the check of the kernel need,
// and what each of them is. Layout: include/asm-generic/sections.h.
var markNames = map[string]uint32{
	"_text": flagLow, "_stext": flagLow, "_etext": flagEnd, "_sinittext": flagLow, "_einittext": flagEnd,
	"_sdata": flagLow, "_edata": flagEnd, "__bss_start": flagEnd, "__bss_stop": flagEnd, "_end": flagEnd,
}

// sectionFlag tells whether a kernel symbol marks the start of a section, where
// others are better names, or the end of one, behind which nothing is.
func sectionFlag(name []byte) uint32 {
	switch {
	case bytes.HasSuffix(name, []byte("_text_end")):
		return flagEnd
	case bytes.HasSuffix(name, []byte("_text_start")):
		return flagLow
	}
	return markNames[string(name)]
}

// Errors of a kernel symbol file.
var (
	errNotKallsyms = errors.New("no line has the form of a kernel symbol, such as \"ffffffff81000000 T _stext\"")
	errHidden      = errors.New("every address is 0: it was copied without the right to see them (as root: cat /proc/kallsyms)")
	errLimit       = errors.New("larger than the limit for symbol files")
)

// kallsymsParser gathers the lines of a kallsyms file. Names go to one blob,
// which the tables share.
type kallsymsParser struct {
	lim    Limits
	syms   *kernelSyms
	names  names
	module []byte // of the last line
	cur    *module
	text   int // text symbols seen, also hidden ones
	hidden int // of them with address 0
	bad    int
	first  string // the first bad line
}

// readKallsyms reads a copy of /proc/kallsyms or a System.map, plain or gzip.
// Only text symbols are kept; lines of another form are left out, and a file
// where they are the majority is an error.
//
// Layout: s_show in the kernel's kernel/kallsyms.c.
//
// size is the size of the file, 0 when it is not known: what to make room for.
func readKallsyms(r io.Reader, size int64, lim Limits) (*kernelSyms, error) {
	in, zipped, err := unzip(r)
	if err != nil {
		return nil, err
	}
	if zipped {
		size *= kallsymsRatio
	}
	p := &kallsymsParser{lim: lim, syms: &kernelSyms{modules: map[string]*module{}, marks: map[string]uint64{}}}
	p.syms.text = p.newTable()
	p.reserve(min(size, lim.FileBytes, maxReserve))
	if err := p.lines(in); err != nil {
		return nil, err
	}
	switch {
	case p.text > 0 && p.text == p.hidden:
		return nil, errHidden
	case p.text <= p.bad && p.first != "":
		return nil, fmt.Errorf("%w; the first other line is %.80q", errNotKallsyms, p.first)
	case p.text == 0:
		return nil, errNotKallsyms
	}
	p.finish()
	return p.syms, nil
}

const (
	kallsymsRatio = 6 // how much gzip makes of such a file
	kallsymsLine  = 44
	maxReserve    = 16 << 20
)

// reserve makes room for the symbols of a file of that size, as growing step by
// step takes longer than reading.
func (p *kallsymsParser) reserve(size int64) {
	p.syms.text.syms = make([]entry, 0, size/kallsymsLine)
	p.names.blob = make([]byte, 0, size*5/8)
}

// unzip unpacks gzip and leaves everything else.
func unzip(r io.Reader) (br *bufio.Reader, zipped bool, err error) {
	br = bufio.NewReaderSize(r, 64<<10)
	if magic, _ := br.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return br, false, nil
	}
	zr, err := gzip.NewReader(br)
	if err != nil {
		return nil, false, err
	}
	return bufio.NewReaderSize(zr, 64<<10), true, nil
}

func (p *kallsymsParser) newTable() *table { return &table{names: &p.names, limit: p.lim.NameBytes} }

// lines reads all lines, in place. One that is longer than the buffer is none.
func (p *kallsymsParser) lines(br *bufio.Reader) error {
	var total int64
	for {
		line, err := br.ReadSlice('\n')
		if total += int64(len(line)); total > p.lim.FileBytes {
			return errLimit
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			p.badLine(line[:80])
			if err = skipLine(br, &total); err == nil {
				continue
			}
			line = nil
		}
		if len(line) > 0 && !p.line(line) {
			p.badLine(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if p.text > p.lim.Symbols {
			return errLimit
		}
	}
}

// skipLine reads up to and with the next line end.
func skipLine(br *bufio.Reader, total *int64) error {
	for {
		part, err := br.ReadSlice('\n')
		*total += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (p *kallsymsParser) badLine(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if p.bad++; p.first == "" {
		p.first = string(line[:min(len(line), 80)])
	}
}

// line takes one line: address, type, name and, in brackets, the module. It is
// the hot loop of a file of 200,000 lines, hence by hand and without garbage.
func (p *kallsymsParser) line(b []byte) bool {
	var addr uint64
	i := 0
	for ; i < len(b) && b[i] != ' '; i++ {
		d := hexDigit[b[i]]
		if d == 0xff {
			return false
		}
		addr = addr<<4 | uint64(d)
	}
	if i == 0 || i > 16 || i+3 >= len(b) || b[i+2] != ' ' {
		return false
	}
	typ, name := b[i+1], b[i+3:]
	end := 0
	for end < len(name) && name[end] > ' ' {
		end++
	}
	name, rest := name[:end], name[end:]
	if len(name) == 0 {
		return false
	}
	if typ |= 0x20; typ != 't' && typ != 'w' && typ != 'i' {
		if name[0] == '_' && len(rest) <= 2 {
			p.bound(addr, name)
		}
		return true
	}
	p.add(addr, b[i+1], name, rest)
	return true
}

// hexDigit is the value of a hexadecimal digit, 0xff for other bytes.
var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range byte(16) {
		t["0123456789abcdef"[i]], t["0123456789ABCDEF"[i]] = i, i
	}
	return
}()

// bound keeps a symbol of another type that ends a section: some kernels have
// _etext as the first of the data.
func (p *kallsymsParser) bound(addr uint64, name []byte) {
	flag := markNames[string(name)]
	if flag == 0 || addr == 0 {
		return
	}
	p.mark(addr, name)
	if flag == flagEnd {
		p.keep(entry{addr: addr, size: flagEnd}, name)
	}
}

// keep appends a symbol of the kernel itself.
func (p *kallsymsParser) keep(e entry, name []byte) {
	e.name = p.intern(name)
	p.syms.text.syms = append(p.syms.text.syms, e)
}

// intern appends a name to the blob.
func (p *kallsymsParser) intern(name []byte) uint32 {
	off := uint32(len(p.names.blob))
	p.names.blob = append(append(p.names.blob, name[:min(len(name), p.lim.NameBytes)]...), 0)
	return off
}

// mark remembers where the kernel's sections begin and end.
func (p *kallsymsParser) mark(addr uint64, name []byte) {
	if _, have := p.syms.marks[string(name)]; !have {
		p.syms.marks[string(name)] = addr
	}
}

// add keeps a text symbol. rest is what follows its name.
func (p *kallsymsParser) add(addr uint64, typ byte, name, rest []byte) {
	p.text++
	if addr == 0 {
		p.hidden++
		return
	}
	if name[0] == '$' || int64(len(p.names.blob)) > 1<<32-1-int64(p.lim.NameBytes) {
		return
	}
	e := entry{addr: addr}
	switch typ {
	case 't', 'i':
		e.size |= bindLocal
	case 'w', 'W':
		e.size |= bindWeak
	}
	mod := moduleOf(rest)
	if len(mod) == 0 && name[0] == '_' {
		e.size |= p.section(addr, name)
	}
	if len(mod) == 0 {
		p.keep(e, name)
		return
	}
	e.name = p.intern(name)
	p.addModule(mod, e)
}

// section marks the symbols that bound sections, and returns their flag.
func (p *kallsymsParser) section(addr uint64, name []byte) uint32 {
	if _, is := markNames[string(name)]; is {
		p.mark(addr, name)
	}
	return sectionFlag(name)
}

// moduleOf returns the name in brackets behind a symbol.
func moduleOf(rest []byte) []byte {
	rest = bytes.TrimSpace(rest)
	if len(rest) > 2 && rest[0] == '[' && rest[len(rest)-1] == ']' {
		return rest[1 : len(rest)-1]
	}
	return nil
}

func (p *kallsymsParser) addModule(name []byte, e entry) {
	if !bytes.Equal(name, p.module) || p.cur == nil {
		p.module = append(p.module[:0], name...)
		if p.cur = p.syms.modules[string(name)]; p.cur == nil {
			p.cur = &module{table: p.newTable()}
			p.syms.modules[string(name)] = p.cur
		}
	}
	p.cur.table.syms = append(p.cur.table.syms, e)
}

// pageSize is what addresses are rounded by where nothing says more.
const pageSize = 4096

// finish sorts the tables. The last symbol of a table ends with the page after
// its own, as nothing says how long it is.
func (p *kallsymsParser) finish() {
	lastPage := func(t *table) func(uint64) uint64 {
		var last uint64
		for i := range t.syms {
			last = max(last, t.syms[i].addr)
		}
		end := last&^(pageSize-1) + 2*pageSize
		return func(uint64) uint64 { return end }
	}
	p.syms.text.finish(lastPage(p.syms.text))
	for _, m := range p.syms.modules {
		m.table.finish(lastPage(m.table))
		if n := len(m.table.syms); n > 0 {
			m.lo, m.hi = m.table.syms[0].addr, m.table.syms[n-1].addr
		}
	}
}

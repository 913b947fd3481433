package symbol

import (
	"debug/elf"
	"errors"
	"path"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/symbol/srcline"
)

// lineSource is where the source lines of an image come from. All fields are nil
// or empty for one without.
type lineSource struct {
	debug *srcline.File
	use   *Use
	files []*openDebug
}

// openDebug is a file that stays open for its debug information.
type openDebug struct {
	file     *file
	sections *debugSections
}

func (s *lineSource) close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.sections.close(), f.file.close())
	}
	s.files, s.debug = nil, nil
	return errors.Join(errs...)
}

// withSource adds to the frame of an address where in the source it is, and in
// front of it the functions that were inlined there.
func (r *Resolver) withSource(f evidence.Frame, at location) []evidence.Frame {
	if at.object == nil {
		return []evidence.Frame{f}
	}
	lines := r.lines(at)
	if len(lines) == 0 {
		return []evidence.Frame{f}
	}
	out := make([]evidence.Frame, 0, len(lines))
	for i, l := range lines {
		g := evidence.Frame{Addr: f.Addr, Module: f.Module, Symbol: r.pretty(l.Func), File: l.File, Line: l.Line, Inlined: true}
		if i < len(lines)-1 && g.Symbol != "" {
			out = append(out, g)
		}
	}
	last := lines[len(lines)-1]
	f.File, f.Line = last.File, last.Line
	if f.Symbol == "" && last.Func != "" {
		f.Symbol, f.Why = r.pretty(last.Func), ""
		at.object.use.Frames++
	}
	return append(out, f)
}

// lines returns the functions and source lines at a location, nil when they
// are not known.
func (r *Resolver) lines(at location) []srcline.Frame {
	img := at.object.img
	if img.source == nil {
		img.source = r.findSource(img, at.m)
	}
	if img.source.debug == nil {
		return img.golang.lines(at.vaddr)
	}
	lines, err := img.source.debug.Frames(at.vaddr)
	if err != nil {
		r.refused(img.source.use.Path, at.m.Path, whyLines(err), "source lines: "+err.Error())
	}
	if len(lines) > 0 {
		img.source.use.Lines++
	}
	if dwo := img.source.debug.Split(); dwo != "" {
		r.refused(dwo, at.m.Path, WhySplit, "inlined functions are in it")
	}
	return lines
}

func whyLines(err error) string {
	if errors.Is(err, srcline.ErrLimit) {
		return WhyLimit
	}
	return whyLoad(err)
}

// findSource opens the debug information of an image: in the file itself, or
// else in a separate debug file.
func (r *Resolver) findSource(img *image, m *Mapping) *lineSource {
	for i, c := range append([]candidate{img.from}, r.debugFiles(img, img.from)...) {
		f, why := c.open()
		if why != "" {
			continue
		}
		e, err := readELF(f, f.size)
		if err != nil || !e.hasDebug() || i == 0 && !sameFile(img.id, e.buildID()) || i > 0 && !r.debugOf(img, e, f) {
			f.close()
			continue
		}
		s := &lineSource{use: r.used(f.path, m.Path, "")}
		s.debug = r.openDebug(s, f, e)
		s.debug.Alt = r.findAlt(s, e, c)
		return s
	}
	r.findGoLines(img)
	return &lineSource{}
}

// sameFile reports whether a file that is opened again has not been replaced.
func sameFile(a, b []byte) bool { return len(a)+len(b) == 0 || sameID(a, b) }

func (r *Resolver) debugOf(img *image, e *elfFile, f *file) bool {
	why, _ := r.notDebugOf(img, e, f)
	return why == ""
}

// openDebug prepares the debug information of a file, which stays open.
func (r *Resolver) openDebug(s *lineSource, f *file, e *elfFile) *srcline.File {
	d := &debugSections{elf: e, budget: &r.budget, spool: &r.spool}
	s.files = append(s.files, &openDebug{f, d})
	var text []srcline.Span
	for _, x := range e.execSpans() {
		text = append(text, srcline.Span{Lo: x.lo, Hi: x.hi})
	}
	return srcline.New(d.get, e.order, text, &r.budget)
}

// findAlt opens the file that dwz moved to what several debug files share, nil
// when there is none or it is not found.
func (r *Resolver) findAlt(s *lineSource, e *elfFile, c candidate) *srcline.File {
	name, id := e.altLink()
	if len(id) == 0 {
		return nil
	}
	list := []candidate{{place: c.place, name: path.Join(path.Dir(path.Clean("/"+c.name)), name)}}
	if path.IsAbs(name) {
		list[0].name = name
	}
	for _, p := range []*place{r.symfs, r.host} {
		for _, n := range idNames(id) {
			list = append(list, candidate{place: p, name: n})
		}
	}
	for _, c := range list {
		if c.place == nil || c.vdso || pseudo(c.name) {
			continue
		}
		f, why := c.open()
		if why != "" {
			continue
		}
		if alt, err := readELF(f, f.size); err == nil && sameID(alt.buildID(), id) && alt.hasDebug() {
			return r.openDebug(s, f, alt)
		}
		f.close()
	}
	return nil
}

// altLink reads .gnu_debugaltlink: a name, ended by a NUL, and a build-id.
func (f *elfFile) altLink() (name string, id []byte) {
	s := f.named(".gnu_debugaltlink")
	if s == nil || s.typ == elf.SHT_NOBITS {
		return "", nil
	}
	b, err := f.data(s.off, s.size, 4096)
	if err != nil {
		return "", nil
	}
	name, rest, ok := strings.Cut(string(b), "\x00")
	if !ok || name == "" {
		return "", nil
	}
	return name, []byte(rest)
}

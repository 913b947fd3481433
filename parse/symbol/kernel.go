package symbol

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"ctxan/parse/evidence"
)

// kernelName is what frames of the kernel have as their module.
const kernelName = "[kernel.kallsyms]"

// kernelFile is a symbol file of a kernel, loaded.
type kernelFile struct {
	syms *kernelSyms
	id   []byte // of a vmlinux
	file *file  // open only for names that are not in memory
	why  string // why syms is nil
	err  error
}

// kernel is the symbols chosen for one kernel mapping.
type kernel struct {
	syms  *kernelSyms
	delta uint64 // recorded address - symbol file's address
	use   *Use
	why   string // why syms is nil
}

type kernelKey struct {
	path, id, release string
	pgoff, end        uint64
}

// kernelSymbol names a kernel address.
func (r *Resolver) kernelSymbol(m *Mapping, addr uint64, host evidence.Host) (name, mod, why string) {
	mod = moduleName(m.Path)
	switch {
	case m.Symbol != "":
		return m.Symbol, cmp.Or(m.Path, kernelName), ""
	case strings.HasPrefix(m.Path, "[guest."):
		return "", m.Path, WhyGuest
	case mod != "":
		name, why = r.moduleSymbol(m, mod, addr, host)
		if why != "" && why != WhyNoSymbol && m.Contains(addr) {
			if n, not := r.moduleFileSymbol(m, addr); not != WhyMissing {
				name, why = n, not
			}
		}
		return name, "[" + mod + "]", why
	}
	k := r.kernel(m, host)
	if k.syms == nil {
		return "", kernelName, k.why
	}
	name, ok := k.syms.text.lookup(addr - k.delta)
	if !ok {
		return "", kernelName, WhyNoSymbol
	}
	k.use.Frames++
	return r.pretty(name), kernelName, ""
}

// moduleName returns the module that a mapping is of, "" for the kernel itself.
// perf names it by its file, or [name] where it did not find that.
func moduleName(p string) string {
	if p == "" || strings.HasPrefix(p, "[kernel") || strings.HasPrefix(p, "[guest.") || strings.HasPrefix(path.Base(p), "vmlinu") {
		return ""
	}
	if strings.HasPrefix(p, "[") && strings.HasSuffix(p, "]") {
		return p[1 : len(p)-1]
	}
	name, _, _ := strings.Cut(path.Base(p), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// moduleSymbol names an address in a module.
func (r *Resolver) moduleSymbol(m *Mapping, name string, addr uint64, host evidence.Host) (sym, why string) {
	var own Mapping
	if m.KernelMap != nil {
		own = *m.KernelMap
	}
	k := r.kernel(&own, host)
	if k.syms == nil {
		return "", k.why
	}
	mod := k.syms.modules[name]
	if mod == nil {
		return "", WhyNoModule
	}
	delta, ok := mod.move(m, k.delta == 0)
	if !ok {
		return "", WhyOtherKernel
	}
	sym, ok = mod.table.lookup(addr - delta)
	if !ok {
		return "", WhyNoSymbol
	}
	k.use.Frames++
	return r.pretty(sym), ""
}

// move returns how far a module lay from where the symbol file has it, which
// differs from boot to boot. Its code begins on a page; sameBoot says that the
// kernel itself did not move.
func (mod *module) move(m *Mapping, sameBoot bool) (delta uint64, ok bool) {
	if sameBoot && mod.lo >= m.Start && mod.hi < m.End {
		return 0, true
	}
	delta = m.Start - mod.lo&^(pageSize-1)
	return delta, mod.hi+delta < m.End
}

// kernel finds the symbols for a kernel mapping, once.
func (r *Resolver) kernel(m *Mapping, host evidence.Host) *kernel {
	key := kernelKey{m.Path, string(m.BuildID), host.Release, m.PgOff, m.End}
	k := r.kernels[key]
	if k == nil {
		k = r.findKernel(m, host)
		r.kernels[key] = k
	}
	return k
}

// Distrust takes back the symbols that were chosen for a kernel, because what is
// known of the capture speaks against them: why, in words. Its frames are
// unresolved from then on.
func (r *Resolver) Distrust(m Mapping, host evidence.Host, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kernel(&m, host)
	if k.syms == nil {
		return
	}
	delete(r.uses, useKey{k.use.Path, kernelName, true})
	r.refused(k.use.Path, kernelName, WhyOtherKernel, why)
	*k = kernel{why: WhyOtherKernel}
}

// findKernel tries the sources of kernel symbols in turn.
func (r *Resolver) findKernel(m *Mapping, host evidence.Host) *kernel {
	why := WhyNoKernelSymbols
	for _, s := range r.kernelSources(m, host) {
		f := r.kernelFile(s)
		refused, detail := f.why, ""
		if f.err != nil {
			detail = f.err.Error()
		}
		var k *kernel
		if refused == "" {
			k, refused, detail = r.fit(f, s, m)
		}
		if refused == "" {
			return k
		}
		if refused != WhyMissing {
			r.refused(s.String(), kernelName, refused, detail)
			why = refused
		}
	}
	return &kernel{why: why}
}

// source is a candidate for kernel symbols. trusted ones are known by their
// place to be of the wanted build.
type source struct {
	candidate
	given   string // the file of --kallsyms, used instead
	trusted bool
}

func (s source) String() string {
	if s.given != "" {
		return s.given
	}
	return s.candidate.String()
}

// kernelSources lists where the symbols of a kernel may be, best first.
func (r *Resolver) kernelSources(m *Mapping, host evidence.Host) []source {
	var out []source
	add := func(p *place, trusted bool, names ...string) {
		for _, n := range names {
			if p != nil {
				out = append(out, source{candidate: candidate{place: p, name: n}, trusted: trusted})
			}
		}
	}
	if r.opt.Kallsyms != "" {
		out = append(out, source{given: r.opt.Kallsyms})
	}
	cached, images := kernelCache(m.BuildID), kernelImages(m.BuildID, host.Release)
	add(r.symfs, true, cached...)
	add(r.symfs, false, images...)
	if len(m.BuildID) == 0 || r.host == nil {
		return out
	}
	if sameID(m.BuildID, r.machine.id()) {
		add(r.host, true, "/proc/kallsyms")
	}
	for _, n := range cached {
		add(r.home, true, "/.debug"+n)
	}
	add(r.host, false, images...)
	return out
}

// kernelCache lists where perf's cache, or an unpacked perf archive, has the
// kallsyms of a build.
func kernelCache(id []byte) []string {
	a, b, ok := split(id)
	if !ok {
		return nil
	}
	return []string{"/" + kernelName + "/" + hex.EncodeToString(id) + "/kallsyms", "/.build-id/" + a + "/" + b + "/kallsyms"}
}

// kernelImages lists where distributions put a vmlinux with symbols.
func kernelImages(id []byte, release string) []string {
	out := idNames(id)
	if release == "" || path.Base(release) != release || release == ".." {
		return out
	}
	return append(out, "/boot/vmlinux-"+release, "/usr/lib/debug/boot/vmlinux-"+release,
		"/lib/modules/"+release+"/build/vmlinux", "/usr/lib/debug/lib/modules/"+release+"/vmlinux",
		"/usr/lib/debug/boot/vmlinux-"+release+".debug")
}

// kernelFile loads a symbol file, once.
func (r *Resolver) kernelFile(s source) *kernelFile {
	name := s.String()
	kf := r.syms[name]
	if kf == nil {
		kf = r.readKernelFile(s)
		r.syms[name] = kf
	}
	return kf
}

func (r *Resolver) readKernelFile(s source) *kernelFile {
	f, why, err := s.openFile()
	if why != "" {
		return &kernelFile{why: why, err: err}
	}
	kf, err := loadKernel(f, r.opt.Limits)
	if err == nil {
		err = r.charge(kf.syms.bytes())
	}
	if err != nil {
		f.close()
		return &kernelFile{why: whyKernel(err), err: err}
	}
	if kf.syms.text.names.r == nil {
		f.close()
	} else {
		kf.file = f
	}
	return kf
}

func (s source) openFile() (f *file, why string, err error) {
	if s.given == "" {
		f, why = s.candidate.open()
		return f, why, nil
	}
	if f, err = openGiven(s.given); err != nil {
		return nil, whyNot(err), err
	}
	return f, "", nil
}

func whyKernel(err error) string {
	if errors.Is(err, errHidden) {
		return WhyKernelHidden
	}
	return whyLoad(err)
}

// loadKernel reads a kallsyms file or a vmlinux, by what it holds.
func loadKernel(f *file, lim Limits) (*kernelFile, error) {
	var e *elfFile
	err := errNotELF
	if f.pipe == nil {
		e, err = readELF(f, f.size)
	}
	if errors.Is(err, errNotELF) {
		syms, err := readKallsyms(f.reader(), f.size, lim)
		return &kernelFile{syms: syms}, err
	}
	if err != nil {
		return nil, err
	}
	marks := map[string]uint64{}
	t, _, err := e.symbols(lim, marks)
	if err != nil {
		return nil, err
	}
	if t == nil || marks["_text"]|marks["_stext"] == 0 {
		return nil, errors.New("an ELF file without the symbols of a kernel")
	}
	return &kernelFile{syms: &kernelSyms{text: t, marks: marks}, id: e.buildID()}, nil
}

func (k *kernelSyms) bytes() int64 {
	n := k.text.bytes()
	for _, m := range k.modules {
		n += int64(cap(m.table.syms)) * entryBytes // the names are shared
	}
	return n
}

// fit checks that a symbol file is of the kernel that was recorded, and finds
// how far that lay from where the file has it.
func (r *Resolver) fit(f *kernelFile, s source, m *Mapping) (k *kernel, refused, detail string) {
	doubt, known := "", s.trusted || s.given != ""
	switch {
	case len(m.BuildID) > 0 && (f.id != nil || !known):
		if !sameID(f.id, m.BuildID) {
			return nil, WhyOtherKernel, fmt.Sprintf("the capture has build-id %x, the file %s", m.BuildID, idText(f.id))
		}
	case !known:
		doubt = DoubtKernelBuild
	}
	place, detail := f.syms.relocate(m)
	switch {
	case detail != "":
		return nil, WhyOtherKernel, detail
	case !place.moved:
		doubt = DoubtNotMoved
	case !place.checked && f.id == nil && !s.trusted:
		doubt = DoubtNoEnd
	}
	return &kernel{syms: f.syms, delta: place.delta, use: r.used(s.String(), kernelName, doubt)}, "", ""
}

// relocate compares the kernel's mapping with the symbol file's own bounds.
//
// perf records the address of _text or _stext as the page offset, the symbol's
// name behind the mapping's, and as the end _edata (since 6.6), _etext (since
// 5.2), or else the first module or the end of the address space. A kernel that
// is loaded elsewhere at each boot (KASLR) is moved as a whole, by pages; so
// another distance between these symbols means another kernel. wrong says what
// speaks against the file.
//
// Layout: perf_event__synthesize_kernel_mmap in tools/perf/util/synthetic-events.c
// and machine__get_running_kernel_start in tools/perf/util/machine.c.
func (k *kernelSyms) relocate(m *Mapping) (p placement, wrong string) {
	if m.PgOff == 0 {
		return p, ""
	}
	ref, at := k.reference(m.Path)
	if at == 0 {
		return p, "it has no symbol " + ref
	}
	p.delta, p.moved = m.PgOff-at, true
	if p.delta&(pageSize-1) != 0 {
		return p, fmt.Sprintf("%s is at %#x in it and at %#x in the capture, which is not a whole number of pages away", ref, at, m.PgOff)
	}
	p.checked, wrong = k.sameEnd(m.End-p.delta, at)
	return p, wrong
}

// placement tells where a recorded kernel lay.
type placement struct {
	delta   uint64 // recorded address - symbol file's
	moved   bool   // the capture says where the kernel lay
	checked bool   // its end is one that the symbol file has
}

// reference returns the symbol that a kernel mapping is placed by, and its
// address in the file, 0 when it has none.
func (k *kernelSyms) reference(mapping string) (name string, addr uint64) {
	for _, name = range []string{"_stext", "_text"} {
		if strings.HasSuffix(mapping, name) || strings.Contains(mapping, "."+name) {
			return name, k.marks[name]
		}
	}
	if addr = k.marks["_text"]; addr != 0 {
		return "_text", addr
	}
	return "_text or _stext", k.marks["_stext"]
}

// sameEnd compares the recorded end of the kernel with the file's bounds. An
// end behind all of them says nothing.
func (k *kernelSyms) sameEnd(end, start uint64) (same bool, wrong string) {
	for _, at := range k.marks {
		if at == end && end > start {
			return true, ""
		}
	}
	etext, edata := k.marks["_etext"], k.marks["_edata"]
	if end > start && (end < etext || end < edata) {
		return false, fmt.Sprintf("its text or data ends after %s bytes, that of the recorded kernel after %d", sizes(etext, edata, start), end-start)
	}
	return false, ""
}

func sizes(etext, edata, start uint64) string {
	switch {
	case edata == 0:
		return fmt.Sprint(etext - start)
	case etext == 0:
		return fmt.Sprint(edata - start)
	}
	return fmt.Sprintf("%d or %d", etext-start, edata-start)
}

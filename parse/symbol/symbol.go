// Package symbol names addresses: kernel ones by kallsyms or a vmlinux, user
// ones by ELF symbol tables and JIT maps.
//
// A symbol file is used for a capture only when it is known to belong to it: by
// its build-id, or because the user pointed at it and nothing speaks against
// it. Otherwise the frame stays unresolved and says why (the Why constants).
// Files are read when the first address asks for them (--kallsyms at once), and
// bounded by [Limits].
package symbol

import (
	"errors"
	"fmt"
	"sync"

	"ctxan/parse/evidence"
	"ctxan/parse/symbol/srcline"
)

// Options say where symbols may come from.
type Options struct {
	Kallsyms string // a copy of /proc/kallsyms or System.map, plain or gzip, or a vmlinux; "" for none
	Symfs    string // a folder, or a tar file (also gzip, bzip2, xz, zstd), with files of the recorded machine; "" for none
	NoHost   bool   // never look at this machine's files
	Limits   Limits
}

// Limits bound what a hostile or huge symbol file can cost. Zero fields take
// the defaults.
type Limits struct {
	FileBytes  int64 // largest kallsyms or JIT map, unpacked
	Symbols    int   // functions of one file
	TableBytes int64 // all symbol tables together
	NameBytes  int   // of one symbol, mangled or not; longer ones are cut
	DebugBytes int64 // debug information held in memory, see srcline.Budget
	DebugWork  int64 // debug information decoded in all, in bytes: about a second for each GiB
	SpoolBytes int64 // temporary files: an unpacked --symfs archive, large packed sections and modules
}

// DefaultLimits are the limits of zero fields.
var DefaultLimits = Limits{FileBytes: 256 << 20, Symbols: 8 << 20, TableBytes: 512 << 20, NameBytes: 4 << 10,
	DebugBytes: 256 << 20, DebugWork: 16 << 30, SpoolBytes: 4 << 30}

func (l Limits) orDefault() Limits {
	if l.FileBytes <= 0 {
		l.FileBytes = DefaultLimits.FileBytes
	}
	if l.Symbols <= 0 {
		l.Symbols = DefaultLimits.Symbols
	}
	if l.TableBytes <= 0 {
		l.TableBytes = DefaultLimits.TableBytes
	}
	if l.NameBytes <= 0 {
		l.NameBytes = DefaultLimits.NameBytes
	}
	if l.DebugBytes <= 0 {
		l.DebugBytes = DefaultLimits.DebugBytes
	}
	if l.DebugWork <= 0 {
		l.DebugWork = DefaultLimits.DebugWork
	}
	if l.SpoolBytes <= 0 {
		l.SpoolBytes = DefaultLimits.SpoolBytes
	}
	return l
}

// Mapping is one MMAP or MMAP2 record: what was mapped at [Start, End).
type Mapping struct {
	Start, End uint64
	PgOff      uint64 // offset in the file; for the kernel, the address of the symbol in Path
	Path       string // "[kernel.kallsyms]_text", "[vdso]", "//anon", a file, a module's file or [name]
	BuildID    []byte // of the file, from MMAP2 or the build-id table; nil when the capture has none
	Kernel     bool
	PID        int

	// KernelMap is the kernel's own mapping in the same capture, for a module.
	KernelMap *Mapping
	// ThisHost says that the capture was made on this machine as it runs now
	// (see Resolver.IsThisHost). Only then its /tmp/perf-PID.map is looked at.
	ThisHost bool
	// Symbol names all of the mapping, when not empty (PERF_RECORD_KSYMBOL).
	Symbol string
}

// Contains reports whether addr lies in the mapping.
func (m *Mapping) Contains(addr uint64) bool { return addr >= m.Start && addr < m.End }

// Resolver names addresses. It is safe for concurrent use. It does not cache
// by address: callers ask once for each distinct frame.
type Resolver struct {
	opt     Options
	symfs   *place   // nil without --symfs
	host    *place   // nil with NoHost
	home    *place   // of the user on this machine; nil with NoHost
	machine *machine // nil with NoHost

	mu      sync.Mutex
	objects map[objectKey]*object
	byID    map[string]*image
	kernels map[kernelKey]*kernel
	syms    map[string]*kernelFile
	modules map[objectKey]*moduleFile
	jits    map[jitKey]*jit
	uses    map[useKey]*Use
	tables  int64 // bytes of all symbol tables
	budget  srcline.Budget
	spool   spooler
	names   map[string]string // demangled, by mangled name

	nameBytes int // of names
}

// New returns a resolver. A --kallsyms file that can't be used and a --symfs
// that is no folder or archive are errors that say what was seen.
func New(opt Options) (*Resolver, error) {
	return newResolver(opt, thisMachine())
}

func newResolver(opt Options, host *machine) (*Resolver, error) {
	opt.Limits = opt.Limits.orDefault()
	r := &Resolver{
		opt:     opt,
		objects: map[objectKey]*object{},
		byID:    map[string]*image{},
		kernels: map[kernelKey]*kernel{},
		syms:    map[string]*kernelFile{},
		modules: map[objectKey]*moduleFile{},
		jits:    map[jitKey]*jit{},
		uses:    map[useKey]*Use{},
		budget:  srcline.Budget{Bytes: opt.Limits.DebugBytes, Work: opt.Limits.DebugWork},
		names:   map[string]string{},
		spool:   spooler{left: opt.Limits.SpoolBytes},
	}
	if opt.Symfs != "" {
		p, err := r.openPlace(opt.Symfs)
		if err != nil {
			return nil, fmt.Errorf("symfs: %w", err)
		}
		r.symfs = p
	}
	if !opt.NoHost {
		r.machine, r.host = host, &place{dir: host.path("/")}
		if host.home != "" {
			r.home = &place{dir: host.home}
		}
	}
	if opt.Kallsyms != "" {
		f := r.kernelFile(source{given: opt.Kallsyms})
		if f.err != nil {
			r.Close()
			return nil, fmt.Errorf("kallsyms: %s: %w", opt.Kallsyms, f.err)
		}
	}
	return r, nil
}

// IsThisHost reports whether a capture of host, whose kernel has that
// build-id, was made on this machine: same build-id, release and host name.
func (r *Resolver) IsThisHost(host evidence.Host, kernelID []byte) bool {
	return r.machine != nil && r.machine.is(host, kernelID)
}

// Close closes the files that are still open for their names. The resolver
// must not be used after it.
func (r *Resolver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, o := range r.objects {
		if o.img != nil {
			errs = append(errs, o.img.close())
		}
	}
	for _, k := range r.syms {
		if k.file != nil {
			errs = append(errs, k.file.close())
			k.file = nil
		}
	}
	for _, m := range r.modules {
		if m.file != nil {
			errs = append(errs, m.file.close())
			m.file, m.table = nil, nil
		}
	}
	errs = append(errs, r.symfs.close())
	r.symfs = nil
	return errors.Join(errs...)
}

// Kernel names a kernel or module address. m is the mapping that holds it (the
// kernel's own for an address in no module), zero when the capture has none.
// The frame has a symbol or says Why not.
//
// addr is looked up as it is. For a return address pass the one before it, as
// a call can be the last instruction of a function, and set Frame.Addr.
func (r *Resolver) Kernel(m Mapping, addr uint64, host evidence.Host) evidence.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := evidence.Frame{Addr: addr, Module: kernelName, Kernel: true}
	f.Symbol, f.Module, f.Why = r.kernelSymbol(&m, addr, host)
	return f
}

// User names a user address, innermost first: functions inlined there, then the
// one that holds them, each with its source line where debug information of
// the file has one. There is always at least one frame, and the last one has a
// symbol or says Why not.
//
// As for Kernel, addr is looked up as it is: the mapping had to be found by the
// address before a return address as well, so the caller knows which it is.
func (r *Resolver) User(m Mapping, addr uint64) []evidence.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := evidence.Frame{Addr: addr, Module: m.Path}
	var at location
	f.Symbol, f.Why, at = r.userSymbol(&m, addr)
	return r.withSource(f, at)
}

package signature

import (
	"strings"

	"ctxan/parse/evidence"
)

// Blocking tells what a call chain waits for; frames are leaf first. It
// reports false when no frame names a reason, as on an involuntary switch.
func (t *Table) Blocking(frames []evidence.Frame) (Match, bool) {
	border := t.border(frames)
	m, ok := t.blockingKernel(frames[:border])
	if !ok {
		return t.blockingUser(frames[border:], border)
	}
	t.refineByUser(&m, frames[border:])
	return m, true
}

// blockingKernel walks the kernel frames. A hint counts only when no frame
// decides, wherever it stands; kernel work ends the walk, because what lies
// nearer the root than a work item is its thread's idle loop.
func (t *Table) blockingKernel(frames []evidence.Frame) (Match, bool) {
	var m Match
	var hint *row
	found, hintAt := false, -1
walk:
	for i := range frames {
		r := t.kernelRow(frames[i].Symbol)
		if r == nil {
			continue
		}
		switch r.role {
		case RoleWait, RoleIdle, RoleYield:
			if !found {
				m, found = Match{Reason: r.reason, Frame: i}, true
			} else if r.refines(m.Reason.ID) {
				m.Reason = r.reason
			}
		case RoleRefine, RoleFault:
			if found && r.refines(m.Reason.ID) {
				m.Reason = r.reason
			}
		case RoleHint:
			if hint == nil || r.refines(hint.reason.ID) {
				hint, hintAt = r, i
			}
		case RoleWork:
			break walk
		}
	}
	if !found && hint != nil {
		return Match{Reason: hint.reason, Frame: hintAt, Ambiguous: true}, true
	}
	m.Ambiguous = found && m.Reason.Class == ClassFutex
	return m, found
}

// refineByUser lets the calls of libraries and runtimes say more.
func (t *Table) refineByUser(m *Match, frames []evidence.Frame) {
	for i := range frames {
		r := t.userRow(frames[i].Symbol)
		if r == nil || (r.role != RoleAPI && r.role != RoleHelper && r.role != RoleWakeAPI) {
			continue
		}
		if r.reason.ID != "" && r.refines(m.Reason.ID) {
			m.Reason, m.Ambiguous = r.reason, r.reason.Class == ClassFutex
			m.API = ""
		}
		if m.API == "" && r.api != "" && (r.reason.ID == "" || r.reason.ID == m.Reason.ID) {
			m.API = r.api
		}
	}
}

// blockingUser judges a chain without kernel frames by its user-level calls.
func (t *Table) blockingUser(frames []evidence.Frame, border int) (Match, bool) {
	for i := range frames {
		r := t.userRow(frames[i].Symbol)
		if r == nil || r.role != RoleAPI || r.reason.ID == "" {
			continue
		}
		m := Match{Reason: r.reason, Frame: border + i, API: r.api}
		t.refineByUser(&m, frames[i+1:])
		return m, true
	}
	return Match{}, false
}

// Work tells what kernel code was at work, for a task preempted in the kernel
// or sampled there: "page fault", "memory reclaim", "exec". It is no wait.
func (t *Table) Work(frames []evidence.Frame) (Reason, int, bool) {
	for i := range frames[:t.border(frames)] {
		r := t.kernelRow(frames[i].Symbol)
		switch {
		case r == nil || r.reason.ID == "":
		case r.role == RoleFault:
			return t.reasons["page-fault"], i, true
		case r.role == RoleKernel || r.role == RoleWork || r.reason.Class == ClassMemory:
			return r.reason, i, true
		}
	}
	return Reason{}, -1, false
}

// API returns the plain name of the user-level call that a chain is in, such
// as "pthread_mutex_lock", and its frame.
func (t *Table) API(frames []evidence.Frame) (name string, frame int, ok bool) {
	border := t.border(frames)
	for i := border; i < len(frames); i++ {
		r := t.userRow(frames[i].Symbol)
		if r == nil {
			continue
		}
		if (r.role == RoleAPI || r.role == RoleWakeAPI) && r.api != "" {
			return r.api, i, true
		}
	}
	return "", -1, false
}

// Caller returns the index of the code that asked: the first resolved user
// frame that is neither a library's nor a runtime's.
func (t *Table) Caller(frames []evidence.Frame) (int, bool) {
	body, border := -1, t.border(frames)
	for i := border; i < len(frames); i++ {
		f := &frames[i]
		if !resolved(f.Symbol) || isLibrary(f.Module) || isLibrarySource(f.File) {
			continue
		}
		switch r := t.userRow(f.Symbol); {
		case r == nil:
			return i, true
		case r.plain() && i > border && f.Module != "":
			return i, true // the program's own function, named like a system call
		case r.role == RoleBody && body < 0:
			body = i
		case r.role == RoleHelper:
			return i, true
		}
	}
	return body, body >= 0
}

// Helper returns the frame that shows a thread to be a language runtime's own
// (Go's sysmon, a JVM's watcher), not the application's.
func (t *Table) Helper(frames []evidence.Frame) (int, bool) {
	for i := t.border(frames); i < len(frames); i++ {
		if r := t.userRow(frames[i].Symbol); r != nil && r.role == RoleHelper {
			return i, true
		}
	}
	return -1, false
}

// KernelThread reports whether a chain is that of a kernel thread: it ends
// where the kernel starts one.
func (t *Table) KernelThread(frames []evidence.Frame) bool {
	if t.border(frames) != len(frames) {
		return false
	}
	for i := range frames {
		if r := t.kernelRow(frames[i].Symbol); r != nil && r.role == RoleKthread {
			return true
		}
	}
	return false
}

func resolved(symbol string) bool {
	return symbol != "" && symbol[0] != '[' && !strings.HasPrefix(symbol, "0x") && symbol != "unknown" && symbol != "??"
}

// libraries are the objects whose code asks on behalf of another.
var libraries = []string{"libc.so", "libc-2.", "libpthread", "libstdc++", "ld-linux", "ld-2.", "ld-musl", "libc.musl", "librt.so", "librt-2.", "libgcc_s",
	"libjvm.so", "libgomp.so", "libomp.so", "libiomp5", "libc++.so", "libuv.so", "[vdso]", "[vsyscall]"}

func isLibrary(module string) bool {
	base := module[strings.LastIndexByte(module, '/')+1:]
	for _, l := range libraries {
		if strings.HasPrefix(base, l) {
			return true
		}
	}
	return false
}

// librarySources are where the headers and the sources of libraries and
// language runtimes lie: what of them was inlined into a program is not its code.
var librarySources = []string{"/usr/include/", "/usr/lib/gcc", "/usr/local/include/", "/rustc/", "/usr/lib/go", "/usr/local/go/src/"}

func isLibrarySource(file string) bool {
	for _, p := range librarySources {
		if strings.HasPrefix(file, p) {
			return true
		}
	}
	return strings.Contains(file, "/.cargo/registry/") || strings.Contains(file, "/rustlib/src/")
}

// border is the index of the first user frame, len(frames) when there is none.
func (t *Table) border(frames []evidence.Frame) int {
	last, marked := -1, false
	for i := range frames {
		f := &frames[i]
		if isKernel(f) {
			last, marked = i, true
		} else if f.Module != "" {
			marked = true
		}
	}
	if marked {
		return last + 1
	}
	return t.textBorder(frames)
}

// textBorder finds the border in a chain that is only names: behind the system
// call entry, else behind the last frame that is known to be the kernel's,
// before any that is known to be not.
func (t *Table) textBorder(frames []evidence.Frame) int {
	border, entered := 0, false
	for i := range frames {
		s := frames[i].Symbol
		r := t.kernelRow(s)
		switch {
		case r != nil && (r.role == RoleEntry || !entered):
			border, entered = i+1, r.role == RoleEntry
		case entered || t.userRow(s) != nil:
			return border
		case looksKernel(s) && border == i:
			border = i + 1
		}
	}
	return border
}

// kernelPrefixes are those of kernel functions that no row names, for chains
// without modules.
var kernelPrefixes = []string{"__x64_", "__arm64_", "__se_", "__do_sys_", "ksys_", "SyS_", "sys_", "do_sys_", "vfs_", "sock_", "tcp_", "udp_", "inet_", "inet6_", "ip_", "unix_",
	"ext4_", "xfs_", "btrfs_", "f2fs_", "nfs_", "blk_", "bio_", "submit_bio", "folio_", "filemap_", "generic_", "exc_", "asm_", "sysvec_", "irq_", "irqentry_", "el0_", "el1_",
	"el0t_", "el1h_", "ret_from_", "do_syscall", "new_sync_", "__vfs_", "path_", "__filemap_", "__ext4_", "shmem_", "try_charge", "do_execve", "load_elf", "bprm_"}

func looksKernel(s string) bool {
	for _, p := range kernelPrefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func isKernel(f *evidence.Frame) bool {
	if f.Kernel {
		return true
	}
	m := f.Module
	return strings.HasPrefix(m, "[kernel") || strings.HasPrefix(m, "[guest.kernel") || strings.HasSuffix(m, ".ko") ||
		strings.HasPrefix(m, "vmlinux") || strings.Contains(m, "/vmlinux") || strings.HasPrefix(m, "[bpf_")
}

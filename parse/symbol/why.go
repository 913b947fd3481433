package symbol

// Why a frame has no symbol (evidence.Frame.Why). The set is closed, so that
// shares can be added up by reason; Hint says what to do about each.
const (
	WhyUnmapped        = "in no mapping"               // the address lies in nothing that was mapped
	WhyAnon            = "anonymous memory"            // JIT code or a damaged stack, and no perf-PID.map
	WhyMissing         = "file missing"                // no such file where it was looked for
	WhyNoBuildID       = "no build-id in the capture"  // so this machine's file is not used for it
	WhyBuildID         = "build-id differs"            // another build of the file
	WhyMismatch        = "file differs from what ran"  // nothing executable where the capture has code
	WhyStripped        = "stripped"                    // exported functions at most
	WhyNoSymbol        = "between symbols"             // the file has symbols, none of them covers the address
	WhyDamaged         = "damaged file"                // not readable as what it should be
	WhyNotFile         = "not a regular file"          // a folder, device or pipe
	WhyPermission      = "no permission to read it"    //
	WhyLimit           = "over the limit for symbols"  // Limits
	WhyNoKernelSymbols = "no kernel symbols"           // nothing of that kernel was found
	WhyKernelHidden    = "kernel addresses are hidden" // the symbol file shows zeros
	WhyOtherKernel     = "symbols of another kernel"   // the kernel's bounds or build-ids differ
	WhyNoModule        = "module not in the symbols"   // the symbol file has no such module
	WhyGuest           = "guest kernel"                // of a virtual machine: its symbols are inside it
	WhySplit           = "split debug information"     // not of frames: inlined functions of a used file are not known
)

// What is doubtful about a file that was used (Use.Why).
const (
	DoubtNoBuildID   = "the capture has no build-id to check it by"
	DoubtNotMoved    = "addresses taken as they are: the capture does not say where its kernel lay"
	DoubtNoEnd       = "it could not be compared with the recorded kernel's size"
	DoubtKernelBuild = "the capture does not say which build of the kernel it was"
)

// Hint says what to do about a frame that was not named; "" for nothing known.
func Hint(why string) string {
	switch why {
	case WhyUnmapped:
		return "often a program built without frame pointers: build with -fno-omit-frame-pointer, or record with --call-graph dwarf"
	case WhyAnon:
		return "code made at run time needs /tmp/perf-PID.map (Java: perf-map-agent; Node.js: --perf-basic-prof), given by --symfs; otherwise build with -fno-omit-frame-pointer"
	case WhyMissing, WhyNotFile:
		return "give a folder with the recorded machine's files, or what `perf archive` made there, by --symfs"
	case WhyNoBuildID:
		return "when this is the recorded machine, give --symfs /; record with --buildid-all to have build-ids"
	case WhyBuildID, WhyMismatch:
		return "the file was changed since; give the build that ran by --symfs DIR"
	case WhyStripped:
		return "install the debug symbols of that file, or give an unstripped build by --symfs DIR"
	case WhyPermission:
		return "run as a user who may read it"
	case WhyNoKernelSymbols, WhyNoModule:
		return "on the recorded machine, as root: cat /proc/kallsyms > kallsyms; then give --kallsyms kallsyms"
	case WhyKernelHidden:
		return "copy it as root with kernel.kptr_restrict at 0 or 1: sudo cat /proc/kallsyms > kallsyms"
	case WhySplit:
		return "names and lines are right without it; build without -gsplit-dwarf to see inlined functions"
	case WhyOtherKernel:
		return "copy /proc/kallsyms on the recorded machine while the same kernel runs"
	}
	return ""
}

package unwind

// Reason says why a chain ends where it does. The set is closed, so that
// shares can be added up by reason.
type Reason uint8

const (
	Complete   Reason = iota // the outermost frame was reached
	NoRegs                   // the sample has no user registers (a kernel thread)
	BadArch                  // registers of an architecture or ABI that is not unwound
	ShortStack               // the caller lies beyond the copy of the stack
	NoFile                   // the file that holds the code could not be used; Stop.Why says why
	NoCFI                    // the file has no unwind information for that code
	BadCFI                   // the unwind information can't be read or evaluated
	WrongFile                // the file is not the one that ran: what was found is no return address
	Unmapped                 // a return address in no mapping
	NoRegister               // a register that is needed was not recorded or saved
	NoProgress               // the stack pointer did not grow: the stack is damaged
	TooDeep                  // MaxFrames
	OverLimit                // too many or too large unwind tables
	NumReasons
)

var reasonText = [NumReasons]string{
	Complete:   "complete",
	NoRegs:     "no user registers",
	BadArch:    "registers of another architecture",
	ShortStack: "copy of the stack too short",
	NoFile:     "file missing",
	NoCFI:      "no unwind information",
	BadCFI:     "unwind information not understood",
	WrongFile:  "file differs from what ran",
	Unmapped:   "return address in no mapping",
	NoRegister: "a register is not known",
	NoProgress: "damaged stack",
	TooDeep:    "more frames than are followed",
	OverLimit:  "over the limit for unwind tables",
}

func (r Reason) String() string {
	if r < NumReasons {
		return reasonText[r]
	}
	return "unknown"
}

// Hint says what to do about chains that end early; "" for nothing known.
func (r Reason) Hint() string {
	switch r {
	case ShortStack:
		return "record with a larger copy: --call-graph dwarf,32768 (65528 at most)"
	case NoFile:
		return "give a folder with the recorded machine's files by --symfs DIR"
	case WrongFile:
		return "give the build that ran by --symfs DIR; record with --buildid-all to have build-ids"
	case NoCFI:
		return "build that file with -fasynchronous-unwind-tables, or install its debug symbols"
	}
	return ""
}

// Stop says how a chain ended.
type Stop struct {
	Reason Reason
	Path   string // the file that the reason is about; "" for none
	Why    string // for NoFile: one of symbol's Why constants
	// Guessed counts frames that were found by the frame pointer, because the
	// code that they called has no CFI. A caller may be missing before each.
	Guessed int
}

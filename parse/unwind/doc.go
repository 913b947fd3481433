// Package unwind walks the user stacks that perf record --call-graph dwarf
// samples: the registers of the task and a copy of the top of its stack, by
// the call frame information (CFI) of the mapped files.
//
// CFI is taken from .eh_frame, found by the search table in .eh_frame_hdr or,
// failing that, by an index made once, and from .debug_frame of the file or of
// its separate debug file. x86-64 and arm64, little-endian, 64 bit.
//
// CFI programs and DWARF expressions are run by the libraries of the Delve
// debugger (pkg/dwarf/frame and pkg/dwarf/op). This package finds and decodes
// the entries, as Delve reads whole sections at once, and prepares the programs
// for what that library does not do; see prepared.
//
// What a file says is not trusted: every length is checked, a chain has at most
// MaxFrames frames, and the stack pointer must grow from frame to frame.
//
// Time: a chain evaluates at most maxEvaluated expressions, of at most maxExpr
// bytes each; an entry is at most maxEntry long.
//
// Memory: a table of 8 bytes per function for each file that is met
// (.eh_frame_hdr; 16 bytes per function where there is none), all files together
// at most maxTableBytes, and at most maxRowBytes of rows, one for each distinct
// address. Entries are read from the file when an address asks for them.
package unwind

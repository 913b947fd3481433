// Package collect measures context switches live. It writes what perf and a
// careful engineer would have captured, each in its own standard format, into a
// new folder:
//
//	perf-stat.txt       counters, laid out as perf stat prints them
//	perf.data           every switch with its call chain, as perf record writes it
//	threads-before.txt  /proc/PID/task/*/status and schedstat, at the beginning
//	threads-after.txt   and at the end
//	environment.txt     the machine: /proc/stat, interrupts, cgroup limits, policies
//	kallsyms.gz         kernel symbols, where they may be read
//	symbols/            the programs and libraries that the call chains went through
//
// It analyses nothing: the folder is read by the same path as anyone's captures.
//
// What is measured depends on the rights of the user, in steps (see Step); each
// step that could not be taken is in Result.Missing with the reason and the
// command that grants it.
//
// One [unix.PerfEventAttr] an event is the source of truth: it is what is
// opened and what the file describes. Ring buffers belong to events of
// github.com/elastic/go-perf, of which this package is the only importer; what
// that module cannot express is opened directly and sends its records there.
//
// The package works on Linux only; elsewhere Run returns ErrUnsupported.
package collect

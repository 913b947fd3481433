// Package explain says in a paragraph what a figure, a grade, a cause, a check
// or a wait of the reports is. The texts are data: topics.md, and for waits the
// table of signatures.
package explain

import (
	_ "embed"
	"strings"
	"sync"

	"ctxan/analyze/signature"
)

//go:embed topics.md
var source string

// Topic is one thing that can be explained.
type Topic struct {
	ID    string // "switches_per_s", "grade.elevated"
	Kind  string // the heading it stands under: "Figures"
	Title string // "switches/s"
	Text  string // one paragraph
}

// Topics returns all topics, in the order in which they are listed.
var Topics = sync.OnceValue(func() []Topic { return append(readTopics(source), waits()...) })

// readTopics reads "# Kind", "## id | title" and the paragraph below it.
func readTopics(src string) []Topic {
	var out []Topic
	kind := ""
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(line)
		switch head, topic := strings.CutPrefix(line, "## "); {
		case topic:
			id, title, _ := strings.Cut(head, " | ")
			out = append(out, Topic{ID: id, Kind: kind, Title: title})
		case strings.HasPrefix(line, "# "):
			kind = line[2:]
		case line != "" && len(out) > 0:
			t := &out[len(out)-1]
			t.Text = strings.TrimSpace(t.Text + " " + line)
		}
	}
	return out
}

// waits makes a topic of every reason of the signature table.
func waits() []Topic {
	var out []Topic
	for _, r := range signature.Default().Reasons() {
		text := "What a call chain waits for: " + classes[r.Class] + "."
		if r.Note != "" {
			text = strings.ToUpper(r.Note[:1]) + r.Note[1:] + ". " + text
		}
		if r.Class == signature.ClassWork || r.Class == signature.ClassSpin {
			text = strings.Replace(text, "What a call chain waits for", "What a call chain does", 1)
		}
		out = append(out, Topic{ID: "wait." + r.ID, Kind: "Waits", Title: r.Label, Text: text})
	}
	return out
}

// classes say what the classes of waits are.
var classes = map[signature.Class]string{
	signature.ClassSleep:    "a time that the thread asked for itself; nobody else ends it",
	signature.ClassLock:     "a lock that another thread holds",
	signature.ClassCond:     "work or an answer from another thread",
	signature.ClassTimed:    "another thread, with a time limit that may end the wait first",
	signature.ClassFutex:    "a futex, whose caller is hidden: a lock, a condition or a join",
	signature.ClassEvent:    "the next event of many, as event loops do",
	signature.ClassIPC:      "one peer on this machine, over a pipe, socket, queue or signal",
	signature.ClassNetwork:  "one peer on a network socket",
	signature.ClassDisk:     "a read or write of a block device",
	signature.ClassSync:     "data to be safe on the disk",
	signature.ClassThrottle: "permission to go on: the task is held back on purpose",
	signature.ClassMemory:   "memory: reclaim, swap, a limit or a fault handler",
	signature.ClassMM:       "the lock of the address space, which all threads of a process share",
	signature.ClassKernel:   "a lock or a completion inside the kernel",
	signature.ClassFS:       "the answer of a file system in user space or on the network",
	signature.ClassTrace:    "a tracer or supervisor that stopped the task",
	signature.ClassStop:     "being continued: the task is stopped or frozen",
	signature.ClassChild:    "a child process",
	signature.ClassExit:     "nothing: the task has ended",
	signature.ClassTTY:      "a terminal, the console or the log",
	signature.ClassDevice:   "a device",
	signature.ClassWorker:   "work: an idle thread of the kernel",
	signature.ClassGuest:    "an interrupt: a virtual CPU that halted",
	signature.ClassRuntime:  "work: a helper thread of a language runtime, not of the application",
	signature.ClassIdle:     "work: the idle task",
	signature.ClassMove:     "being moved to another CPU",
	signature.ClassQuota:    "the next period of a CPU quota",
	signature.ClassYield:    "its next turn; the task stays runnable, so that the switch counts as involuntary",
	signature.ClassSpin:     "burns CPU for a lock, without a switch",
	signature.ClassWork:     "kernel work, and no wait",
}

// Find returns the topics of an id: several where a word is both a cause and a
// grade. It takes ids with or without their kind in front ("elevated",
// "grade.elevated"), titles, any case, and - for _.
func Find(id string) []Topic {
	want := norm(id)
	var out []Topic
	for _, t := range Topics() {
		_, short, _ := strings.Cut(t.ID, ".")
		if want == norm(t.ID) || want == norm(t.Title) || short != "" && want == norm(short) {
			out = append(out, t)
		}
	}
	return out
}

func norm(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "_", "-")
}

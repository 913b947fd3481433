package parse

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/parse/perfdata"
	"ctxan/parse/symbol"
	"ctxan/parse/timehist"
	"ctxan/parse/timeline"
)

// Options tell how to open captures.
type Options struct {
	Symbols symbol.Options
	Stdin   io.Reader // what "-" reads
	Hash    bool      // compute each file's SHA-256
	Limits  Limits

	// Select is the part to read of captures of events (perf.data); others are
	// read whole, with a warning.
	Select *timeline.Select

	// Watch is asked for who is to be told of the stints and wakeups of a
	// capture of events (perf.data), by its name; nil: nobody is.
	Watch func(name string) timeline.Watcher

	Meter Meter // is told how far reading is; nil: nobody is
}

// Meter is told how many bytes are to be read, and how many were. The reads of
// one input add up to about what was expected of it, often to less. Both may be
// called from several goroutines, and a read is of a block, never of a record.
type Meter interface {
	Expect(n int64)
	Read(n int)
}

// metered counts what is read of a file.
type metered struct {
	io.ReaderAt
	meter Meter
}

func (m metered) ReadAt(p []byte, off int64) (int, error) {
	n, err := m.ReaderAt.ReadAt(p, off)
	m.meter.Read(n)
	return n, err
}

// Limits bound what is read; the zero Limits are the defaults.
type Limits struct {
	Text  int64 // bytes of a text that is read whole (default 64 MiB); a timehist may be longer
	Spool int64 // bytes of standard input (default 16 GiB), kept in an unlinked temporary file
	Files int   // files of a folder (default 2,000)
	Depth int   // folders within folders (default 6)
}

func (l Limits) withDefaults() Limits {
	def := Limits{Text: 64 << 20, Spool: 16 << 30, Files: 2000, Depth: 6}
	if l.Text > 0 {
		def.Text = l.Text
	}
	if l.Spool > 0 {
		def.Spool = l.Spool
	}
	if l.Files > 0 {
		def.Files = l.Files
	}
	if l.Depth > 0 {
		def.Depth = l.Depth
	}
	return def
}

// Error is an input that could not be used: what was seen, and what to do.
type Error struct {
	Name string
	Seen string // "empty file"
	Hint string // "give the file that perf stat -o wrote"
	Err  error  // the cause, when another error is
}

func (e *Error) Error() string {
	s := e.Name + ": " + e.Seen
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Open reads every path into one set: files, folders (their files, by content)
// and "-" for standard input. What could not be used is returned beside the
// set, one *Error each; inputs that were fine are not lost for it. The last
// result is an error of the options themselves.
func Open(paths []string, opt Options) (*evidence.Set, []error, error) {
	resolver, err := symbol.New(opt.Symbols)
	if err != nil {
		return nil, nil, err
	}
	defer resolver.Close()
	o := &opener{opt: opt, set: &evidence.Set{}, symbols: resolver, told: map[string]bool{}}
	o.opt.Limits = opt.Limits.withDefaults()
	for _, p := range paths {
		switch {
		case p == "-":
			o.stdin()
		default:
			o.path(p)
		}
	}
	return o.set, o.problems, nil
}

type opener struct {
	opt      Options
	set      *evidence.Set
	symbols  *symbol.Resolver
	problems []error
	told     map[string]bool // what was noted of symbol files
}

func (o *opener) problem(name, seen, hint string, err error) {
	o.problems = append(o.problems, &Error{Name: name, Seen: seen, Hint: hint, Err: err})
}

func (o *opener) path(p string) {
	st, err := os.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		o.problem(p, "no such file or folder", "", err)
	case err != nil:
		o.problem(p, reason(err), "", err)
	case st.IsDir():
		o.folder(p)
	default:
		o.file(p, p, true)
	}
}

// reason is an I/O error without the path that the message already names.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// folder reads the files of a folder that are captures; the others are left
// alone. A folder without any is a problem.
func (o *opener) folder(dir string) {
	defer o.useSymbolsOf(dir)()
	files, cut := o.list(dir)
	before := len(o.set.Sources)
	for _, f := range files {
		if isPart(f) {
			continue
		}
		name, err := filepath.Rel(dir, f)
		if err != nil {
			name = f
		}
		o.file(f, name, false)
	}
	if len(o.set.Sources) == before {
		o.problem(dir, fmt.Sprintf("a folder of %d files, none of them a capture", len(files)), "looked for "+lookedFor(), nil)
	}
	if cut {
		o.problem(dir, fmt.Sprintf("more than %d files", o.opt.Limits.Files), "the rest was not read; give a smaller folder", nil)
	}
}

// list returns the regular files below dir, hidden ones left out, in name order.
func (o *opener) list(dir string) (files []string, cut bool) {
	root := strings.Count(filepath.Clean(dir), string(filepath.Separator))
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			o.problem(p, reason(err), "", err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case p != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() && filepath.Dir(p) == filepath.Clean(dir) && d.Name() == keptSymfs:
			return fs.SkipDir
		case d.IsDir():
			if strings.Count(filepath.Clean(p), string(filepath.Separator))-root > o.opt.Limits.Depth {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			if len(files) == o.opt.Limits.Files {
				cut = true
				return fs.SkipAll
			}
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		o.problem(dir, reason(err), "", err)
	}
	return files, cut
}

// stdin reads standard input.
func (o *opener) stdin() {
	if o.opt.Stdin == nil {
		o.problem("-", "no standard input", "", nil)
		return
	}
	o.spool("-", o.opt.Stdin)
}

// spool keeps what cannot be seeked in an unlinked temporary file, so that
// every format can seek in it and none is kept in memory.
func (o *opener) spool(name string, r io.Reader) {
	f, err := os.CreateTemp("", "ctxan-stdin-*")
	if err != nil {
		o.problem(name, "it cannot be kept: "+err.Error(), "set TMPDIR to a folder with room", err)
		return
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		o.problem(name, reason(err), "", err)
		return
	}
	n, err := io.Copy(f, io.LimitReader(r, o.opt.Limits.Spool+1))
	switch {
	case err != nil && n == 0:
		o.problem(name, reason(err), "", err)
		return
	case n > o.opt.Limits.Spool:
		o.problem(name, fmt.Sprintf("longer than %d bytes", o.opt.Limits.Spool), "give it as a file that can be seeked", nil)
		return
	}
	o.read(f, n, name, true)
}

// file opens one file. asked: the user named it, so that it must be a capture.
func (o *opener) file(path, name string, asked bool) {
	f, err := os.Open(path)
	if err != nil {
		o.problem(name, reason(err), openHint(err), err)
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		o.problem(name, reason(err), "", err)
		return
	}
	switch {
	case st.Mode()&fs.ModeCharDevice != 0 && asked:
		o.problem(name, "this is a device, not a capture", "give a file, or - for standard input", nil)
		return
	case !st.Mode().IsRegular(), st.Size() == 0:
		o.irregular(f, name, asked) // files of /proc say that they are empty
		return
	}
	o.parts(f, st.Size(), path, name, asked)
}

// parts reads a file together with those that belong to the same recording.
func (o *opener) parts(f *os.File, size int64, path, name string, asked bool) {
	parts, end, err := partsOf(path)
	if err != nil {
		o.problem(name, reason(err), openHint(err), err)
		return
	}
	defer end()
	if len(parts) > 0 {
		name = recordingName(path, name)
	}
	o.read(f, size, name, asked, parts...)
}

func openHint(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "perf writes its files readable for their owner only: sudo, or chown it"
	}
	return ""
}

// irregular reads a pipe (as of process substitution) or a file of unknown
// size like standard input.
func (o *opener) irregular(f *os.File, name string, asked bool) {
	if asked {
		o.spool(name, f)
	}
}

// input is an open file with its head.
type input struct {
	r     io.ReaderAt
	size  int64
	name  string
	head  []byte
	parts []perfdata.Part // of a recording in several files
}

// headSize is how much of a file decides its format.
const headSize = 64 << 10

func (o *opener) read(f *os.File, size int64, name string, asked bool, parts ...perfdata.Part) {
	head := make([]byte, min(size, headSize))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		o.problem(name, reason(err), "", err)
		return
	}
	in := input{o.meter(f, size), size, name, head[:n], parts}
	before := len(o.set.Sources)
	switch {
	case size == 0 || len(bytes.TrimSpace(in.head)) == 0 && size <= headSize:
		if asked {
			o.problem(name, "the file is empty", "the tool that should have written it may have failed", nil)
		}
	case isPerfData(in.head):
		o.perfData(in, asked)
	case !o.lookalike(in, asked):
		o.text(in, asked)
	}
	o.hash(in, before)
}

// meter makes the reads of a file count: a recording is read twice, by the index
// and by the decoder, and any file once more to be hashed.
func (o *opener) meter(f *os.File, size int64) io.ReaderAt {
	if o.opt.Meter == nil {
		return f
	}
	times := int64(1)
	if o.opt.Hash {
		times++
	}
	o.opt.Meter.Expect(times * size)
	return metered{f, o.opt.Meter}
}

func (o *opener) lookalike(in input, asked bool) bool {
	what, hint, ok := lookalike(in.head)
	if ok && asked {
		o.problem(in.name, "this is "+what, hint, nil)
	}
	return ok
}

// perfData reads a recording. What was read before an error is kept.
func (o *opener) perfData(in input, asked bool) {
	before := len(o.set.Sources)
	b := o.set.NewBuilder(in.name, perfdata.Format)
	opt := perfdata.Options{Symbols: o.symbols, Select: o.opt.Select}
	if o.opt.Watch != nil {
		opt.Watch = o.opt.Watch(in.name)
	}
	err := perfdata.Read(perfdata.Input{R: in.r, Size: in.size, Name: in.name, Parts: in.parts}, b, opt)
	noteSymbols(b, o.symbols.Report(), o.told)
	if err == nil {
		return
	}
	if o.set.Usable(b.Source().ID) {
		b.Warn(err.Error())
		return
	}
	o.set.Sources = o.set.Sources[:before]
	if asked {
		o.problem(in.name, "perf.data, but "+err.Error(), "", err)
	}
}

// text reads a text: whole and cleaned when it is of a pasteable size,
// otherwise as a stream in the one format that grows without bound.
func (o *opener) text(in input, asked bool) {
	if timehist.DetectHead(in.head) && !paste.IsDecorated(in.head) && in.size > headSize {
		o.stream(in)
		return
	}
	if in.size > o.opt.Limits.Text {
		if asked {
			o.problem(in.name, fmt.Sprintf("%d MB of text that is no plain perf sched timehist", in.size>>20),
				fmt.Sprintf("other texts are read up to %d MB: cut out the capture", o.opt.Limits.Text>>20), nil)
		}
		return
	}
	raw := make([]byte, in.size)
	n, err := in.r.ReadAt(raw, 0)
	if err != nil && err != io.EOF {
		o.problem(in.name, reason(err), "", err)
		return
	}
	t, err := paste.Clean(raw[:n])
	switch {
	case err != nil && asked:
		o.problem(in.name, "this is binary data of an unknown kind", "looked for "+lookedFor(), err)
	case err == nil:
		o.cleaned(in, t, asked)
	}
}

// unfiltered warns of a capture that can't be read in part.
func (o *opener) unfiltered(b *evidence.Builder) {
	if o.opt.Select.ByTask() || o.opt.Select.ByEvent() {
		b.Warn("not filtered: " + o.opt.Select.String() + " is for perf.data files; this is all that it holds")
	}
}

func (o *opener) stream(in input) {
	b := o.set.NewBuilder(in.name, timehist.Format)
	o.unfiltered(b)
	if err := timehist.ReadStream(io.NewSectionReader(in.r, 0, in.size), b); err != nil {
		b.Warn("reading stopped: " + err.Error())
	}
}

// cleaned lets every format that recognises something read the text.
func (o *opener) cleaned(in input, t *paste.Text, asked bool) {
	found := false
	for _, f := range textFormats {
		if !f.detect(t) {
			continue
		}
		found = true
		b := o.set.NewBuilder(in.name, f.name)
		o.unfiltered(b)
		for _, n := range t.Notes {
			b.Note(n)
		}
		if err := f.read(t, b); err != nil {
			b.Warn("reading stopped: " + err.Error())
		}
	}
	if !found && asked {
		o.problem(in.name, "no capture recognised; the first line is "+firstLine(t), "looked for "+lookedFor(), nil)
	}
}

// firstLine shows what a text begins with, cut and quoted.
func firstLine(t *paste.Text) string {
	for _, l := range t.Lines {
		if s := strings.TrimSpace(l.Text); s != "" {
			if r := []rune(s); len(r) > 60 {
				s = string(r[:60]) + "…"
			}
			return fmt.Sprintf("%q", s)
		}
	}
	return "empty"
}

// hash stamps the new sources with the SHA-256 of their file.
func (o *opener) hash(in input, before int) {
	if !o.opt.Hash || len(o.set.Sources) == before {
		return
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(in.r, 0, in.size)); err != nil {
		o.problem(in.name, "not hashed: "+reason(err), "", err)
		return
	}
	sum := hex.EncodeToString(h.Sum(nil))
	for _, s := range slices.Clone(o.set.Sources[before:]) {
		s.SHA256 = sum
	}
}

// Package mask replaces what should not leave a company in a report: host
// names, users, folders, IP addresses and command arguments. The same name gets
// the same replacement wherever it stands ("host-1", "user-1", "dir-2", "ip-1",
// "arg-3"), so that a masked report still makes sense.
//
// What a diagnosis rests on stays: names of programs, threads and functions, of
// files without their folders, figures, and commands to run.
package mask

import (
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ctxan/parse/evidence"
)

// Mask replaces names. It is made of a set, whose sources say what hosts, files
// and commands are called, and serves that set and the results made of it.
type Mask struct {
	names   map[string]string // by kind and name
	counts  map[string]int    // by kind
	keep    map[string]bool   // names of folders that stay
	phrases map[string]string // whole paths and commands
	replace *strings.Replacer // of phrases, the longest first
	words   *regexp.Regexp    // hosts, users and arguments; nil: none
	wordOf  map[string]string
	known   map[string]string // texts seen before
	types   map[reflect.Type]bool
}

// New collects the names of a set.
func New(set *evidence.Set) *Mask {
	m := &Mask{names: map[string]string{}, counts: map[string]int{}, keep: map[string]bool{}, phrases: map[string]string{},
		wordOf: map[string]string{}, known: map[string]string{}, types: map[reflect.Type]bool{}}
	for _, d := range commonFolders {
		m.keep[d] = true
	}
	for _, s := range set.Sources {
		m.source(s)
	}
	for i := range set.Counters {
		m.target(&set.Counters[i].Target)
	}
	for i := range set.Threads {
		m.comm(set.Threads[i].Task.Comm)
	}
	for i := range set.Stacks {
		for k := range set.Stacks[i].Frames {
			f := &set.Stacks[i].Frames[k]
			m.path(f.Module)
			m.path(f.File)
		}
	}
	for i := range set.Profiles {
		for k := range set.Profiles[i].Rows {
			m.path(set.Profiles[i].Rows[k].Module)
		}
	}
	m.compile()
	return m
}

// name returns the replacement of a name of a kind.
func (m *Mask) name(kind, s string) string {
	key := kind + " " + s
	if r, ok := m.names[key]; ok {
		return r
	}
	m.counts[kind]++
	r := fmt.Sprintf("%s-%d", kind, m.counts[kind])
	m.names[key] = r
	return r
}

func (m *Mask) source(s *evidence.Source) {
	if h := s.Host.Name; h != "" && h != "localhost" {
		m.wordOf[h] = m.name("host", h)
		if short, _, full := strings.Cut(h, "."); full && len(short) > 1 {
			m.wordOf[short] = m.wordOf[h]
		}
	}
	m.keep[s.Host.Release] = true
	m.path(s.Name)
	m.target(&s.Target)
	if _, cmd, ok := strings.Cut(s.Command, " -- "); ok {
		m.command(cmd)
	}
}

func (m *Mask) target(t *evidence.Target) {
	if t.Kind == evidence.TargetCommand {
		m.command(strings.Trim(t.Name, "'"))
	}
}

// longestComm is TASK_COMM_LEN without its NUL: what is longer, or begins with
// a path, is a command line (pidstat -l).
const longestComm = 15

func (m *Mask) comm(s string) {
	if strings.Contains(s, " ") && (len(s) > longestComm || s[0] == '/') {
		m.command(s)
	}
}

var plainNumber = regexp.MustCompile(`^[0-9][0-9.,:]*[a-zA-Z]?$`)

// command masks the arguments of a command line: not the program, and not plain
// numbers. Of an option with a value, --name=value, the name stays.
func (m *Mask) command(cmd string) {
	words := strings.Fields(cmd)
	if len(words) == 0 {
		return
	}
	m.path(words[0])
	out := []string{m.masked(words[0])}
	for _, w := range words[1:] {
		out = append(out, m.argument(w))
	}
	if cmd != strings.Join(out, " ") {
		m.phrases[cmd] = strings.Join(out, " ")
	}
}

func (m *Mask) argument(w string) string {
	option, value, has := strings.Cut(w, "=")
	switch {
	case !has && strings.HasPrefix(w, "-") || plainNumber.MatchString(w):
		return w
	case has && strings.HasPrefix(w, "-"):
		if plainNumber.MatchString(value) || value == "" {
			return w
		}
		return option + "=" + m.argValue(value)
	}
	return m.argValue(w)
}

// shortestWord: shorter arguments are replaced in their command only, because
// they may be a word of any text.
const shortestWord = 4

func (m *Mask) argValue(v string) string {
	r := m.name("arg", v)
	if bare := strings.Trim(v, `'"`); len(bare) >= shortestWord {
		m.wordOf[bare] = r
	}
	return r
}

// commonFolders stay as they are: they are on every machine.
var commonFolders = []string{"", ".", "..", "~", "usr", "lib", "lib64", "lib32", "libexec", "bin", "sbin", "local", "share", "include", "home", "opt", "srv", "var", "tmp",
	"root", "mnt", "dev", "proc", "sys", "etc", "run", "boot", "modules", "kernel", "build", "src", "debug", ".build-id", "jvm", "gcc", "go", "rustc",
	"library", "std", "fd", "self", "shm", "cache", "log", "x86_64-linux-gnu", "aarch64-linux-gnu", "fs", "drivers", "net", "include", "x86_64", "systemd", "system"}

var replaced = regexp.MustCompile(`^(host|user|dir|ip|arg)-[0-9]+$`)

// masked is a path with its folders replaced.
func (m *Mask) masked(p string) string {
	parts := strings.Split(p, "/")
	home := false
	for i, s := range parts[:len(parts)-1] {
		switch {
		case home && s != "":
			parts[i] = m.user(s)
		case !m.keep[s] && !replaced.MatchString(s):
			parts[i] = m.name("dir", s)
		}
		home = s == "home" || s == "Users"
	}
	if last := len(parts) - 1; home && parts[last] != "" { // the home itself
		parts[last] = m.user(parts[last])
	}
	return strings.Join(parts, "/")
}

func (m *Mask) user(s string) string {
	if replaced.MatchString(s) {
		return s
	}
	r := m.name("user", s)
	if len(s) > 1 && s != "root" {
		m.wordOf[s] = r
	}
	return r
}

// path remembers a path, and its ends, by which reports name files.
func (m *Mask) path(p string) {
	if !strings.Contains(p, "/") || strings.HasPrefix(p, "[") {
		return
	}
	if _, ok := m.phrases[p]; ok {
		return
	}
	r := m.masked(p)
	m.phrases[p] = r
	for path.Dir(p) != "." && path.Dir(p) != "/" {
		_, end, ok := strings.Cut(strings.TrimPrefix(p, "/"), "/")
		if !ok || !strings.Contains(end, "/") {
			return
		}
		_, masked, _ := strings.Cut(strings.TrimPrefix(r, "/"), "/")
		p, r = end, masked
		if _, ok := m.phrases[p]; !ok {
			m.phrases[p] = r
		}
	}
}

// compile makes what Text needs.
func (m *Mask) compile() {
	list := make([]string, 0, len(m.phrases))
	for p, r := range m.phrases {
		if p != r {
			list = append(list, p)
		}
	}
	byLength := func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	}
	slices.SortFunc(list, byLength)
	var pairs []string
	for _, p := range list {
		pairs = append(pairs, p, m.phrases[p])
	}
	m.replace = strings.NewReplacer(pairs...)
	var words []string
	for w := range m.wordOf {
		words = append(words, w)
	}
	slices.SortFunc(words, byLength)
	for i, w := range words {
		words[i] = bounded(w)
	}
	if len(words) > 0 {
		m.words = regexp.MustCompile(strings.Join(words, "|"))
	}
}

// bounded is an expression for a word that is not a part of a longer one.
func bounded(w string) string {
	re := regexp.QuoteMeta(w)
	if wordByte.MatchString(w[:1]) {
		re = `\b` + re
	}
	if wordByte.MatchString(w[len(w)-1:]) {
		re += `\b`
	}
	return re
}

var wordByte = regexp.MustCompile(`^\w$`)

var (
	absolute = regexp.MustCompile(`(^|[\s'"` + "`" + `=(:,])(~?/[^\s'"` + "`" + `;:,()<>|*?$\[\]{}]+/[^\s'"` + "`" + `;:,()<>|*?$\[\]{}]*)`)
	email    = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)
	ipv4     = regexp.MustCompile(`(^|[^\w.])([0-9]{1,3}(?:\.[0-9]{1,3}){3})($|[^\w.]|\.$|\.\s)`)
	ipv6     = regexp.MustCompile(`(^|[^\w:])([0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7})($|[^\w:])`)
)

// Text replaces what is to be masked in a text.
func (m *Mask) Text(s string) string {
	if s == "" {
		return s
	}
	out, ok := m.known[s]
	if !ok {
		out = m.text(s)
		m.known[s] = out
	}
	return out
}

func (m *Mask) text(s string) string {
	s = m.replace.Replace(s)
	s = absolute.ReplaceAllStringFunc(s, func(hit string) string {
		i := strings.IndexAny(hit, "~/")
		return hit[:i] + m.masked(hit[i:])
	})
	s = email.ReplaceAllStringFunc(s, func(hit string) string { return m.name("user", hit) })
	s = twice(ipv4, s, m.address)
	if strings.Count(s, ":") >= 2 {
		s = twice(ipv6, s, m.address)
	}
	if m.words != nil {
		s = m.words.ReplaceAllStringFunc(s, func(hit string) string { return m.wordOf[hit] })
	}
	return s
}

// twice replaces the second group of each hit; twice, because two hits may share
// the character between them.
func twice(re *regexp.Regexp, s string, by func(string) string) string {
	for range 2 {
		s = re.ReplaceAllStringFunc(s, func(hit string) string {
			g := re.FindStringSubmatch(hit)
			return g[1] + by(g[2]) + g[3]
		})
	}
	return s
}

// address is the replacement of an IP address; what is none, and addresses that
// every machine has, stay.
func (m *Mask) address(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil || a.IsUnspecified() || a.IsLoopback() || !strings.ContainsAny(s, "0123456789") {
		return s
	}
	return m.name("ip", a.String())
}

// Apply masks all texts that v holds: of a pointer to a Set or a Result. Ids and
// words of the program's own (all named string types) stay.
func (m *Mask) Apply(v any) { m.walk(reflect.ValueOf(v)) }

// own are fields that hold words of the program, never of a capture.
var own = map[string]bool{"ID": true, "Format": true, "Cause": true, "Layer": true, "Severity": true, "Reason": true, "Weight": true, "Lang": true,
	"Formula": true, "Unit": true, "Table": true, "SHA256": true, "BuildID": true, "Arch": true, "Release": true, "GradedOn": true, "ImpactWord": true,
	"Trigger": true, "State": true, "Letter": true, "PMU": true, "Modifier": true, "Aggregation": true}

func (m *Mask) walk(v reflect.Value) {
	if !m.holdsText(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			m.walk(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			m.walk(v.Index(i))
		}
	case reflect.Struct:
		t := v.Type()
		for i := range v.NumField() {
			if f := t.Field(i); f.IsExported() && !isOwn(&f) {
				m.walk(v.Field(i))
			}
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(m.Text(v.String()))
		}
	}
}

func isOwn(f *reflect.StructField) bool { return own[f.Name] && f.Type.Kind() == reflect.String }

// holdsText reports whether values of a type may hold texts to mask.
func (m *Mask) holdsText(t reflect.Type) bool {
	if known, ok := m.types[t]; ok {
		return known
	}
	m.types[t] = false // while it is looked into, should it hold itself
	holds := false
	switch t.Kind() {
	case reflect.String:
		holds = t.PkgPath() == ""
	case reflect.Interface:
		holds = true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		holds = m.holdsText(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			holds = holds || f.IsExported() && !isOwn(&f) && m.holdsText(f.Type)
		}
	}
	m.types[t] = holds
	return holds
}

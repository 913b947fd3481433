package symbol

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Use tells of one symbol file: how many addresses it named, or why it was not
// used.
type Use struct {
	Path   string // the file that was opened or looked for
	For    string // what the capture calls it
	Used   bool
	Why    string // of a refused one a Why constant; of a used one what is doubtful (a Doubt constant), or ""
	Detail string // figures: the two build-ids, …
	Frames int    // addresses it named
	Lines  int    // addresses it gave a source line
}

// String says it in one line.
func (u Use) String() string {
	var b strings.Builder
	b.WriteString(u.Path)
	if u.For != "" && u.For != u.Path {
		fmt.Fprintf(&b, " for %s", u.For)
	}
	switch {
	case !u.Used:
		b.WriteString(": not used")
	case u.Lines == 0:
		fmt.Fprintf(&b, ": named %d addresses", u.Frames)
	case u.Frames == 0:
		fmt.Fprintf(&b, ": source lines of %d addresses", u.Lines)
	default:
		fmt.Fprintf(&b, ": named %d addresses, source lines of %d", u.Frames, u.Lines)
	}
	for _, s := range []string{u.Why, u.Detail} {
		if s != "" {
			fmt.Fprintf(&b, ", %s", s)
		}
	}
	return b.String()
}

type useKey struct {
	path, what string
	used       bool
}

// Report tells which files were used and which were refused, sorted by path.
func (r *Resolver) Report() []Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Use, 0, len(r.uses))
	for _, u := range r.uses {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b Use) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.For, b.For), strings.Compare(a.Why, b.Why))
	})
	return out
}

// used notes that a file is used.
func (r *Resolver) used(path, what, doubt string) *Use {
	return r.use(Use{Path: path, For: what, Used: true, Why: doubt})
}

// refused notes that a file is not used.
func (r *Resolver) refused(path, what, why, detail string) {
	r.use(Use{Path: path, For: what, Why: why, Detail: detail})
}

func (r *Resolver) use(u Use) *Use {
	key := useKey{u.Path, u.For, u.Used}
	have := r.uses[key]
	if have == nil {
		have = &u
		r.uses[key] = have
	}
	return have
}

// whyLoad is the reason for an error of loading symbols.
func whyLoad(err error) string {
	if errors.Is(err, errLimit) {
		return WhyLimit
	}
	return WhyDamaged
}

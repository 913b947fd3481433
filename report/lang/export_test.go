package lang

// Entry is an entry of a catalogue, for tests.
type Entry struct {
	En, Other string
	Line      int
}

// Chinese returns the Chinese catalogue and its entries.
func Chinese() (*Catalogue, []Entry, error) {
	l, err := entries(zhSource)
	if err != nil {
		return nil, nil, err
	}
	var out []Entry
	for _, e := range l {
		if e.en != "" {
			out = append(out, Entry{e.en, e.other, e.line})
		}
	}
	c, err := read(zhSource)
	return c, out, err
}

// Whole looks a text up as a whole.
func (c *Catalogue) Whole(en string) (string, bool) { return c.whole(en) }

// Read reads a catalogue.
var Read = read

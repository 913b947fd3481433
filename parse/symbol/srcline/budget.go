package srcline

import "container/list"

// Budget bounds what debug information costs, over all files that share it.
//
// Units are forgotten, the longest unused ones first, to hold Bytes; the index
// of a file stays. The peak is Bytes and, for the moment of reading, one unit
// or line program (maxUnit). Work bounds the time: after it every lookup that
// has to decode something fails.
type Budget struct {
	Bytes int64 // held in memory
	Work  int64 // bytes decoded in all

	used int64
	done int64
	lru  list.List // of *unit, the last used in front
}

// Used returns the bytes that are held.
func (b *Budget) Used() int64 { return b.used }

// Charge counts n bytes that stay, and forgets units to make room.
func (b *Budget) Charge(n int64) error {
	b.shrink(n)
	if b.used+n > b.Bytes {
		return ErrLimit
	}
	b.used += n
	return nil
}

// shrink makes room for n bytes.
func (b *Budget) shrink(n int64) {
	for b.used+n > b.Bytes && b.lru.Len() > 0 {
		b.forget(b.lru.Back().Value.(*unit))
	}
}

// Release gives bytes back.
func (b *Budget) Release(n int64) { b.used -= n }

// work counts decoded bytes.
func (b *Budget) work(n int64) error {
	if b.done += n; b.done > b.Work {
		return ErrLimit
	}
	return nil
}

// keep counts a unit that was loaded.
func (b *Budget) keep(u *unit) {
	u.held = b.lru.PushFront(u)
}

// grow counts n more bytes of a unit. It may forget that one as well, when it
// alone is too large: then the caller is the last that uses it.
func (b *Budget) grow(u *unit, n int64) error {
	if u.held != nil {
		b.lru.MoveToFront(u.held)
	}
	if err := b.Charge(n); err != nil {
		return err
	}
	if u.held == nil {
		b.used -= n
		return nil
	}
	u.bytes += n
	return nil
}

// touch marks a unit as used now.
func (b *Budget) touch(u *unit) {
	if u.held != nil {
		b.lru.MoveToFront(u.held)
	}
}

func (b *Budget) forget(u *unit) {
	b.lru.Remove(u.held)
	u.held = nil
	b.used -= u.bytes
	u.bytes = 0
	delete(u.f.loaded, u.off)
}

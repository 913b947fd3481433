package perfdata

import (
	"hash/maphash"
	"math/bits"
	"sync"

	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// comms interns task names. Nearly every sample repeats the name that its task
// had in the one before, so the last name of each task is at hand.
type comms struct {
	names *timeline.Names
	count int
	over  int // names beyond the limit
	cache [commSlots]commSlot
}

const (
	commSlots = 1 << 12
	maxComms  = 1 << 17
)

// commSlot is the name that a task had last: its 16 bytes as two words.
type commSlot struct {
	lo, hi uint64
	tid    int32
	id     uint32
}

// id interns the 16 bytes of a task's name.
func (c *comms) id(tid int32, b []byte) uint32 {
	s := &c.cache[uint32(tid)%commSlots]
	if s.lo == le.Uint64(b) && s.hi == le.Uint64(b[8:]) && s.tid == tid {
		return s.id // of a slot not used yet: 0, for no name of task 0
	}
	return c.newName(tid, b)
}

// newName is id for a task that had another name before.
func (c *comms) newName(tid int32, b []byte) uint32 {
	id := c.intern(untilNUL(b[:commBytes]))
	c.cache[uint32(tid)%commSlots] = commSlot{le.Uint64(b), le.Uint64(b[8:]), tid, id}
	return id
}

// intern interns a name. A capture with more than maxComms different ones
// keeps the first; the others are not told.
func (c *comms) intern(name []byte) uint32 {
	if len(name) == 0 || len(name) > commBytes {
		return 0
	}
	if c.count >= maxComms {
		c.over++
		return 0
	}
	id := c.names.ID(name)
	c.count = max(c.count, int(id))
	return id
}

// paths interns paths of mappings, and build-ids. Id 0 is the empty one. It is
// safe for concurrent use: unwinding asks for names while the decoder makes them.
type paths struct {
	mu    sync.RWMutex
	ids   map[string]uint32
	list  []string
	bytes int
	over  int // strings beyond the limit
}

const maxPathBytes = 16 << 20

func (p *paths) id(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := p.ids[string(b)]; ok {
		return id
	}
	if p.bytes += len(b) + 64; p.bytes > maxPathBytes {
		p.over++
		return 0
	}
	if p.ids == nil {
		p.ids, p.list = map[string]uint32{}, []string{""}
	}
	id := uint32(len(p.list))
	p.list = append(p.list, string(b))
	p.ids[p.list[id]] = id
	return id
}

func (p *paths) name(id uint32) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if int(id) < len(p.list) {
		return p.list[id]
	}
	return ""
}

// chains interns call chains as recorded: raw addresses and context marks.
// Ids begin at 1. A distinct chain costs 8 bytes an entry and 24 bytes; all of
// them at most maxChainBytes, beyond which the chain of a sample is
// timeline.OtherStacks.
type chains struct {
	words [][]uint64  // the chains, in blocks of chainBlock
	list  []chainSpan // by id; that of 0 is empty
	table []uint32    // ids by hash, open addressing; a power of two
	user  []uint64    // bit by id: has user frames
	seed  uint64
	tmp   []uint64
	max   int // bytes
	bytes int
	over  int // samples whose chain is not told apart
}

// chainSpan is where a chain stands, and the upper half of its hash.
type chainSpan struct {
	block uint16
	at, n uint16
	sum   uint32
}

const (
	maxChainBytes = 48 << 20
	chainBlock    = 1 << 16 // words; a record has fewer
	chainCost     = 24      // bytes of a chain besides its words
)

func newChains() *chains {
	return &chains{list: make([]chainSpan, 1), user: []uint64{0}, table: make([]uint32, 1<<12), seed: maphash.String(maphash.MakeSeed(), "chains"), max: maxChainBytes}
}

// kernelOnly marks the id of a chain without user frames in an event: its
// frames mean the same in every process.
const kernelOnly = 1 << 31

// id interns a chain given as little-endian words, and returns its id, with
// kernelOnly where that holds. An empty chain is 0.
func (c *chains) id(b []byte) uint32 {
	w := c.tmp[:0]
	for ; len(b) >= 8; b = b[8:] {
		v := le.Uint64(b)
		if v == wire.ContextUserDeferred { // and a cookie: the user part comes later
			break
		}
		w = append(w, v)
	}
	c.tmp = w
	return c.intern(w)
}

// intern interns a chain. It keeps a copy.
func (c *chains) intern(w []uint64) uint32 {
	if len(w) == 0 {
		return 0
	}
	h := c.hash(w)
	sum := uint32(h >> 32)
	for i := uint32(h); ; i++ {
		slot := &c.table[i&uint32(len(c.table)-1)]
		id := *slot
		if id == 0 {
			return c.add(slot, w, sum)
		}
		if x := c.list[id]; x.sum == sum && equal(c.span(x), w) {
			return c.mark(id)
		}
	}
}

// hash mixes two words with one multiplication, as wyhash does.
func (c *chains) hash(w []uint64) uint64 {
	h := c.seed ^ uint64(len(w))
	for ; len(w) >= 2; w = w[2:] {
		hi, lo := bits.Mul64(h^w[0], w[1]^0x9e3779b97f4a7c15)
		h = hi ^ lo
	}
	if len(w) == 1 {
		h ^= w[0]
	}
	hi, lo := bits.Mul64(h^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return hi ^ lo
}

func equal(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (c *chains) mark(id uint32) uint32 {
	if c.user[id/64]&(1<<(id%64)) == 0 {
		return id | kernelOnly
	}
	return id
}

// span returns the words of a chain.
func (c *chains) span(x chainSpan) []uint64 {
	return c.words[x.block][x.at:][:x.n:x.n]
}

func (c *chains) add(slot *uint32, w []uint64, sum uint32) uint32 {
	cost := 8*len(w) + chainCost
	if c.bytes+cost > c.max || len(w) >= chainBlock {
		c.over++
		return timeline.OtherStacks
	}
	c.bytes += cost
	id := uint32(len(c.list))
	*slot = id
	last := len(c.words) - 1
	if last < 0 || len(c.words[last])+len(w) > cap(c.words[last]) {
		c.words = append(c.words, make([]uint64, 0, chainBlock))
		last++
	}
	c.list = append(c.list, chainSpan{uint16(last), uint16(len(c.words[last])), uint16(len(w)), sum})
	c.words[last] = append(c.words[last], w...)
	if int(id/64) >= len(c.user) {
		c.user = append(c.user, 0)
	}
	if hasUser(w) {
		c.user[id/64] |= 1 << (id % 64)
	}
	if 4*int(id) > 3*len(c.table) {
		c.grow()
	}
	return c.mark(id)
}

// grow doubles the table.
func (c *chains) grow() {
	old := c.table
	c.table = make([]uint32, 2*len(old))
	for id := uint32(1); int(id) < len(c.list); id++ {
		i := uint32(c.hash(c.span(c.list[id])))
		for c.table[i&uint32(len(c.table)-1)] != 0 {
			i++
		}
		c.table[i&uint32(len(c.table)-1)] = id
	}
}

// hasUser reports whether a chain has frames whose meaning depends on the process.
func hasUser(w []uint64) bool {
	for _, v := range w {
		if v == wire.ContextUser || v < 1<<63 {
			return true
		}
	}
	return false
}

// chain returns the entries of a chain.
func (c *chains) chain(id uint32) []uint64 {
	id &^= kernelOnly
	if id == 0 || int(id) >= len(c.list) {
		return nil
	}
	return c.span(c.list[id])
}

func (c *chains) len() int { return len(c.list) - 1 }

// drops counts records that could not be read, and keeps the first of each
// reason with its place.
type drops struct {
	total int
	list  []drop
}

type drop struct {
	off int64
	err error
}

// maxDrops is how many are kept.
const maxDrops = 20

func (d *drops) add(off int64, err error) {
	d.total++
	if len(d.list) < maxDrops {
		d.list = append(d.list, drop{off, err})
	}
}

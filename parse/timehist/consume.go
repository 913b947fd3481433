package timehist

import "bytes"

// ready reports whether rows can be taken without asking what came before.
func (r *reader) ready() bool {
	return !r.slow && r.cap.rows+r.cap.wakeups+r.cap.migrates >= 2 && r.cap.rows > 0 && !r.foreign && !r.cap.sum.seen
}

// consume takes the lines of a block that a scanner found.
func (r *reader) consume(buf []byte, recs []record) {
	ready := r.ready()
	for i := range recs {
		rec := &recs[i]
		if !ready || rec.kind == rowNone || !r.takeRecord(buf, rec) {
			r.line(buf[rec.off:rec.end], r.no+1)
			ready = r.ready()
		}
	}
}

// takeRecord adds a row in columns. It leaves rows whose task needs a second
// look.
func (r *reader) takeRecord(buf []byte, rec *record) bool {
	c := r.cap
	if rec.columns != r.columns && !r.change(rec.columns) {
		return false
	}
	name := c.tasks.cache.slot(rec.width, &rec.name, rec.hash)
	if name.task == nil {
		if name = r.newName(buf, rec); name == nil {
			return false
		}
	}
	if rec.kind == rowWakeup {
		return r.takeWakeup(buf, rec, *name)
	}
	r.no++
	c.tick(rec.at, 1e3)
	t := name.task
	t.comm = name.comm
	c.addSwitch(name.at, t, c.cpuAt(int(rec.cpu)), stint{rec.at, uint64(rec.wait) * 1e3, uint64(rec.delay) * 1e3, uint64(rec.run) * 1e3})
	if rec.end-rec.tail > 1 || t.sample >= 0 {
		r.addTail(name.at, t, int(rec.cpu), trimRight(buf[rec.tail:rec.end]))
	}
	return true
}

// change takes over other columns, if the layout has them.
func (r *reader) change(c columns) bool {
	if !r.layout.fits(c) {
		return false
	}
	r.columns = c
	return true
}

// newName finds the task of a name that is not in the cache. It leaves names
// that need a second look.
func (r *reader) newName(buf []byte, rec *record) *cachedName {
	p := buf[int(rec.off)+rec.columns.task():][:rec.width]
	if !cacheable(p) {
		return nil
	}
	ts := r.cap.tasks
	at, comm := ts.find(p, r.no+1)
	return ts.cache.add(cachedName{words: rec.name, hash: rec.hash, width: rec.width, task: ts.list[at], at: at, comm: comm})
}

// cacheable reports whether a name stands for one task whatever comes, and
// holds nothing that the tolerant reader could take for another part of a row.
func cacheable(name []byte) bool {
	n := parseName(name)
	return !n.plain && (n.pid != 0 || n.idle) &&
		!hasDuration(name) && !bytes.Contains(name, awakenedMark) && !bytes.Contains(name, migratedMark)
}

func hasDuration(p []byte) bool {
	if bytes.IndexByte(p, '.') < 0 {
		return false
	}
	for w, rest := token(p); len(w) > 0; w, rest = token(rest) {
		if _, ok := msec(w); ok {
			return true
		}
	}
	return false
}

// takeWakeup adds an awakened: row.
func (r *reader) takeWakeup(buf []byte, rec *record, waker cachedName) bool {
	other := trim(buf[rec.tail:rec.end])
	if len(other) == 0 || hasDuration(other) {
		return false
	}
	c := r.cap
	r.no++
	c.tick(rec.at, 1e3)
	at, comm := r.wakee(other, rec.width)
	c.tasks.nameOnce(at, comm)
	c.addWakeup(waker.at, at, rec.at)
	if waker.task.rows == 0 {
		waker.task.comm = waker.comm
	}
	return true
}

// wakee finds the task that was awakened, through the cache of the task column
// when its name fits there.
func (r *reader) wakee(name []byte, width uint8) (at, comm int32) {
	ts := r.cap.tasks
	if len(name) > int(width) {
		return ts.find(name, r.no)
	}
	var column [maxNameWidth]byte
	for i := copy(column[:], name); i < len(column); i++ {
		column[i] = ' '
	}
	words := loadName(column[:width])
	hash := words.hash()
	if n := ts.cache.slot(width, &words, hash); n.task != nil {
		return n.at, n.comm
	}
	at, comm = ts.find(name, r.no)
	if cacheable(name) {
		ts.cache.add(cachedName{words: words, hash: hash, width: width, task: ts.list[at], at: at, comm: comm})
	}
	return at, comm
}

// addTail takes what stands behind the run time.
func (r *reader) addTail(at int32, t *task, cpu int, text []byte) {
	k := r.tail(text)
	switch {
	case at == idleTask:
	case k.chain == "":
		t.sample = -1
	case r.open:
		r.addChain(at, t, []byte(k.chain))
	default:
		if k.stack == noStack {
			k.stack = r.cap.chains.stack([]byte(k.chain))
		}
		r.addStack(at, t, k.stack)
	}
	if k.hasNext {
		r.cap.cpuAt(cpu).next = k.next
	}
}

// tailInfo is what stands behind a run time. Few different texts do.
type tailInfo struct {
	chain   string
	stack   int32 // of chain; noStack: not asked for yet
	next    int32
	hasNext bool
}

// noStack is no result of chains.stack.
const noStack = -2

// maxTailBytes bounds the tails that are kept.
const maxTailBytes = 4 << 20

// tail parses a tail, or remembers it.
func (r *reader) tail(text []byte) *tailInfo {
	c := r.cap
	if k, ok := c.tails[string(text)]; ok {
		return k
	}
	r.row.next, r.row.chain = nil, nil
	r.layout.parseTail(unescape(text), &r.row)
	k := &tailInfo{chain: string(r.row.chain), stack: noStack}
	if len(r.row.next) > 0 {
		k.next, k.hasNext = int32(parseName(r.row.next).tid), true
	}
	if c.tailBytes += len(text) + 100; c.tailBytes > maxTailBytes || c.tails == nil {
		c.tails, c.tailBytes = map[string]*tailInfo{}, len(text)
	}
	c.tails[string(text)] = k
	return k
}

package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// ThunderingHerd: one event wakes many threads, and there is work for one.
var ThunderingHerd = &analyze.Rule{
	ID:    "thundering-herd",
	Doc:   "one event wakes many waiting threads, and few of them find work",
	Run:   thunderingHerd,
	Rival: herdRival,
}

// herd is what the facts show of threads that are woken together.
type herd struct {
	share   float64 // of the subject's wakeups
	size    float64 // threads woken at one go, on average
	threads int
	ws      []waiter
	w       wait
	g       ground
}

func thunderingHerd(f *analyze.Facts) []analyze.Finding {
	h := herdOf(f)
	if h == nil {
		return nil
	}
	h.weigh(f)
	fd := analyze.Finding{ID: "thundering-herd", Severity: severity(f), Share: some(max(h.w.share, h.share))}
	h.g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	fd.Summary = text("%d threads of %s are woken together, %s at a time, run for %s and wait again: there is no work for most of them.", h.threads, subjectIn(f),
		quantity.Whole(h.size), quantity.Time(h.ran()))
	fd.Claim = h.claim(f)
	fd.Shown = []analyze.Text{fd.Claim}
	if h.w.top != nil {
		fd.Shown = append(fd.Shown, blocks(f, &h.w))
	}
	fd.Evidence = append(rateEvidence(h.ws), reasonEvidence(h.w.reasons)...)
	fd.Advice = herdAdvice(h)
	fd.Next = settle(f, nil)
	return settled(f, fd)
}

// herdOf finds the threads that are mostly woken in company, by one waker or
// interrupt between two switches of its CPU. Threads of a parallel region are
// woken together too, and work; those of a barrier have a frame that says so.
func herdOf(f *analyze.Facts) *herd {
	h := &herd{}
	bursts, sizes := 0.0, 0.0
	for i := range f.Threads {
		t := &f.Threads[i]
		if t.Bursts < fewBursts || t.Kernel || inD(t) || t.Run == nil || quantile(t.Run, 0.5) > shortStintNS {
			continue
		}
		h.threads++
		bursts, sizes = bursts+t.Bursts, sizes+t.BurstSize
		h.ws = append(h.ws, waiter{t, t.SwitchesPerS.V, 1})
	}
	if f.Wake.Total < fewGaps || bursts == 0 {
		return nil
	}
	h.share, h.size = bursts/float64(f.Wake.Total), sizes/bursts
	if h.share < partShare || float64(h.threads) < h.size/2 || f.Subject.Kind == analyze.SubjectMachine || waitsFor(f.Blocking, ofID("barrier")).share >= traceShare {
		return nil
	}
	h.size = min(h.size, float64(h.threads)) // others may be woken with them
	return h
}

// fewBursts: a thread that is woken in company less often is so by chance. Practice.
const fewBursts = 3

// weigh looks for what the woken threads do: at a lock they wait for each other,
// at a descriptor they find that another was first.
func (h *herd) weigh(f *analyze.Facts) {
	h.w = waitsFor(f.Blocking, func(r signature.Reason) bool {
		return maybe(r) || byOwner(r) || r.Class == signature.ClassNetwork
	})
	woken := fmt.Sprintf("%s of the wakeups are of %d threads that are woken %s at a time", percent(h.share), h.threads, quantity.Whole(h.size))
	h.g.fit("they run for " + quantity.Time(h.ran()) + " each, and wait again")
	locks := waitsFor(f.Blocking, byOwner).share
	events := waitsFor(f.Blocking, ofClass(signature.ClassEvent)).share + waitsFor(f.Blocking, ofID("net-accept")).share
	switch {
	case switchWaits(f) && (locks >= partShare || f.Futex.Near >= partShare):
		h.g.decide(threads, woken+", and they wait for each other's lock then")
	case switchWaits(f) && events >= mainShare && h.size >= 2*minHerd:
		h.g.decide(threads, woken+", all from a wait for events")
	default:
		h.g.fit(woken)
		h.g.atMost(analyze.ConfidenceLow, "a fit: "+woken+"; a parallel loop of very short pieces looks alike")
	}
	h.g.compare(f)
}

// minHerd: fewer threads at a time are no herd. Practice.
const minHerd = 4

// ran is the median stint of the threads.
func (h *herd) ran() float64 {
	return quantile(merge(h.ws, func(t *analyze.ThreadFact) *hist { return t.Run }), 0.5)
}

func (h *herd) claim(f *analyze.Facts) analyze.Text {
	return text("%s of the wakeups come in bursts of %s threads, woken by one waker between two switches of its CPU; half of the stints that follow last less than %s.",
		percent(h.share), quantity.Whole(h.size), quantity.Time(h.ran()))
}

func herdAdvice(h *herd) []analyze.Advice {
	effect := []analyze.Effect{{Label: "wakeups", Value: text("%s per event → one", quantity.Whole(h.size))}}
	return []analyze.Advice{
		{Do: text("Wake one thread for one piece of work: pthread_cond_signal instead of broadcast, notify_one, notify instead of notifyAll; signal after the mutex is released."),
			Effects: effect, Price: text("every waiter must be able to serve every piece of work")},
		{Do: text("For descriptors that several threads or processes wait on: EPOLLEXCLUSIVE (4.5 and later), SO_REUSEPORT with a socket each, or accept in one thread."),
			Effects: effect, Price: text("the load may spread less evenly")},
	}
}

func herdRival(f *analyze.Facts) (analyze.Rival, bool) {
	if herdOf(f) != nil || f.Wake.Total < fewGaps {
		return analyze.Rival{}, false
	}
	n := 0.0
	for i := range f.Threads {
		n += f.Threads[i].Bursts
	}
	if n > 0 {
		return rejected(f, "%s of the wakeups come in bursts of %d or more", percent(n/float64(f.Wake.Total)), minHerd)
	}
	return analyze.Rival{}, false
}

package analyze

import "ctxan/parse/evidence"

// Others sums rows of the thread table into one, for the threads that a report
// has no room for: counts, rates, shares and times are added, histograms
// merged. A field is absent when no row has it. The name is empty; the trigger
// is the one that most of their switches wait for, as far as rows tell.
func Others(rows []ThreadRow) ThreadRow {
	var o ThreadRow
	byTrigger := map[string]float64{}
	for i := range rows {
		r := &rows[i]
		addOpt(&o.VoluntaryPerS, r.VoluntaryPerS)
		addOpt(&o.InvoluntaryPerS, r.InvoluntaryPerS)
		addOpt(&o.SwitchesPerS, r.SwitchesPerS)
		addOpt(&o.Voluntary, r.Voluntary)
		addOpt(&o.Involuntary, r.Involuntary)
		addOpt(&o.Switches, r.Switches)
		addOpt(&o.Share, r.Share)
		addOpt(&o.RunNS, r.RunNS)
		addOpt(&o.DelayNS, r.DelayNS)
		addOpt(&o.OffNS, r.OffNS)
		addOpt(&o.Migrations, r.Migrations)
		o.RunHist = merged(o.RunHist, r.RunHist)
		o.DelayHist = merged(o.DelayHist, r.DelayHist)
		o.OffHist = merged(o.OffHist, r.OffHist)
		if r.Trigger != "" {
			byTrigger[r.Trigger] += r.Share.V * r.TriggerShare.Or(1)
		}
	}
	o.Trigger = most(byTrigger)
	o.Run, o.Delay, o.OffCPU = QuantilesOf(o.RunHist), QuantilesOf(o.DelayHist), QuantilesOf(o.OffHist)
	return o
}

// merged adds h to sum, which it makes: the histogram of a row is not changed.
func merged(sum, h *evidence.Histogram) *evidence.Histogram {
	if h == nil || h.N == 0 {
		return sum
	}
	if sum == nil {
		sum = new(evidence.Histogram)
	}
	sum.Merge(h)
	return sum
}

package analyze

import (
	"testing"

	"ctxan/parse/evidence"
)

func TestOthers(t *testing.T) {
	hist := func(vs ...uint64) *evidence.Histogram {
		h := new(evidence.Histogram)
		for _, v := range vs {
			h.Add(v)
		}
		return h
	}
	rows := []ThreadRow{
		{Name: "a", Voluntary: evidence.Some(uint64(3)), Share: evidence.Some(0.2), Trigger: "futex wait", TriggerShare: evidence.Some(0.5), RunHist: hist(10, 20)},
		{Name: "b", Voluntary: evidence.Some(uint64(4)), VoluntaryPerS: evidence.Some(1.5), Share: evidence.Some(0.1), Trigger: "timer sleep", RunHist: hist(3000)},
		{Name: "c", Share: evidence.Some(0.05), Trigger: "futex wait"},
	}
	o := Others(rows)
	if o.Voluntary != evidence.Some(uint64(7)) || o.VoluntaryPerS != evidence.Some(1.5) || o.Involuntary.OK || o.Migrations.OK {
		t.Errorf("sums: %+v", o)
	}
	if o.Share.V < 0.349 || o.Share.V > 0.351 {
		t.Errorf("share %v", o.Share)
	}
	if o.Trigger != "futex wait" { // 0.2 x 0.5 + 0.05 against 0.1
		t.Errorf("trigger %q", o.Trigger)
	}
	if o.RunHist.N != 3 || o.RunHist.Max != 3000 || o.Run.N != 3 || o.Run.Max != evidence.Some(3000.0) || o.Delay.P50.OK {
		t.Errorf("run %+v, delay %+v", o.Run, o.Delay)
	}
	if rows[0].RunHist.N != 2 {
		t.Error("the histogram of a row was changed")
	}
	if o := Others(nil); o.Share.OK || o.RunHist != nil || o.Trigger != "" {
		t.Errorf("of nothing: %+v", o)
	}
}

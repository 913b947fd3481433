package mask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ctxan/analyze"
	"ctxan/parse/evidence"
)

// secrets are what must not come out, wherever it stood.
var secrets = []string{"db-17.corp.example", "db-17", "alice", "acme", "s3cr3t-token", "10.1.2.3", "fd00::17", "--customer=acme-gmbh", "acme-gmbh", "bob@corp.example"}

func captured() *evidence.Set {
	set := &evidence.Set{}
	b := set.NewBuilder("/home/alice/acme/before/sched.data", "perf.data")
	s := b.Source()
	s.Host = evidence.Host{Name: "db-17.corp.example", Release: "6.1.0-18-amd64"}
	s.Command = "perf record -a -g -o /home/alice/out.data -- /srv/acme/bin/app --customer=acme-gmbh --verbose s3cr3t-token 8080"
	s.Target = evidence.Target{Kind: evidence.TargetCommand, Name: "/srv/acme/bin/app --customer=acme-gmbh --verbose s3cr3t-token 8080"}
	b.Warn("the symbols of /home/alice/acme/lib/libx.so are missing on db-17")
	b.Drop(3, fmt.Errorf("peer 10.1.2.3:443, [fd00::17] of bob@corp.example"))
	b.Thread(evidence.TaskStats{Task: evidence.Task{PID: 1, TID: 1, Comm: "/srv/acme/bin/app --customer=acme-gmbh"}})
	b.Thread(evidence.TaskStats{Task: evidence.Task{PID: 1, TID: 2, Comm: "Web Content"}})
	b.Stacks(evidence.StackTable{Event: "sched:sched_switch", Frames: []evidence.Frame{{Symbol: "std::bad_alloc::f", Module: "/srv/acme/bin/app", File: "src/acme/netio.cpp", Line: 37},
		{Symbol: "clock_nanosleep", Module: "/usr/lib/x86_64-linux-gnu/libc.so.6"}}, Stacks: [][]int32{{0, 1}}})
	return set
}

func concluded() *analyze.Result {
	c := &analyze.Case{Subject: analyze.Subject{Kind: analyze.SubjectCommand, Command: "/srv/acme/bin/app --customer=acme-gmbh --verbose s3cr3t-token 8080", Host: evidence.Host{Name: "db-17"}}}
	c.Verdict = analyze.Verdict{Cause: "short-sleep-polling", Summary: analyze.Textf("Threads of %s on %s poll, 75,194/s.", analyze.Code("app"), analyze.Code("db-17")),
		Settle: []analyze.Command{{Line: "perf record -g -o sched.data -- sleep 0.5"}}}
	c.Checks = []analyze.Check{{ID: "warning", Text: analyze.Textf("before/sched.data: %s", "user alice at db-17.corp.example")}}
	return &analyze.Result{Cases: []*analyze.Case{c}, Sources: []analyze.SourceInfo{{Name: "before/sched.data", Path: "/home/alice/acme/before/sched.data", Format: "perf.data"}}}
}

// dump writes all that a value holds.
func dump(t *testing.T, v any) string {
	t.Helper()
	p, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

func TestNothingSecretIsLeft(t *testing.T) {
	set, r := captured(), concluded()
	m := New(set)
	m.Apply(set)
	m.Apply(r)
	all := dump(t, set) + dump(t, r)
	for _, s := range secrets {
		if strings.Contains(all, s) {
			t.Errorf("%q is left:\n%s", s, all)
		}
	}
	for _, s := range []string{"std::bad_alloc::f", "/usr/lib/x86_64-linux-gnu/libc.so.6", "netio.cpp", "libx.so", "6.1.0-18-amd64", "Web Content", "short-sleep-polling", "75,194/s",
		"perf record -g -o sched.data -- sleep 0.5", "--verbose", "--customer=arg-", "8080", "sched:sched_switch"} {
		if !strings.Contains(all, s) {
			t.Errorf("%q is gone:\n%s", s, all)
		}
	}
}

// TestSameNameSameWord: a name is replaced alike wherever it stands.
func TestSameNameSameWord(t *testing.T) {
	set, r := captured(), concluded()
	m := New(set)
	m.Apply(set)
	m.Apply(r)
	host := set.Sources[0].Host.Name
	if host != "host-1" || r.Cases[0].Subject.Host.Name != host || !strings.Contains(r.Cases[0].Verdict.Summary.String(), host) {
		t.Errorf("the host is %q, %q, %q", host, r.Cases[0].Subject.Host.Name, r.Cases[0].Verdict.Summary)
	}
	if got := r.Sources[0].Path; got != set.Sources[0].Name || !strings.HasPrefix(got, "/home/user-") || !strings.HasSuffix(got, r.Sources[0].Name) {
		t.Errorf("the file is %q, %q, and %q in short", got, set.Sources[0].Name, r.Sources[0].Name)
	}
	if set.Sources[0].Target.Name != r.Cases[0].Subject.Command || !strings.HasSuffix(set.Sources[0].Command, r.Cases[0].Subject.Command) {
		t.Errorf("the command is %q, %q, %q", set.Sources[0].Target.Name, r.Cases[0].Subject.Command, set.Sources[0].Command)
	}
}

func TestText(t *testing.T) {
	m := New(captured())
	for s, want := range map[string]string{
		"75,194/s":                        "75,194/s",
		"T / E":                           "T / E",
		"kworker/0:1-events":              "kworker/0:1-events",
		"12:00:01 to 12:00:05":            "12:00:01 to 12:00:05",
		"perf 6.1.187":                    "perf 6.1.187",
		"ns::dead::beef(int)":             "ns::dead::beef(int)",
		"at 127.0.0.1 and ::1":            "at 127.0.0.1 and ::1",
		"192.168.0.7, 192.168.0.7.":       "ip-1, ip-1.",
		"/usr/bin/python3":                "/usr/bin/python3",
		"open /etc/passwd":                "open /etc/passwd",
		"/proc/self/fd/3":                 "/proc/self/fd/3",
		"on host db-17, db-17x and db-17": "on host host-1, db-17x and host-1",
		"":                                "",
	} {
		if got := m.Text(s); got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range append(secrets, "/a/b/c", "::", "a@b.c", "1.2.3.4.5", "\xff/\x00/") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := New(captured())
		if got := m.Text(s); len(got) > 20*len(s)+64 {
			t.Errorf("%d bytes of %d", len(got), len(s))
		}
	})
}

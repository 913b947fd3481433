package pidstat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wtHeader = "12:13:41      UID      TGID       TID   cswch/s nvcswch/s  Command\n"

// rows prints all rows of a text, one a line, "capture: pid/tid comm v/iv flags".
func rows(t *testing.T, raw string) string {
	t.Helper()
	var w strings.Builder
	for _, r := range read(t, raw).Threads {
		flags := ""
		if r.Process {
			flags += " process"
		}
		if r.Average {
			flags += " average"
		}
		fmt.Fprintf(&w, "%d: %d/%d %s %g/%g%s\n", r.Pos.Source, r.Task.PID, r.Task.TID, r.Task.Comm, r.VoluntaryPerS.V, r.InvoluntaryPerS.V, flags)
	}
	return w.String()
}

func TestRows(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"user names and a user without a name", `12:00:00 AM     USER       PID   cswch/s nvcswch/s  Command
12:00:01 AM      www      7      4.00      1.00  nginx
12:00:01 AM     1001      8      5.00      2.00  nginx
`, "0: 7/7 nginx 4/1\n0: 8/8 nginx 5/2\n"},
		{"user names under a header without a time", `# Time     USER       PID   cswch/s nvcswch/s  Command
12:00:01 PM      www      7      4      1  nginx
12:00:01 PM     1001      8      5      2  nginx
12:00:01      www      7      4      1  nginx
`, "0: 7/7 nginx 4/1\n0: 8/8 nginx 5/2\n0: 7/7 nginx 4/1\n"},
		{"columns in another order", `# Time   UID       PID   cswch/s nvcswch/s threads prio policy  Command
1646859221     0         6   1.49      0.50  4 0 NORMAL  a  b
`, "0: 6/6 a  b 1.49/0.5\n"},
		{"names like a leader's", wtHeader + `12:13:42        0        90        91      0.95      0.00  ((sd-pam))__(sd-pam)
12:13:42        0         -        92      0.95      0.00  |__a)__b
12:13:42        0        93         -      0.95      0.00  |__not a thread
`, "0: 90/91 (sd-pam) 0.95/0\n0: 90/92 a)__b 0.95/0\n0: 93/93 |__not a thread 0.95/0 process\n"},
		{"columns pushed together by a paste", "12:13:41 UID TGID TID cswch/s nvcswch/s Command\n12:13:42 0 - 79 0.95 0.00 |__x\n",
			"0: 0/79 x 0.95/0\n"},
		{"sorted rows have other rows above them", wtHeader + `12:13:42        0         -        12      9.00      0.00  |__b
12:13:42        0        10         -      8.00      0.00  a
12:13:42        0         -        20      7.00      0.00  |__c
12:13:42        0         -        10      7.00      0.00  |__a
12:13:42        0        20         -      6.00      0.00  c
12:13:42        0         -        30      7.00      0.00  |__d
`, "0: 0/12 b 9/0\n0: 10/10 a 8/0 process\n0: 20/20 c 7/0\n0: 10/10 a 7/0\n0: 20/20 c 6/0 process\n0: 0/30 d 7/0\n"},
		{"grep leaves the processes out", "$ pidstat -wt 1 1 | grep b\n" + wtHeader + `12:13:42        0        10         -      8.00      0.00  a
12:13:42        0         -        12      9.00      0.00  |__b
12:13:42        0         -        10      8.00      0.00  |__a
`, "0: 10/10 a 8/0 process\n0: 0/12 b 9/0\n0: 10/10 a 8/0\n"},
		{"the process of a tail is told further down", `12:13:42        0         -        12      9.00      0.00  |__b

` + strings.ReplaceAll(wtHeader, "12:13:41", "Average:") + `Average:        0        10         -      8.00      0.00  a
Average:        0         -        12      9.00      0.00  |__b
`, "0: 10/12 b 9/0\n0: 10/10 a 8/0 process average\n0: 10/12 b 9/0 average\n"},
		{"two captures one after the other", "Linux 5.4.0 (a) \t01/02/20 \t_x86_64_\t(8 CPU)\n\n" + wtHeader + `12:13:42        0         -        12      9.00      0.00  |__b
Average:        0         -        12      9.00      0.00  |__b
Linux 5.4.0 (b) 	01/03/20 	_x86_64_	(8 CPU)

` + wtHeader + `12:13:42        0         -        12      5.00      0.00  |__b
`, "0: 0/12 b 9/0\n0: 0/12 b 9/0 average\n1: 0/12 b 5/0\n"},
		{"two captures without banners", wtHeader + `12:13:42        0         -        12      9.00      0.00  |__b
Average:        0         -        12      9.00      0.00  |__b

` + wtHeader + `12:13:42        0         -        12      5.00      0.00  |__b
`, "0: 0/12 b 9/0\n0: 0/12 b 9/0 average\n1: 0/12 b 5/0\n"},
		{"other tools' tables after it", wtHeader + `12:13:42        0         -        12      9.00      0.00  |__b

12:13:42     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
12:13:43     all    0.00    0.00    0.50    0.00    0.00    0.00    0.00    0.00    0.00   99.50
12:13:43       0       1    0.00    0.50    0.00    0.00    0.00    0.00    0.00    0.00   99.50
`, "0: 0/12 b 9/0\n"},
		{"vmstat rows before it", ` r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 2  0      0 595504   5724 190884    0    0   295   297    0    0 14  6 75  0  4
11:07:56 AM       PID   cswch/s nvcswch/s  Command
11:07:56 AM     32316      4.00      0.00  php-fpm
`, "0: 32316/32316 php-fpm 4/0\n"},
		{"rows of another activity before the header are not ours", `08:06:34        0     10488   30.00  100.00    0.00    0.00  100.00     0  sysbench

08:06:34      UID       PID   cswch/s nvcswch/s  Command
08:06:35        0         8     11.00      0.00  rcu_sched
`, "0: 8/8 rcu_sched 11/0\n"},
		{"rows without a header behind the command", `$ sudo pidstat -w -p 13054 1 | head
11:13:55 AM      1000     13054    351.49      9.12  vmware-vmx
`, "0: 13054/13054 vmware-vmx 351.49/9.12\n"},
		{"rows without a header behind a command with more tables", `$ pidstat -w -u -p 13054 1
11:13:55 AM      1000     13054    351.49      9.12  vmware-vmx
`, ""},
		{"whole numbers without a header could be stacks or threads", `12:13:42        0         -        12         9         0  |__b
`, ""},
		{"ids cut off by awk", `         -     10552  18911.00 103740.00  |__sysbench
`, "0: 0/10552 sysbench 18911/103740\n"},
		{"exported with semicolons, in quotes", `"Time";"UID";"PID";"cswch/s";"nvcswch/s";"Command"
"12:00:01";"0";"15";"14,85";"0,00";"my prog"
`, "0: 15/15 my prog 14.85/0\n"},
		{"exported with commas and decimal commas", `Time,UID,PID,cswch/s,nvcswch/s,Command
12:00:01,0,15,14,85,0,00,x
12:00:01,0,16,14.85,0.00,x
`, "0: 16/16 x 14.85/0\n"},
		{"a Markdown table", `| Time | UID | TGID | TID | cswch/s | nvcswch/s | Command |
|---|---|---|---|---|---|---|
| 12:00:01 PM | 0 | - | 15 | 14.85 | 1,234.50 | x |
`, "0: 0/15 x 14.85/1234.5\n"},
		{"^C in front of the average", wtHeader + `12:13:42        0         -        12      9.00      0.00  |__b
^CAverage:        0         -        12      9.00      0.00  |__b
`, "0: 0/12 b 9/0\n0: 0/12 b 9/0 average\n"},
		{"an average in a language not known", wtHeader + "Mittel ist:    0         -        12      9.00      0.00  |__b\n", "0: 0/12 b 9/0 average\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, rows(t, c.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSource(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string // a part of what show prints
	}{
		{"midnight", "11:59:59 PM   UID       PID   cswch/s nvcswch/s  Command\n12:00:01 AM 0 7 1.00 0.00 a\n12:00:03 AM 0 7 1.00 0.00 a\n", "duration {4 true}"},
		{"times that go back tell nothing", wtHeader + "12:13:42 0 - 7 1.00 0.00 |__a\n12:13:40 0 - 7 1.00 0.00 |__a\n", "duration {0 false}"},
		{"one interval of -h tells nothing", "# Time UID PID cswch/s nvcswch/s Command\n12:13:42 0 7 1.00 0.00 a\n", "duration {0 false}"},
		{"a broken banner", " Linux 2.6.32-642.el6.x86_64 (host1.example.com)    \n    02/15/2017  _x86_64_ (12 CPU)\n\n" + wtHeader,
			`host "host1.example.com" release "2.6.32-642.el6.x86_64" arch "x86_64" cpus {12 true}; date "02/15/2017"`},
		{"an old banner", "Linux 2.6.18-8.el5 (h) \t01/02/09\n\n" + wtHeader, `host "h" release "2.6.18-8.el5" arch "" cpus {0 false}; date "01/02/09"`},
		{"processes", "[root@h ~]# S_TIME_FORMAT=ISO /usr/bin/pidstat -wt -p 12,34 1 5\n" + wtHeader, `command "pidstat -wt -p 12,34 1 5" target process [12 34]`},
		{"all tasks", "me@h:~$ pidstat -w 1\n" + wtHeader, `command "pidstat -w 1" target system []`},
		{"a command", "$ pidstat -w -e make -j8\n" + wtHeader, `target command [] "make -j8"`},
		{"without an interval", "$ pidstat -wt\n" + wtHeader + "12:13:42 0 - 7 1.00 0.00 |__a\n", "says: the rates are means since boot"},
		{"cut in a row", wtHeader + "12:13:42 0 - 7 1.00 0.00 |__a\n12:13:42 0 - 8 1.0", "truncated true"},
		{"cut in a row, counted", wtHeader + "12:13:42 0 - 8 1.0", "dropped line 2: row is cut short"},
		{"a counter that ran backwards", wtHeader + "12:13:42 0 - 8 184467440737095.16 0.00 |__a\n", "dropped line 2: not a rate: 184467440737095.16/s is more than a task can do"},
		{"not a number", wtHeader + "12:13:42 0 - 8 1.0.0 0.00 |__a\n", `dropped line 2: not a rate: "1.0.0"`},
		{"no rows", wtHeader, "says: pidstat table without rows"},
		{"no -w", "12:06:39 PM   UID       PID    %usr %system  %guest    %CPU   CPU  Command\n12:06:40 PM     0         1    0.00    0.05    0.00    0.05     0  systemd\n",
			"says: pidstat without -w: no switch rates in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := show(read(t, c.text)); !strings.Contains(got, c.want) {
				t.Errorf("no %q in:\n%s", c.want, got)
			}
		})
	}
}

func TestDetectNot(t *testing.T) {
	for _, s := range []string{
		"",
		"The pidstat application sorts its report by the PID number; -w shows cswch/s and nvcswch/s for a Command.\n",
		"12:00:01     proc/s   cswch/s\n12:00:02       0.00  23468.00\n",
		"  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n    1 root      20   0  168000  11000   8000 S   0.0   0.1   0:01.00 systemd\n",
		"  PID TTY          TIME CMD\n 1234 pts/0    00:00:00 bash\n",
		"bash(1)-+-a(2)\n        |__b(3)\n",
		"12:00:01        0         -        12         9         0  |__b\n",
		"2026-11-30 12:00:01 INFO 17 3.50 4.50 done\n",
		"11:13:55 AM     13054    351.49      9.12  vmware-vmx\n",
	} {
		if Detect(text(t, s)) {
			t.Errorf("detected in %q", s)
		}
	}
}

// TestFolding reads more interval rows than are kept.
func TestFolding(t *testing.T) {
	var w strings.Builder
	const tasks, samples = 1000, MaxRows/1000 + 20
	w.WriteString("# Time UID PID cswch/s nvcswch/s Command\n")
	for s := range samples {
		for pid := 1; pid <= tasks; pid++ {
			if pid == 7 && s%2 == 1 {
				continue // did not switch
			}
			fmt.Fprintf(&w, "%d 0 %d %d.50 %d c%d\n", 1700000000+s, pid, pid, s, pid)
		}
	}
	set := read(t, w.String())
	if len(set.Threads) != tasks {
		t.Fatalf("%d rows, want %d", len(set.Threads), tasks)
	}
	for _, r := range set.Threads {
		pid := r.Task.PID
		v, iv := float64(pid)+0.5, float64(samples-1)/2
		if pid == 7 {
			v, iv = v/2, float64(samples-2)/4
		}
		if r.VoluntaryPerS.V != v || r.InvoluntaryPerS.V != iv || r.Average || r.Task.Comm != fmt.Sprintf("c%d", pid) || r.Pos.Line != pid+1 {
			t.Errorf("%s, want %g / %g", showRow(r), v, iv)
		}
	}
	if got := show(set); !strings.Contains(got, fmt.Sprintf("%d interval rows folded into one mean for each task", tasks*samples-samples/2)) {
		t.Errorf("no note: %.400s", got)
	}
}

func TestParseRate(t *testing.T) {
	for in, want := range map[string]float64{
		"0": 0, "0.00": 0, "473": 473, "67957,84": 67957.84, "103740.00": 103740, "12,345": 12345, "1.234.567": 1234567,
		"1,234.50": 1234.5, "1.234,5": 1234.5, "0.1": 0.1,
	} {
		if got, err := parseRate(in); err != nil || got != want {
			t.Errorf("parseRate(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-", "-1.00", "1.", ".5", "1.2.3", "1.2345", "1.234,567", "1e5", "NaN", "5K", "99999999999999999999999"} {
		if got, err := parseRate(in); err == nil {
			t.Errorf("parseRate(%q) = %v, want an error", in, got)
		}
	}
}

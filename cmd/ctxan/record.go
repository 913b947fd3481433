package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ctxan/cmd/internal/collect"
	"ctxan/report"
)

// exitNotMeasured is the status of record when it could not measure.
const exitNotMeasured = 4

// recordFlags are the flags of record.
type recordFlags struct {
	pids, tids string
	duration   string
	dir        string
	report     string
	maxSize    string
	opt        collect.Options
	forward    bool
}

const recordHelp = `record measures context switches live: counters, threads and call stacks of a
process, of threads, of a cgroup, of the machine, or of a command that it
starts. It keeps the captures in a new folder, in the formats of perf and
/proc, and prints the report that "ctxan FOLDER" prints.

What may be measured depends on your rights. What is missing is said on
standard error, a line each, with the command that grants it; what is left is
measured. Ctrl-C ends the measurement early, with a whole capture and the
report; a second Ctrl-C quits.

Exit status: as of ctxan, and 4 when nothing could be measured, or when the
counters saw switches that could not be recorded.`

func newRecord(f *flags, std stdio) *cobra.Command {
	r := &recordFlags{}
	cmd := &cobra.Command{
		Use:   "record [flags] -p PID[,PID] | -t TID[,TID] | -a | --cgroup PATH | -- COMMAND [ARG...]",
		Short: "Measure live, keep the captures, print the report",
		Long:  recordHelp,
		Example: `  sudo ctxan record -p 4711 -d 5s            a process and what it starts
  sudo ctxan record -p 4711 --wakeups        also who wakes it, and how long it then waits
  sudo ctxan record -a -d 2s -o captures/    the machine, kept in captures/
  ctxan record -- make -j8                   a command, from its start to its end`,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(_ *cobra.Command, args []string) error { return recordMain(f, r, args, std) },
	}
	r.add(cmd)
	f.addVerdict(cmd.Flags())
	return cmd
}

func (r *recordFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&r.pids, "pid", "p", "", "processes to measure, with their threads and children")
	fs.StringVarP(&r.tids, "tid", "t", "", "threads to measure")
	fs.BoolVarP(&r.opt.All, "all", "a", false, "measure all tasks of the machine, with their wakeups")
	fs.StringVar(&r.opt.Cgroup, "cgroup", "", "cgroup to measure: its folder, or its name below /sys/fs/cgroup")
	fs.StringVarP(&r.duration, "duration", "d", "", "how long: 5s, 500ms or a number of seconds (default 5s; of a command: until it ends)")
	fs.StringVarP(&r.dir, "output", "o", "", "new folder for the captures (default ctxan-NAME-TIME)")
	fs.StringVar(&r.report, "report", "", "write the report to this file instead of standard output")
	fs.BoolVar(&r.opt.NoStacks, "no-stacks", false, "record no call chains: it costs the target less")
	fs.BoolVar(&r.opt.Wakeups, "wakeups", false, "also record who wakes the target (with -a they always are)")
	fs.BoolVar(&r.opt.Timers, "timers", false, "also record the timers that the target starts: the sleeps it asks for")
	fs.StringVar(&r.maxSize, "max-size", "", "end when perf.data has this size: 500M, 2G")
	fs.Float64Var(&r.opt.OverheadLimit, "overhead-limit", 0, "percent of the target's CPU time that tracing may cost: above it, one switch in N is recorded and scaled up")
	fs.BoolVar(&r.forward, "forward-status", false, "wait for the command and exit with its status, unless that is 0")
}

// options turns the flags into what collect takes.
func (r *recordFlags) options(args []string) (collect.Options, error) {
	opt := r.opt
	opt.Command, opt.Dir, opt.Version = args, r.dir, version()
	var err error
	for _, l := range []struct {
		flag, text string
		to         *[]int
	}{{"-p", r.pids, &opt.PIDs}, {"-t", r.tids, &opt.TIDs}} {
		if *l.to, err = idList(l.text); err != nil {
			return opt, &usageError{fmt.Sprintf("%s %s: %v", l.flag, l.text, err), "write " + l.flag + " 4711 or " + l.flag + " 4711,4712"}
		}
	}
	if err := r.checkTarget(&opt); err != nil {
		return opt, err
	}
	if opt.Duration, err = duration(r.duration); err != nil {
		return opt, &usageError{fmt.Sprintf("-d %s: %v", r.duration, err), "write -d 5s or -d 500ms"}
	}
	if opt.Duration == 0 && len(opt.Command) == 0 {
		opt.Duration = 5 * time.Second
	}
	if opt.MaxSize, err = byteSize(r.maxSize); err != nil {
		return opt, &usageError{fmt.Sprintf("--max-size %s: %v", r.maxSize, err), "write --max-size 500M or --max-size 2G"}
	}
	if opt.OverheadLimit < 0 || opt.OverheadLimit > 0 && len(opt.Command) > 0 {
		return opt, &usageError{"--overhead-limit needs a target that runs already, and a percentage above 0", "write --overhead-limit 5 -p PID"}
	}
	if r.forward && len(opt.Command) == 0 {
		return opt, &usageError{"--forward-status is for a command that record starts", "write ctxan record --forward-status -- COMMAND"}
	}
	return opt, nil
}

func (r *recordFlags) checkTarget(opt *collect.Options) error {
	n := 0
	for _, set := range []bool{r.pids != "", r.tids != "", opt.All, opt.Cgroup != "", len(opt.Command) > 0} {
		if set {
			n++
		}
	}
	switch n {
	case 0:
		return &usageError{"what is to be measured?", "write -p PID, -t TID, -a, --cgroup PATH, or -- COMMAND (see: ctxan record --help)"}
	case 1:
		return nil
	}
	return &usageError{"-p, -t, -a, --cgroup and a command exclude each other", "give one of them"}
}

// idList reads "4711,4712".
func idList(text string) ([]int, error) {
	var out []int
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%q is no id", part)
		}
		out = append(out, n)
	}
	return out, nil
}

// duration reads "5s" or "5"; "" is 0.
func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("it is no length of time")
	}
	return d, nil
}

// byteSize reads "500M"; "" is 0.
func byteSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	shift, digits := 0, strings.TrimSuffix(strings.ToUpper(text), "B")
	if n := len(digits); n > 0 && strings.IndexByte("KMGT", digits[n-1]) >= 0 {
		shift, digits = 10*(1+strings.IndexByte("KMGT", digits[n-1])), digits[:n-1]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		return 0, errors.New("it is no size")
	}
	return n << shift, nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// recordMain measures, and then does what `ctxan DIR` does.
func recordMain(f *flags, r *recordFlags, args []string, std stdio) error {
	opt, err := r.options(args)
	if err != nil {
		return err
	}
	if err := errors.Join(f.check("text", "markdown", "json"), f.checkFailOn()); err != nil {
		return err
	}
	f.output = r.report
	opt.Stdin, opt.Stdout, opt.Stderr = std.in, std.out, std.err
	progress := newCountdown(std.err, f.quiet)
	opt.Progress = progress.show
	ctx, stop := interruptible(std.err, len(opt.Command) > 0)
	res, err := collect.Run(ctx, opt)
	stop()
	progress.clear()
	if err := recordProblem(f, res, err, std); err != nil {
		return err
	}
	err = analyzeRecorded(f, res, std)
	if r.forward && res.Wait != nil {
		if status := res.Wait(); status != 0 {
			return statusError(status)
		}
	}
	return err
}

// recordProblem reports what was not measured. Its error ends the run: there
// is nothing to analyse, or nothing was ever asked for.
func recordProblem(f *flags, res *collect.Result, err error, std stdio) error {
	var write *collect.WriteError
	switch {
	case errors.Is(err, collect.ErrExists):
		return &usageError{report.Plain(err.Error()), "give another folder with -o"}
	case err != nil && !errors.As(err, &write):
		fmt.Fprintln(std.err, "ctxan record:", report.Plain(err.Error()))
		return statusError(exitNotMeasured)
	case err != nil:
		for _, line := range problems(err) {
			fmt.Fprintln(std.err, "ctxan record:", report.Plain(line))
		}
	}
	if !f.quiet || res.Step == collect.StepPolling {
		for _, m := range res.Missing {
			fmt.Fprintln(std.err, "ctxan record: not measured:", report.Plain(m.String()))
		}
	}
	if !f.quiet {
		for _, n := range res.Notes {
			fmt.Fprintln(std.err, "ctxan record:", report.Plain(n))
		}
		fmt.Fprintf(std.err, "ctxan record: %.2f s measured by %s, captures in %s\n", res.Elapsed.Seconds(), res.Step, report.Plain(res.Dir))
	}
	return nil
}

// problems lists the errors that were joined to one, each once: a disk that is
// full stops several captures, and some of them twice.
func problems(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var out []string
	for _, e := range joined.Unwrap() {
		for _, line := range problems(e) {
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	return out
}

// analyzeRecorded prints the report of the folder, and says so when counters
// and records contradict each other.
func analyzeRecorded(f *flags, res *collect.Result, std stdio) error {
	err := analyzeArgs(f, []string{res.Dir}, std)
	var status statusError
	if errors.As(err, &status) && status == exitNoEvidence {
		return statusError(exitNotMeasured)
	}
	if !res.Silent() {
		return err
	}
	fmt.Fprintf(std.err, `ctxan record: the counter saw %d switches, and not one was recorded. Likely reasons:
  the threads that switched were made by others than those that were watched: measure with -a
  the target runs in another PID namespace, or a security module hides its events
  the tracepoint is filtered or disabled: cat /sys/kernel/tracing/events/sched/sched_switch/enable
`, res.Counted)
	return statusError(exitNotMeasured)
}

// interruptible returns a context that ends with the first SIGINT, SIGTERM or
// SIGHUP; the second SIGINT quits. The command that is measured gets a Ctrl-C
// from the terminal by itself.
func interruptible(w io.Writer, command bool) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case s := <-ch:
				if n > 0 {
					os.Exit(128 + int(s.(syscall.Signal)))
				}
				fmt.Fprintln(w, "\nctxan record: ending the measurement (again to quit)")
				cancel()
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel() }
}

// countdown is the line on a terminal that tells how far a measurement is.
type countdown struct {
	w     io.Writer
	on    bool
	shown bool
}

func newCountdown(w io.Writer, quiet bool) *countdown {
	_, tty := terminal(w)
	return &countdown{w: w, on: tty && !quiet}
}

func (p *countdown) show(at collect.Progress) {
	if !p.on {
		return
	}
	p.shown = true
	left := ""
	if at.Total > 0 {
		left = fmt.Sprintf(", %.1f s left", max(at.Total-at.Elapsed, 0).Seconds())
	}
	fmt.Fprintf(p.w, "\r\x1b[Kmeasuring: %.1f s%s, %d switches, %.1f MB", at.Elapsed.Seconds(), left, at.Switches, float64(at.Bytes)/1e6)
}

func (p *countdown) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

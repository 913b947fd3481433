package signature

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

func TestParse(t *testing.T) {
	table, err := parse(reasonData, frameData)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Concat(table.kernel.regexes, table.user.regexes) {
		p.re() // which panics on one that is none
	}
}

// TestLiteralHead holds the heads of all regular expressions against what the
// compiler finds, and some by hand.
func TestLiteralHead(t *testing.T) {
	table := Default()
	n := 0
	for _, r := range table.rows {
		for _, p := range r.patterns {
			if p[0] != '~' {
				continue
			}
			prefix, _ := regexp.MustCompile(p[1:]).LiteralPrefix()
			if head := literalHead(p[1:]); !strings.HasPrefix(prefix, head) {
				t.Errorf("%s: head %q, begins with %q", p, head, prefix)
			} else if head != "" {
				n++
			}
		}
	}
	if n == 0 {
		t.Error("no expression has a head")
	}
	for p, want := range map[string]string{"ab|cd": "", "ab(c|d)": "ab", "abc?": "ab", "abc+": "abc", "abc{2}": "ab", `a\.b`: "a", "": "", "abc": "abc", "(a)|b": "", `\(a|b`: "", `a\|b`: "a"} {
		if got := literalHead(p); got != want {
			t.Errorf("%q: head %q, want %q", p, got, want)
		}
	}
}

// chain makes frames of names that stand leaf first. Names before "|" are the
// kernel's; without one the frames are text only.
func chain(s string) []evidence.Frame {
	kernel, user, marked := strings.Cut(s, "|")
	var out []evidence.Frame
	add := func(names string, inKernel bool) {
		for n := range strings.FieldsSeq(names) {
			f := evidence.Frame{Symbol: strings.ReplaceAll(n, "~", " ")}
			if marked {
				f.Kernel, f.Module = inKernel, "/opt/app"
				if inKernel {
					f.Module = "[kernel.kallsyms]"
				}
			}
			out = append(out, f)
		}
	}
	add(kernel, true)
	add(user, false)
	return out
}

func TestBlocking(t *testing.T) {
	const futex = "__schedule schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex do_syscall_64 entry_SYSCALL_64_after_hwframe "
	tests := []struct{ frames, reason, api, caller string }{
		{"__schedule schedule do_nanosleep hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep do_syscall_64 entry_SYSCALL_64_after_hwframe | clock_nanosleep@GLIBC_2.2.5 poll_loop start_thread", "timer-sleep", "nanosleep", "poll_loop"},
		{"_schedule schedule do_nanosleep hrtimer_nanosleep sys_nanosleep system_call_fastpath __nanosleep uv_runtime_sw::MultiHostNetworkIOMgr::task", "timer-sleep", "nanosleep", "uv_runtime_sw::MultiHostNetworkIOMgr::task"},
		{"do_nanosleep hrtimer_nanosleep __x64_sys_nanosleep | runtime.usleep.abi0 runtime.sysmon runtime.mstart1", "runtime-helper", "", "runtime.sysmon"},
		{"do_nanosleep hrtimer_nanosleep sys_nanosleep system_call_fastpath __nanosleep base::internal::SpinLockDelay(int~volatile*,~int,~int) SpinLock::SlowLock() tcmalloc::CentralFreeList::RemoveRange main", "alloc-lock", "malloc", "main"},
		{futex + "| __futex_abstimed_wait_common", "futex", "", ""},
		{futex + "| __GI___lll_lock_wait poster start_thread", "futex-lock", "lll_lock_wait", "poster"},
		{futex + "| __lll_lock_wait_private", "libc-lock", "lll_lock_wait_private", ""},
		{futex + "| __lll_lock_wait_private _int_malloc __libc_malloc parse", "alloc-lock", "malloc", "parse"},
		{futex + "| __futex_abstimed_wait_common ___pthread_cond_wait worker", "futex-cond", "pthread_cond_wait", "worker"},
		{futex + "| __futex_abstimed_wait_common pthread_cond_timedwait@@GLIBC_2.3.2 worker", "futex-timed", "pthread_cond_timedwait", "worker"},
		{futex + "| __futex_abstimed_wait_common pthread_cond_wait os::PlatformEvent::park ObjectMonitor::EnterI(JavaThread*) ObjectMonitor::enter Ledger::post", "futex-lock", "ObjectMonitor::enter", "Ledger::post"},
		{futex + "| __futex_abstimed_wait_common pthread_cond_timedwait Parker::park Unsafe_Park Ljava/util/concurrent/locks/LockSupport;::parkNanos Lcom/lmax/disruptor/SleepingWaitStrategy;::waitFor", "futex-timed", "pthread_cond_timedwait", "Lcom/lmax/disruptor/SleepingWaitStrategy;::waitFor"},
		{futex + "| __futex_abstimed_wait_common pthread_cond_wait Parker::park Unsafe_Park Ljava/util/concurrent/locks/LockSupport;::park Ljava/util/concurrent/LinkedBlockingQueue;::take com.app.Work", "futex-cond", "java.util.concurrent queue", "com.app.Work"},
		{futex + "| runtime.futex.abi0 runtime.notesleep runtime.stopm runtime.findRunnable", "runtime-park", "goroutine scheduler", ""},
		{futex + "| futex_wait gomp_team_barrier_wait_end gomp_thread_start start_thread", "barrier", "OpenMP barrier", ""},
		{"schedule_hrtimeout_range_clock do_epoll_wait __x64_sys_epoll_wait do_syscall_64 entry_SYSCALL_64_after_hwframe epoll_wait secure_read [unknown] pq_getbyte PostgresMain", "epoll", "epoll_wait", "PostgresMain"},
		{"schedule_hrtimeout_range_clock poll_schedule_timeout.constprop.0 do_select core_sys_select", "poll", "", ""},
		{"io_schedule folio_wait_bit folio_wait_writeback __filemap_fdatawait_range file_write_and_wait_range ext4_sync_file do_fsync __x64_sys_fsync | fsync append", "fsync", "fsync", "append"},
		{"schedule_timeout io_schedule_timeout wait_for_completion_io_timeout submit_bio_wait blkdev_issue_flush ext4_sync_file", "fsync", "", ""},
		{"io_schedule folio_wait_bit_common filemap_fault __do_fault do_fault handle_mm_fault exc_page_fault asm_exc_page_fault | scan", "fault-in", "", "scan"},
		{"io_schedule folio_wait_bit_common __folio_lock_or_retry do_swap_page __handle_mm_fault handle_mm_fault exc_page_fault asm_exc_page_fault | scan", "swap-in", "", "scan"},
		{"schedule_timeout io_schedule_timeout balance_dirty_pages balance_dirty_pages_ratelimited_flags generic_perform_write ext4_buffered_write_iter vfs_write ksys_write | write logger", "writeback", "write", "logger"},
		{"schedule_timeout reclaim_throttle shrink_lruvec shrink_node do_try_to_free_pages", "reclaim", "", ""},
		{"schedule_timeout __wait_for_common wait_for_completion_state kernel_clone __x64_sys_vfork | __vfork main", "vfork", "vfork", "main"},
		{"schedule_timeout wait_for_completion affine_move_task __set_cpus_allowed_ptr __x64_sys_sched_setaffinity | sched_setaffinity@@GLIBC_2.3.4 w", "migration", "sched_setaffinity", "w"},
		{"schedule_preempt_disabled rwsem_down_read_slowpath down_read_killable lock_mm_and_find_vma exc_page_fault asm_exc_page_fault | new_region", "mmap-lock", "", "new_region"},
		{"schedule_preempt_disabled __mutex_lock.constprop.0 file_tty_write.isra.0 vfs_write ksys_write | __GI___libc_write w", "tty-write", "write", "w"},
		{"schedule_timeout wait_woken sk_wait_data tcp_recvmsg_locked tcp_recvmsg", "net-read", "", ""},
		{"schedule worker_thread kthread ret_from_fork", "kworker", "", ""},
		{"schedule_timeout rcu_gp_fqs_loop rcu_gp_kthread kthread", "kthread", "", ""},
		{"[k]~do_nanosleep+0x5e", "timer-sleep", "", ""},
		{"__schedule schedule schedule_timeout my_driver_poll kthread ret_from_fork", "kernel-sleep", "", ""},
		{"| pthread_mutex_lock push main", "futex-lock", "pthread_mutex_lock", "push"},
	}
	for _, tt := range tests {
		frames := chain(tt.frames)
		m, ok := Default().Blocking(frames)
		caller := ""
		if i, ok := Default().Caller(frames); ok {
			caller = frames[i].Symbol
		}
		if !ok || m.Reason.ID != tt.reason || m.API != tt.api || caller != tt.caller {
			t.Errorf("%s:\n got %q %q %q, want %q %q %q", tt.frames, m.Reason.ID, m.API, caller, tt.reason, tt.api, tt.caller)
		}
	}
}

func TestNotBlocking(t *testing.T) {
	for _, s := range []string{
		"exit_to_user_mode_loop do_syscall_64 entry_SYSCALL_64_after_hwframe | __send main",
		"process_one_work worker_thread kthread ret_from_fork",  // at work
		"futex_wake do_futex __x64_sys_futex | __lll_lock_wake", // the waking side
		"irqentry_exit_to_user_mode asm_exc_page_fault | new_region",
		"",
	} {
		if m, ok := Default().Blocking(chain(s)); ok {
			t.Errorf("%s: %s, want none", s, m.Reason.ID)
		}
	}
}

func TestPreempt(t *testing.T) {
	const (
		timer   = "__schedule schedule irqentry_exit_to_user_mode asm_sysvec_apic_timer_interrupt | crunch main"
		ipi     = "__schedule schedule irqentry_exit_to_user_mode asm_sysvec_reschedule_ipi | crunch main"
		sent    = "__schedule schedule exit_to_user_mode_loop do_syscall_64 entry_SYSCALL_64_after_hwframe | __send main"
		clock   = "__schedule schedule exit_to_user_mode_loop do_syscall_64 entry_SYSCALL_64_after_hwframe | work main"
		arm     = "__schedule schedule do_notify_resume el0t_64_irq_handler el0t_64_irq | crunch"
		yield   = "__schedule schedule __x64_sys_sched_yield do_syscall_64 entry_SYSCALL_64_after_hwframe | __sched_yield rank"
		resched = "__schedule __cond_resched generic_perform_write vfs_write ksys_write | write w"
		pipe    = "__schedule preempt_schedule_common preempt_schedule try_to_wake_up autoremove_wake_function __wake_up_sync_key anon_pipe_write vfs_write | write w"
		old     = "_schedule schedule retint_careful crunch main"
		race    = "__schedule schedule do_nanosleep hrtimer_nanosleep | clock_nanosleep w"
	)
	const unknown, none, self, irq, remote = evidence.WakeUnknown, evidence.WakeNone, evidence.WakeBySelf, evidence.WakeByIRQ, evidence.WakeByRemote
	tests := []struct {
		frames string
		wake   evidence.WakeContext
		want   Preemption
	}{
		{timer, unknown, PreemptTimer}, {timer, none, PreemptTick}, {timer, irq, PreemptWakeup}, {timer, remote, PreemptRemote}, {timer, self, PreemptTick},
		{ipi, unknown, PreemptRemote}, {ipi, none, PreemptReturn}, {ipi, irq, PreemptWakeup},
		{sent, unknown, PreemptHandOff}, {sent, self, PreemptHandOff}, {sent, none, PreemptReturn}, {sent, irq, PreemptWakeup}, {sent, remote, PreemptRemote},
		{clock, unknown, PreemptReturn}, {clock, self, PreemptHandOff},
		{arm, unknown, PreemptReturn}, {arm, none, PreemptTick}, {arm, irq, PreemptWakeup},
		{yield, unknown, PreemptYield}, {yield, irq, PreemptYield},
		{resched, unknown, PreemptKernel}, {resched, irq, PreemptKernel},
		{pipe, unknown, PreemptHandOff}, {pipe, none, PreemptKernel},
		{old, unknown, PreemptReturn},
		{race, unknown, PreemptRace},
		{"| sched_yield rank", unknown, PreemptYield},
		{"", unknown, PreemptUnknown}, {"", none, PreemptUnknown}, {"", self, PreemptHandOff}, {"", irq, PreemptWakeup}, {"", remote, PreemptRemote},
	}
	for _, tt := range tests {
		if got, _ := Default().Preempt(chain(tt.frames), tt.wake); got != tt.want {
			t.Errorf("%s, wake %s: %s, want %s", tt.frames, tt.wake, got, tt.want)
		}
	}
}

func TestSymbol(t *testing.T) {
	tests := []struct {
		name, reason string
		role         Role
	}{
		{"sys_nanosleep", "timer-sleep", RoleWait},
		{"[k] hrtimer_nanosleep", "timer-sleep", RoleWait},
		{"__x64_sys_clock_nanosleep", "timer-sleep", RoleWait},
		{"system_call_fastpath", "", RoleEntry},
		{"schedule_timeout", "kernel-sleep", RoleHint},
		{"schedule", "", RoleCarrier},
		{"futex_wait_queue_me", "futex", RoleWait},
		{"SyS_epoll_wait", "epoll", RoleWait},
		{"__x64_sys_sched_yield", "yield", RoleYield},
		{"native_queued_spin_lock_slowpath", "spinlock", RoleSpin},
		{"[.] pthread_mutex_lock@@GLIBC_2.2.5", "futex-lock", RoleAPI},
		{"__GI___libc_write", "", RoleWakeAPI},
		{"runtime.sysmon", "runtime-helper", RoleHelper},
	}
	for _, tt := range tests {
		r, role, ok := Default().Symbol(tt.name)
		if !ok || r.ID != tt.reason || role != tt.role {
			t.Errorf("%s: %q %s %v, want %q %s", tt.name, r.ID, role, ok, tt.reason, tt.role)
		}
	}
	for _, name := range []string{"", "[unknown]", "my_function", "scheduler_of_mine", "PyramidLoader::run", "WorkerThread::run", "Monitor::tick", "node::Server::loop", "os::path::join", "uv_runtime_sw::MultiHostNetworkIOMgr::task"} {
		if r, role, ok := Default().Symbol(name); ok {
			t.Errorf("%q: %q %s, want nothing", name, r.ID, role)
		}
	}
}

func TestBase(t *testing.T) {
	for in, want := range map[string]string{
		"poll_schedule_timeout.constprop.0":                   "poll_schedule_timeout",
		"ext4_fsync_nojournal.constprop.0.isra.3":             "ext4_fsync_nojournal",
		"vms_clear_ptes.part.0":                               "vms_clear_ptes",
		"futex_wait.llvm.1234567":                             "futex_wait",
		"do_nanosleep+0x5e":                                   "do_nanosleep",
		"[k] __cond_resched":                                  "__cond_resched",
		"clock_nanosleep@@GLIBC_2.17":                         "clock_nanosleep",
		"std::vector<int>::operator[](unsigned long) [clone]": "std::vector<int>::operator[](unsigned long) [clone]",
		"runtime.usleep.abi0":                                 "runtime.usleep",
		"sync.(*Mutex).lockSlow":                              "sync.(*Mutex).lockSlow",
		"do_idle_[k]":                                         "do_idle",
		"user@host":                                           "user@host",
		"":                                                    "",
		"std::this_thread::sleep_for<long, std::ratio<1l,1l> >": "std::this_thread::sleep_for<long, std::ratio<1l,1l> >",
	} {
		if got := Base(in); got != want {
			t.Errorf("Base(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestPerfStacks classifies the stacks that perf 6.1 counted in recordings of a
// program that polls with short sleeps.
func TestPerfStacks(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared.Dir(t), "fixtures", "local", "*", "stacks.perf61.txt"))
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sleeps := 0
		for sc := bufio.NewScanner(strings.NewReader(string(b))); sc.Scan(); {
			frames := perfStack(sc.Text())
			if m, ok := Default().Blocking(frames); ok && m.Reason.ID == "timer-sleep" {
				sleeps++
				if i, ok := Default().Caller(frames); !ok || !strings.HasPrefix(frames[i].Symbol, "uv_runtime_sw::MultiHostNetworkIOMgr::") {
					t.Errorf("%s: no caller: %s", path, sc.Text())
				}
			}
		}
		if sleeps < 4 {
			t.Errorf("%s: %d stacks sleep, want the 4 threads'", path, sleeps)
		}
	}
}

// perfStack reads "count comm;address symbol;..." of names, root first.
func perfStack(line string) []evidence.Frame {
	parts := strings.Split(line, ";")
	var out []evidence.Frame
	for i := len(parts) - 1; i > 0; i-- {
		f := strings.Fields(parts[i])
		out = append(out, evidence.Frame{Symbol: strings.Join(f[1:], " ")})
	}
	return out
}

func BenchmarkBlocking(b *testing.B) {
	frames := chain("__schedule schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex do_syscall_64 entry_SYSCALL_64_after_hwframe | __futex_abstimed_wait_common ___pthread_cond_wait worker start_thread")
	b.ReportAllocs()
	for b.Loop() {
		Default().Blocking(frames)
	}
}

func FuzzSymbol(f *testing.F) {
	f.Add("do_nanosleep+0x5e")
	f.Add("[k] x")
	f.Add("a(b(c)) const")
	f.Fuzz(func(t *testing.T, s string) {
		frames := []evidence.Frame{{Symbol: s}, {Symbol: "do_syscall_64"}, {Symbol: s}}
		Default().Blocking(frames)
		Default().Preempt(frames, evidence.WakeUnknown)
		Default().Caller(frames)
		Default().API(frames)
		if b := Base(s); len(b) > len(s) {
			t.Errorf("Base(%q) grew to %q", s, b)
		}
	})
}

// TestCallerNamedLikeCall: a program's own poll or wait is the code that asked.
func TestCallerNamedLikeCall(t *testing.T) {
	for in, want := range map[string]string{
		"do_nanosleep hrtimer_nanosleep | nanosleep poll main": "poll",
		"do_epoll_wait __x64_sys_epoll_wait | epoll_wait loop": "loop",
		"futex_wait | pthread_cond_wait wait worker":           "wait",
	} {
		frames := chain(in)
		if i, ok := Default().Caller(frames); !ok || frames[i].Symbol != want {
			t.Errorf("%s: %d %v, want %s", in, i, ok, want)
		}
	}
}

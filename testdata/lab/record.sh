#!/bin/bash
# record.sh [CASE...]: builds the workloads of src/ and records all cases, or
# those named, into folders beside this file. As root, on Linux, with perf,
# sysstat, gcc, g++, go, rustc, java, node, python3 and strace. Nothing of the
# recording machine but its kernel's release and its CPU goes into the files:
# the programs run in /opt/demo/lab, on a host that is called "demo".
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ "${LAB_INSIDE:-}" = "" ]; then
	exec env -i LAB_INSIDE=1 LAB_PRIVATE="${LAB_PRIVATE:-}" PATH="$PATH" HOME=/opt/demo GOCACHE="${GOCACHE:-/tmp/lab-go}" \
		RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" LC_ALL=C \
		unshare --uts bash -c 'hostname demo; exec bash "$@"' - "$0" "$@"
fi
lab=/opt/demo/lab
mkdir -p $lab && cd $lab || exit 1
cp -r "$here/src/." $lab/

build() {
	for f in *.c; do gcc -O1 -fno-omit-frame-pointer -pthread -w -o "${f%.c}" "$f" -lrt || exit 1; done
	for f in *.cpp; do g++ -std=c++20 -O1 -fno-omit-frame-pointer -pthread -o "${f%.cpp}" "$f" || exit 1; done
	for f in *.go; do go build -p 1 -trimpath -ldflags=-B=gobuildid -o "${f%.go}" "$f" || exit 1; done
	for f in *.rs; do rustc -O -C force-frame-pointers=yes -o "${f%.rs}" "$f" 2>/dev/null || exit 1; done
	for f in *.java; do javac "$f" || exit 1; done
	touch built
}
[ -e built ] && [ "${REBUILD:-}" = "" ] || build

java="java -XX:+UseSerialGC -Xmx64m -Xshare:auto"

# start COMMAND: runs it before the machine's other work, in the background, with all that it starts in a session
# of its own; $pid is its process.
start() {
	setsid nice -n -15 "$@" > /dev/null 2>&1 < /dev/null &
	pid=$!
	sleep "${settle:-1}"
}

child() { pgrep -P "$1" | head -1; }

# between LO V HI: V, within bounds.
between() { awk -v lo="$1" -v v="$2" -v hi="$3" 'BEGIN { print (v < lo ? lo : (v > hi ? hi : v)) }'; }

# private FILE: whether a recording names somebody's folder, or what LAB_PRIVATE matches.
private() {
	{ perf script -i "$1" --show-mmap-events --show-task-events -F comm,event,trace 2> /dev/null; perf script -i "$1" --header-only; } |
		grep -qE "/(root|home)/${LAB_PRIVATE:+|$LAB_PRIVATE}"
}

# take FILE MS ARG...: records for so long, until nothing private is in the file.
# Where the machine is busy, perf takes far longer to start and to end than it is
# to record: -D bounds what it records.
take() {
	local out=$1 ms=$2
	shift 2
	for i in 1 2 3 4; do
		echo 1 2> /dev/null > /sys/kernel/tracing/saved_cmdlines_size # empties the names that a recording takes along
		perf record -q -z3 -g "$@" -D "100-$((100 + ms))" -o switch.data -- sleep "0.$((ms + 150))" > /dev/null 2>&1
		rm -f switch.data.old
		private switch.data || { mv switch.data "$out"; return; }
	done
	echo "$out names something private; left out"
	rm -f switch.data "$out"
}

# record CASE PIDS: the captures of running processes; with $alone, none of the
# whole machine.
record() {
	local dir=$here/$1 pids=$2 rate
	mkdir -p "$dir"
	perf stat -p "$pids" -- sleep 1 2> "$dir/perf-stat.txt"
	pidstat -w -t -p "$pids" 1 1 > "$dir/pidstat.txt"
	rate=$(awk '$2 == "context-switches" { gsub(",", "", $1); n = $1 } /elapsed/ { t = $1 } END { print n / t + 1 }' "$dir/perf-stat.txt")
	take "$dir/switch.data" "$(between 3 "$((200000 / ${rate%.*}))" 800)" --buildid-all -e sched:sched_switch -p "$pids"
	[ "${alone:-}" ] || take "$dir/switch-a.data" "$(between 3 "$((100000 / ${rate%.*}))" 100)" -a -m 2M --synth=no -e sched:sched_switch -e sched:sched_waking
	echo "$1: $rate switches/s, $(du -sb "$dir" | cut -f1) bytes"
}

stop() {
	local p
	kill -CONT "$@" 2> /dev/null
	for p in "$@"; do 
		kill -KILL -- "-$p" 2> /dev/null || kill -KILL "$p" 2> /dev/null
	done
}

# plain CASE COMMAND: the process that the command starts.
plain() {
	local name=$1
	shift
	start "$@"
	record "$name" "$pid"
	stop "$pid"
}

# of_child CASE COMMAND: the child of the process that the command starts.
of_child() {
	local name=$1
	shift
	start "$@"
	record "$name" "$(child "$pid")"
	stop "$pid"
}

herd-broadcast() { plain "$FUNCNAME" ./condherd; }
herd-epoll() { plain "$FUNCNAME" ./eventherd; }
herd-futex() { plain "$FUNCNAME" ./futexall; }
herd-notifyall() { plain "$FUNCNAME" $java NotifyAll; }
stopped-limiter() {
	alone=1
	start ./hog 1
	local p=$pid
	start /usr/bin/python3 limiter.py "$p" 10
	record "$FUNCNAME" "$p"
	stop "$pid" "$p"
}
frozen-group() {
	alone=1
	local g=/sys/fs/cgroup/freezer/demo
	mkdir -p $g
	start ./hog 2
	echo "$pid" > $g/cgroup.procs
	local p=$pid
	start /usr/bin/python3 -S freezer.py $g
	record "$FUNCNAME" "$p"
	stop "$pid"
	sleep 0.1
	echo THAWED > $g/freezer.state
	stop "$p"
	sleep 0.2
	rmdir $g || exit 1 # somebody is still in it
}
traced-strace() { alone=1; of_child "$FUNCNAME" strace -f -o /dev/null /usr/bin/python3 -S -c 'import os
while True: os.stat("/opt/demo/lab"); sum(range(500))'; }
traced-seccomp() { alone=1; of_child "$FUNCNAME" ./supervisor; }
terminal-slow() { alone=1; of_child "$FUNCNAME" /usr/bin/python3 -S ttyflood.py; }
swap-random() {
	alone=1
	local g=/sys/fs/cgroup/memory/demo
	mkdir -p $g
	dd if=/dev/zero of=swapfile bs=1M count=96 status=none && chmod 600 swapfile && mkswap -q swapfile > /dev/null && swapon swapfile || return
	echo 32M > $g/memory.limit_in_bytes
	settle=4 start bash -c "echo \$\$ > $g/cgroup.procs; exec ./paging 64"
	record "$FUNCNAME" "$pid"
	stop "$pid"
	sleep 0.5
	swapoff swapfile; rm -f swapfile
	rmdir $g
}
quota-go() {
	local g=/sys/fs/cgroup/cpu/demo
	mkdir -p $g
	echo 25000 > $g/cpu.cfs_period_us; echo 8000 > $g/cpu.cfs_quota_us
	start bash -c "echo \$\$ > $g/cgroup.procs; exec ./quota"
	record "$FUNCNAME" "$pid"
	stop "$pid"
	sleep 0.2
	rmdir $g
}
mmap-protect() { alone=1; plain "$FUNCNAME" ./protect; }
churn-threads() { alone=1; plain "$FUNCNAME" ./perrequest; }
helper-sysmon() { alone=1; plain "$FUNCNAME" ./monitor; keep "$FUNCNAME" monitor; }
loop-node() { alone=1; plain "$FUNCNAME" node server.js; }
timed-poll() { plain "$FUNCNAME" ./pollms; }
timed-queue-python() { plain "$FUNCNAME" /usr/bin/python3 -S queueget.py; }
timed-queue-java() { plain "$FUNCNAME" $java PollQueue; }
sleep-python() { alone=1; plain "$FUNCNAME" /usr/bin/python3 -S usleep.py; }
preempt-fifo() { plain "$FUNCNAME" ./rtbeat; }
yield-java() { alone=1; plain "$FUNCNAME" $java YieldSpin; }
commit-sqlite() { alone=1; plain "$FUNCNAME" /usr/bin/python3 -S commits.py; rm -f commits.db*; }
net-slow-server() { plain "$FUNCNAME" /usr/bin/python3 -S netclient.py; }
handoff-java() { plain "$FUNCNAME" $java Exchange; }
handoff-eventfd() { plain "$FUNCNAME" ./eventfds; }
handoff-go() { plain "$FUNCNAME" ./locked; }
handoff-mqueue() { plain "$FUNCNAME" ./mq; }
lock-gil() { plain "$FUNCNAME" /usr/bin/python3 -S gil.py; }
lock-rust() { plain "$FUNCNAME" ./rlock; }
fuse-read() { alone=1; plain "$FUNCNAME" ./fused /opt/demo/lab/mnt; }
healthy-control() { plain "$FUNCNAME" ./control; }
healthy-pool() { plain "$FUNCNAME" ./pool; }
crowd-java() { alone=1; plain "$FUNCNAME" $java Crowd; }
worker-loop() {
	alone=1
	dd if=/dev/zero of=disk.img bs=1M count=16 status=none
	local d=$(losetup -f --show --direct-io=off disk.img)
	start bash -c "while :; do dd if=$d of=/dev/null bs=4k count=4000 iflag=direct; done"
	local w=$(busiest)
	record "$FUNCNAME" "$w"
	stop "$pid"
	sleep 0.3
	losetup -d "$d"; rm -f disk.img
}
# busiest: the kernel worker that switches the most.
busiest() {
	local f='/^Name/ { n = $2 } /^Pid/ { p = $2 } /^voluntary/ && n ~ /^kworker/ { print p, $2 }'
	cat /proc/[0-9]*/status 2> /dev/null | awk "$f" | sort > w1
	sleep 1
	cat /proc/[0-9]*/status 2> /dev/null | awk "$f" | sort > w2
	join w1 w2 | awk '$3 - $2 > n { n = $3 - $2; p = $1 } END { print p }'
}

# keep CASE PROGRAM: of a program's symbols the functions, without its code.
keep() {
	local to=$here/$1/symbols$lab
	mkdir -p "$to"
	nm "$2" | awk '$3 ~ /^(runtime\.(sysmon|usleep|mstart|futex|notetsleep|mcall|goexit|entersyscall|exitsyscall|schedule|findRunnable|stopm|notesleep|nanotime)|main\.|syscall\.|internal\/runtime\/syscall)/ { print $3 }' > kept
	objcopy --strip-all --keep-symbols=kept "$2" "$2.names"
	objcopy --only-keep-debug "$2.names" "$to/$2"
	/usr/bin/python3 -S headers.py "$2" "$to/$2"
	chmod 644 "$to/$2"
}

# reduce: of the kernel's symbols, those of the frames that occur, and what
# bounds them.
reduce() {
	for f in "$here"/*/switch*.data; do perf script -i "$f" -F ip,sym 2> /dev/null; done |
		awk '$1 ~ /^ffffffff/ { print $1 }' | sort -u > frames
	/usr/bin/python3 -S reduce.py frames | gzip -9n > "$here/kallsyms.gz"
}

all="herd-broadcast herd-epoll herd-futex herd-notifyall stopped-limiter frozen-group traced-strace traced-seccomp
terminal-slow swap-random quota-go mmap-protect churn-threads helper-sysmon loop-node timed-poll timed-queue-python
timed-queue-java sleep-python preempt-fifo yield-java commit-sqlite net-slow-server handoff-java handoff-eventfd
handoff-go handoff-mqueue lock-gil lock-rust fuse-read healthy-control healthy-pool crowd-java worker-loop"
for c in ${*:-$all}; do
	[ "$c" = symbols ] && continue
	alone=
	$c
done
[ "$*" = symbols ] || [ $# = 0 ] && reduce

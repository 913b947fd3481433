package perfstat

// readTests are captures, each with the blocks that show makes of it.
var readTests = []struct{ name, in, want string }{
	{"2.6.30, names with spaces", `
 Performance counter stats for './fork':

      27.367537  task clock ticks     (msecs)

           5785  pagefaults           (events)
            389  context switches     (events)
              4  CPU migrations       (events)
      1,234,567  cycles               (scaled from 66.67%)

 Wall-clock time elapsed:     27.703 msecs
`, `
block 2 ['./fork'] command elapsed 0.027703
task-clock 27.367537 msec
page-faults 5785
context-switches 389
cpu-migrations 4
cycles 1234567 running 66.67%
`},
	{"2.6.32, units in names", `
 Performance counter stats for 'ls -R /usr/src/linux':

     934.512846  task-clock-msecs         #      0.114 CPUs
           1695  context-switches         #      0.002 M/sec
            163  CPU-migrations           #      0.000 M/sec
     2037.12345  M/sec

    8.185000000  seconds time elapsed   ( +-   0.352% )
`, `
block 2 ['ls -R /usr/src/linux'] command elapsed 8.185
task-clock 934.512846 msec
context-switches 1695
cpu-migrations 163
`},
	{"the reference capture", `
    Performance counter stats for process id '58931':
          4,808.30 msec task-clock                 #    1.600 CPUs utilized
               225,908      context-switches       #    0.047 M/sec
                   344      cpu-migrations         #    0.072 K/sec
           3.004342766 seconds time elapsed
`, `
block 2 [process id '58931'] process [58931] elapsed 3.004342766
task-clock 4808.3 msec
context-switches 225908
cpu-migrations 344
`},
	{"two rows a line, no header, no footer", `
1,213.30 msec task-clock # 0.121 CPUs utilized 52,487 context-switches # 0.043 M/sec
2,387 cpu-migrations # 0.002 M/sec 3,104,943,123 cycles # 2.559 GHz 1,208,753,700 instructions # 0.39 insn per cycle
`, `
block 2 [] unknown
task-clock 1213.3 msec
context-switches 52487
cpu-migrations 2387
cycles 3104943123
instructions 1208753700
`},
	{"a metric named like an event is no counter", `
 Performance counter stats for 'x': 9,623,103,953 cpu_core/instructions/ # 3.6 instructions insn_per_cycle (45.75%) 12 cs # 1.0 cs/sec cs_per_second 1.5 seconds time elapsed
`, `
block 2 ['x'] command elapsed 1.5
instructions@cpu_core 9623103953 running 45.75%
context-switches 12
`},
	{"separators of thousands that were lost are not the end of the number", `
 Performance counter stats for 'x':
             61?512      context-switches          #    0,101 K/sec
          1?061?512      page-faults               #    0,101 K/sec
             61?51       cpu-migrations            #    0,101 K/sec
`, `
block 2 ['x'] command
context-switches 61512
page-faults 1061512
dropped 5
`},
	{"South Asian groups", `
 Performance counter stats for 'x':
       12,34,56,789      cycles
          1,23,456      context-switches
`, `
block 2 ['x'] command
cycles 123456789
context-switches 123456
`},
	{"a value against the block's decimal separator", `
 Performance counter stats for 'x':
             33,00 msec task-clock         #      0,8 CPUs utilized
             1,234      context-switches   #      1,0 K/sec
`, `
block 2 ['x'] command
task-clock 33 msec
dropped 4
`},
	{"a clock without unit", `
 Performance counter stats for 'a':
    28,178,124,975      cpu-clock     #     28.0 CPUs  CPUs_utilized
 Performance counter stats for 'b':
         28.178124      cpu-clock     #     28.0 CPUs utilized
`, `
block 2 ['a'] command
cpu-clock 28178.124975 msec
block 4 ['b'] command
cpu-clock 28.178124 msec
`},
	{"units, PMU names, raw codes and the forms of multiplexing", `
 Performance counter stats for 'system wide':
             12.34 Joules power/energy-pkg/
            512.00 MiB  uncore_imc/data_reads/
         1,234,567      cpu/event=0x3c,umask=0x0/u     (50.00%)
            77,777      r01c2                        [25.00%]
             8,888      INST_RETIRED.ANY:u
             9,999      cycles [cpu_atom]             (40.00%)
            11,111      cycles [cpu_core]             (60.00%)
                12      stall                     # 0.1 per cycle
     1,000,123,456 ns   duration_time
`, `
block 2 ['system wide'] system
power/energy-pkg/ 12.34 Joules
uncore_imc/data_reads/ 512 MiB
cpu/event=0x3c,umask=0x0/:u 1234567 running 50%
r01c2 77777 running 25%
INST_RETIRED.ANY:u 8888
cycles@cpu_atom 9999 running 40%
cycles@cpu_core 11111 running 60%
stall 12
duration_time 1000123456 ns
`},
	{"the only PMU is no part of the name", `
 Performance counter stats for 'x':
         1,234,567      armv8_pmuv3_0/cycles/
            77,777      armv8_pmuv3_0/instructions/u
`, `
block 2 ['x'] command
cycles 1234567
instructions:u 77777
`},
	{"aliases of one event are not added up", `
 Performance counter stats for 'x':
     <not counted>      cs
               100      context-switches
               100      cs
               200      cpu-cycles
               200      cycles
`, `
block 2 ['x'] command
context-switches 100
cycles 200
`},
	{"a header with CPUs and runs", `
 Performance counter stats for 'CPU(s) 0-2,7' (10 runs):
               100      context-switches   ( +-100.00% )
               7      cpu-migrations       ( +-  nan% )
      1.234567 +- 0.012345 seconds time elapsed  ( +-  1.00% )
`, `
block 2 ['CPU(s) 0-2,7' (10 runs)] cpu [0 1 2 7] elapsed 1.234567 runs 10
context-switches 100 ± 100%
cpu-migrations 7
`},
	{"threads whose names look like anything", `
 Performance counter stats for process id '7':
       CPU 2/KVM-21249                  1.79 msec task-clock   #    0.006 CPUs utilized
     my-thread-7-21250                 1,234      context-switches
          a 12 b-21251         <not counted>      context-switches
`, `
block 2 [process id '7'] process [7]
task-clock 1.79 msec
context-switches 1234
thread CPU 2/KVM-21249: task-clock 1.79 msec
thread my-thread-7-21250: context-switches 1234
thread a 12 b-21251: context-switches not counted
`},
	{"cores, groups of thousands with spaces", `
 Performance counter stats for 'system wide':
S0-D0-C0           1             60 295      context-switches   #  170,629 K/sec
S0-D0-C1           1              1 065      context-switches   #    3,014 K/sec
`, `
block 2 ['system wide'] system
context-switches 61360
core S0-D0-C0: context-switches 60295
core S0-D0-C1: context-switches 1065
`},
	{"negative ids, caches and clusters", `
 Performance counter stats for 'system wide':
S-1-D-1-C-1        4                 10      context-switches
 Performance counter stats for 'system wide':
S0-D0-L3-ID0       8                 20      context-switches
 Performance counter stats for 'system wide':
S0-D0-CLS8         4                 30      context-switches
`, `
block 2 ['system wide'] system
context-switches 10
core S-1-D-1-C-1: context-switches 10
block 4 ['system wide'] system
context-switches 20
cache S0-D0-L3-ID0: context-switches 20
block 6 ['system wide'] system
context-switches 30
cluster S0-D0-CLS8: context-switches 30
`},
	{"control groups inside one another", `
 Performance counter stats for 'system wide':
               100      context-switches   /                #    0.1 K/sec
                60      context-switches   /system.slice    #    0.1 K/sec
                40      context-switches   /system.slice/db #    0.1 K/sec
`, `
block 2 ['system wide'] cgroup
context-switches 100
cgroup /: context-switches 100
cgroup /system.slice: context-switches 60
cgroup /system.slice/db: context-switches 40
`},
	{"control groups beside one another", `
 Performance counter stats for 'system wide':
                60      context-switches   a.slice   #    0.1 K/sec
                40      context-switches   b.slice   #    0.1 K/sec
`, `
block 2 ['system wide'] cgroup
context-switches 100
cgroup a.slice: context-switches 60
cgroup b.slice: context-switches 40
`},
	{"intervals that begin in the middle", `
     5.000000000                 10      context-switches
     6.000000000                 20      context-switches
     7.000000000      <not counted>      context-switches
`, `
block 2 [] unknown elapsed 3
context-switches 30
until 5: context-switches 10
until 6: context-switches 20
until 7: context-switches not counted
`},
	{"a second run of intervals", `
#           time             counts unit events
     1.000000000                 10      context-switches
     2.000000000                 20      context-switches
     1.000000000                 30      context-switches
`, `
block 3 [] unknown elapsed 2
context-switches 30
until 1: context-switches 10
until 2: context-switches 20
block 5 [] unknown elapsed 1
context-switches 30
until 1: context-switches 30
`},
	{"a block after intervals that is no summary of them", `
     1.000000000                 10      context-switches
     2.000000000                 20      context-switches
$ perf stat -p 7 sleep 1

 Performance counter stats for process id '7':

               500      context-switches

       1.000000000 seconds time elapsed
`, `
block 2 [] unknown elapsed 2
context-switches 30
until 1: context-switches 10
until 2: context-switches 20
block 6 [process id '7'] process [7] elapsed 1
context-switches 500
`},
	{"a summary behind the output of the program", `
     1.000000000                 10      context-switches
     2.000000000                 20      context-switches
done.

 Performance counter stats for 'prog':

                30      context-switches

       2.100000000 seconds time elapsed
`, `
block 2 ['prog'] command elapsed 2.1
context-switches 30
until 1: context-switches 10
until 2: context-switches 20
`},
	{"rows without header, twice", `
before:
             1,000      context-switches          #    0.023 M/sec
                10      cpu-migrations            #    0.621 K/sec
after:
               100      context-switches          #    0.023 M/sec
                 1      cpu-migrations            #    0.621 K/sec
`, `
block 3 [] unknown
context-switches 1000
cpu-migrations 10
block 6 [] unknown
context-switches 100
cpu-migrations 1
`},
	{"remarks behind rows", `
 Performance counter stats for 'x':
             1,000      context-switches          #    0.023 M/sec   <-- !!! 12 cs
               500      cpu-migrations   <--- why?
`, `
block 2 ['x'] command
context-switches 1000
cpu-migrations 500
`},
	{"output of the program between rows", `
 Performance counter stats for 'x':

hello 12 cycles of rain
  3 blind mice
 100 ops/sec
             1,000      context-switches
  26.5 usecs/op
       1.000000000 seconds time elapsed
   5.5 seconds of sleep
`, `
block 2 ['x'] command elapsed 1
context-switches 1000
`},
	{"a count below zero", `
 Performance counter stats for 'x':
               100      cpu-migrations
                -5      context-switches          #    0.047 M/sec
       1.000000000 seconds time elapsed
`, `
block 2 ['x'] command elapsed 1
cpu-migrations 100
dropped 4
`},
	{"cut in the event, inside other text", `
 Performance counter stats for 'x':
               100      cpu-migrations
               557      context-sw
and so on
`, `
block 2 ['x'] command
cpu-migrations 100
dropped 4
`},
	{"cut at the front", `
,541      context-switches          #    0.023 M/sec
            24,871      cpu-migrations            #    0.621 K/sec
               223      page-faults               #    0.006 K/sec
`, `
block 3 [] unknown
cpu-migrations 24871
page-faults 223
`},
	{"a header without end", `
 Performance counter stats for 'sh -c
               100      context-switches
       1.000000000 seconds time elapsed
`, `
block 2 ['sh -c] command elapsed 1
context-switches 100
`},
	{"two blocks on one line", `
$ perf stat a Performance counter stats for 'a': 1,000 cs # 1 K/sec 1.5 seconds time elapsed $ perf stat b Performance counter stats for 'b' (2 runs): 2 cs 2.5 +- 0.1 seconds time elapsed ( +- 4.00% )
`, `
block 2 ['a'] command elapsed 1.5
context-switches 1000
block 2 ['b' (2 runs)] command elapsed 2.5 runs 2
context-switches 2
`},
	{"old CSV", `
0.345620,task-clock
2,context-switches
<not counted>,cycles
`, `
block 2 [] unknown
task-clock 0.34562 msec
context-switches 2
cycles not counted
`},
	{"CSV of several runs of a loop", `
100,,context-switches,1000,100.00,,
5,,cpu-migrations,1000,100.00,,
200,,context-switches,1000,100.00,,
6,,cpu-migrations,1000,100.00,,
`, `
block 2 [] unknown
context-switches 100
cpu-migrations 5
block 4 [] unknown
context-switches 200
cpu-migrations 6
`},
	{"CSV with terms of a PMU, a variance and a share", `
1234,,cpu/event=0x3c,umask=0x0/,1.25%,1000,25.00,,
99,,context-switches,0.50%,4000,100.00,,
`, `
block 2 [] unknown
cpu/event=0x3c,umask=0x0/ 1234 running 25% ± 1.25%
context-switches 99 ± 0.5%
`},
	{"CSV with decimal commas between commas, per socket", `
S0,2,248,86,msec,task-clock,248861144,100,00,0,CPUs utilized
S0,2,40121,,context-switches,248861144,100,00,161,K/sec
`, `
block 2 [] unknown
task-clock 248.86 msec
context-switches 40121
socket S0: task-clock 248.86 msec
socket S0: context-switches 40121
`},
	{"a cut row of CSV", `
100,,context-switches,1000,100.00,,
,,cycles,1000,100.00,,
,,,,,1.37,stalled cycles per insn
5,,cpu-migr
12
`, `
block 2 [] unknown
context-switches 100
dropped 3
dropped 5
dropped 6
`},
	{"JSON on one line, with decimal commas, a comma too many, and cut", `
{"counter-value" : "17,000000", "unit" : "", "event" : "cs", "event-runtime" : 1, "pcnt-running" : 50,00, } {"counter-value" : "2,500000", "unit" : "msec", "event" : "task-clock", "event-runtime" : 1, "pcnt-running" : 100,00} {"counter-value" : "99
`, `
block 2 [] unknown
context-switches 17 running 50%
task-clock 2.5 msec
dropped 2
`},
	{"JSON spread over lines", `
[
  {
    "counter-value": "5.000000",
    "unit": "",
    "event": "context-switches",
    "thread": "a}b-12"
  },
  {
    "counter-value": "<not supported>",
    "event": "cycles",
    "thread": "a}b-12"
  }
]
`, `
block 3 [] unknown
context-switches 5
cycles not supported
thread a}b-12: context-switches 5
thread a}b-12: cycles not supported
`},
	{"JSON of 6.19: clocks are nanoseconds", `
{"counter-value" : "28178124975.000000", "unit" : "", "event" : "cpu-clock", "event-runtime" : 1, "pcnt-running" : 100.00}
`, `
block 2 [] unknown
cpu-clock 28178.124975 msec
`},
}

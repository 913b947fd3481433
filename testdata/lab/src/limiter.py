# limiter.py PID PERIOD_MS: holds a process to half a CPU as cpulimit does, by
# SIGSTOP and SIGCONT.
import os, signal, sys, time
pid, half = int(sys.argv[1]), float(sys.argv[2]) / 2000
while True:
    os.kill(pid, signal.SIGCONT)
    time.sleep(half)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(half)

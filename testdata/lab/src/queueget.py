# queueget.py: three threads wait for jobs by Queue.get with a limit of 1 ms, so
# that they can look at a stop flag. No job comes.
import queue, threading
jobs, stop = queue.Queue(), threading.Event()
def loop():
    while not stop.is_set():
        try:
            jobs.get(timeout=0.001)
        except queue.Empty:
            pass
for _ in range(3):
    threading.Thread(target=loop).start()

# usleep.py: a reader that looks for new data and sleeps 200 µs when there is none.
import time, collections
inbox = collections.deque()
while True:
    while inbox:
        inbox.popleft()
    time.sleep(0.0002)

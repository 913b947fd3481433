# ttyflood.py: a program that prints much, in blocks, to a terminal whose reader is slow: it
# takes 512 bytes every 2 ms.
import os, pty, time
pid, fd = pty.fork()
if pid == 0:
    line = b"2026-11-30 12:00:00 INFO request served in 12 ms, 4711 bytes\n" * 60
    while True:
        os.write(1, line)
while True:
    os.read(fd, 512)
    time.sleep(0.002)

# gil.py: four threads compute in Python: one interpreter lock, passed on every
# 5 ms by its switch interval.
import threading
def work():
    n = 0
    while True:
        n += 1
for _ in range(4):
    threading.Thread(target=work).start()

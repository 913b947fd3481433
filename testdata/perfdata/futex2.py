import ctypes, struct, time, threading
libc = ctypes.CDLL(None, use_errno=True)
WAITV, WAKE, WAIT, REQUEUE = 449, 454, 455, 456
word = ctypes.c_uint32(1)
other = ctypes.c_uint32(1)
addr, two = ctypes.addressof(word), ctypes.addressof(other)
ts = (ctypes.c_int64 * 2)()
def until(ms):
    t = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + ms * 1000000
    ts[0], ts[1] = t // 10**9, t % 10**9
    return ctypes.addressof(ts)
def call(*a): libc.syscall(*[ctypes.c_long(x) for x in a])
SIZE32 = 2 | 128
for i in range(5):
    call(WAIT, addr, 1, 0xffffffff, SIZE32, until(2), 1)
vec = ctypes.create_string_buffer(struct.pack('<QQII', 1, addr, SIZE32, 0) + struct.pack('<QQII', 1, two, SIZE32, 0))
for i in range(3):
    call(WAITV, ctypes.addressof(vec), 2, 0, until(1), 1)
def waker():
    time.sleep(0.002)
    call(REQUEUE, ctypes.addressof(vec), 0, 0, 1)
    call(WAKE, addr, 0xffffffff, 1, SIZE32)
    call(WAKE, two, 0xffffffff, 1, SIZE32)
t = threading.Thread(target=waker); t.start()
call(WAIT, addr, 1, 0xffffffff, SIZE32, 0, 0)
t.join()

# reduce.py FRAMES: of /proc/kallsyms, the symbols that the addresses in a file
# fall into, the next ones, which end them, and the kernel's bounds.
import bisect, sys
by = {}
for line in open("/proc/kallsyms"):
    at, kind, name = line.split()[:3]
    by.setdefault(int(at, 16), []).append(line.rstrip())
order, keep = sorted(by), set()
for line in open(sys.argv[1]):
    k = bisect.bisect_right(order, int(line, 16))
    keep.update(order[max(k - 1, 0):k + 1])
for at in order:
    if at in keep or any(l.split()[2] in ("_text", "_stext", "_etext", "_end") for l in by[at]):
        print("\n".join(by[at]))

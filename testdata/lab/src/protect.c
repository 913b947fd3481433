// protect.c: 8 threads change the protection of pages of their own (mprotect,
// as a garbage collector or a JIT does) and touch them: all write-lock the one
// address space.
#include "lab.h"
static void *work(void *a) {
	char *p = mmap(0, 64 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0;; i++) {
		char *q = p + (i % 64 << 12);
		mprotect(q, 4096, PROT_READ);
		lab_sink += *q;
		mprotect(q, 4096, PROT_READ | PROT_WRITE);
		*q = i;
		if (i % 64 == 63) madvise(p, 64 << 12, MADV_DONTNEED);
	}
	return a;
}
int main(void) {
	for (long i = 1; i < 8; i++) spawn(work, i);
	work(0);
}

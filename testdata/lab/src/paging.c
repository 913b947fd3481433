// paging.c MB: reads its memory at random, page by page; started in a memory
// cgroup of half that size, with swap.
#include "lab.h"
int main(int n, char **v) {
	size_t size = (size_t)(n > 1 ? atoi(v[1]) : 64) << 20;
	char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, size, MADV_NOHUGEPAGE);
	uint64_t x = 88172645463325252u;
	for (size_t i = 0; i < size; i += 8) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		*(uint64_t *)(p + i) = x;
	}
	for (;;) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		lab_sink += p[x % size];
		crunch(20);
	}
}

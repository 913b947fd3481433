// Stacks of all kinds, for recording: recursion, alloca, realigned stacks,
// callbacks through libc, signal handlers, sleeping, and many arguments.
#include <alloca.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile uint64_t sink;

NOINLINE void burn(int n) {
	for (volatile int i = 0; i < n; i++)
		sink += i * 3;
}

NOINLINE int recurse(int n, int k) {
	char pad[40];
	memset(pad, n, sizeof pad);
	sink += pad[n % 40];
	if (n == 0) {
		burn(k);
		return k;
	}
	int r = recurse(n - 1, k) + n;
	sink += r;
	return r;
}

NOINLINE void with_alloca(int n) {
	char *p = alloca(n);
	memset(p, 1, n);
	burn(20000);
	sink += p[n / 2];
}

NOINLINE int compare(const void *a, const void *b) {
	burn(40);
	return *(const int *)a - *(const int *)b;
}

NOINLINE void sorting(void) {
	static int v[600];
	for (int i = 0; i < 600; i++)
		v[i] = (i * 7919) % 601;
	qsort(v, 600, sizeof *v, compare);
}

NOINLINE void handler(int s) {
	(void)s;
	burn(6000);
	sink++;
}

NOINLINE void raises(void) {
	for (int i = 0; i < 6; i++) {
		raise(SIGUSR1);
		burn(500);
	}
}

NOINLINE void format(void) {
	char b[400];
	for (int i = 0; i < 120; i++)
		sink += snprintf(b, sizeof b, "%d %f %s %x", i, i * 1.5, "text", i);
}

NOINLINE void early(int n) {
	if (n > 3) {
		char b[64];
		memset(b, n, 64);
		burn(n * 200);
		sink += b[3];
		return;
	}
	sink += n;
	burn(900);
}

NOINLINE void naps(void) {
	struct timespec t = {0, 50000};
	nanosleep(&t, 0);
	sched_yield();
}

NOINLINE void aligned(void) {
	_Alignas(64) volatile char b[256];
	b[3] = 1;
	burn(4000);
	sink += b[3];
}

NOINLINE void wide(int a, int b, int c, int d, int e, int f, int g, int h) {
	burn(2000);
	sink += a + b + c + d + e + f + g + h;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	struct sigaction sa = {.sa_handler = handler};
	sigaction(SIGUSR1, &sa, 0);
	sigaction(SIGALRM, &sa, 0);
	struct itimerval it = {{0, 300}, {0, 300}};
	setitimer(ITIMER_REAL, &it, 0);
	for (int i = 0; i < rounds; i++) {
		recurse(20 + i * 13 % 160, 9000);
		with_alloca(100 + i % 900);
		sorting();
		raises();
		format();
		early(i % 9);
		naps();
		aligned();
		wide(1, 2, 3, 4, 5, 6, 7, i);
	}
	return 0;
}

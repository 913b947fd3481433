// lab.h: what the workloads share.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline double now_s(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static volatile unsigned lab_sink;

// crunch computes for a number of microseconds.
__attribute__((noinline)) static void crunch(long us) {
	double end = now_s() + us / 1e6;
	do {
		for (int i = 0; i < 150; i++) lab_sink = lab_sink * 1664525u + 1013904223u;
	} while (now_s() < end);
}

static inline void rest(long us) {
	struct timespec d = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&d, 0);
}

static inline void pin(int cpu) {
	cpu_set_t s;
	CPU_ZERO(&s);
	CPU_SET(cpu, &s);
	sched_setaffinity(0, sizeof s, &s);
}

static inline void named(const char *name) { prctl(PR_SET_NAME, name); }

static inline pthread_t spawn(void *(*f)(void *), long a) {
	pthread_t t;
	pthread_create(&t, 0, f, (void *)a);
	return t;
}

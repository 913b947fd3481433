// rtbeat.c: one thread computes; another of higher priority (SCHED_FIFO) on the
// same CPU wakes 2,000 times a second by a timerfd and works 40 µs. As two
// processes; the computing one is recorded.
#include "lab.h"
#include <sys/timerfd.h>
int main(void) {
	pin(1);
	if (fork() == 0) {
		named("beat");
		struct sched_param p = {10};
		sched_setscheduler(0, SCHED_FIFO, &p);
		int fd = timerfd_create(CLOCK_MONOTONIC, 0);
		struct itimerspec every = {{0, 500000}, {0, 500000}};
		timerfd_settime(fd, 0, &every, 0);
		for (uint64_t n;;) {
			read(fd, &n, sizeof n);
			crunch(40);
		}
	}
	for (;;) crunch(1000);
}

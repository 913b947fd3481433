// control.c: a control loop of 1 kHz: sleeps until the next millisecond
// (clock_nanosleep, absolute), then works for 0.6 ms of it. What it sleeps for
// is its schedule: there is nothing that it polls.
#include "lab.h"
int main(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (;;) {
		t.tv_nsec += 1000000;
		if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0)) {}
		crunch(600);
	}
}

// hog.c N: computes in N threads, and never waits.
#include "lab.h"
static void *compute(void *a) {
	for (;;) crunch(1000);
	return a;
}
int main(int n, char **v) {
	for (long i = n > 1 ? atoi(v[1]) : 1; i > 1; i--) spawn(compute, i);
	compute(0);
}

// eventfds.c: two threads wake each other through two eventfds for every item.
#include "lab.h"
#include <sys/eventfd.h>
static int there, back;
static void *answer(void *a) {
	named("answer");
	for (eventfd_t v;;) {
		eventfd_read(there, &v);
		crunch(3);
		eventfd_write(back, 1);
	}
	return a;
}
int main(void) {
	there = eventfd(0, 0), back = eventfd(0, 0);
	spawn(answer, 1);
	named("ask");
	for (eventfd_t v;;) {
		eventfd_write(there, 1);
		eventfd_read(back, &v);
		crunch(3);
	}
}

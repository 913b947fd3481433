// pollms.c: three threads wait for a message that never comes: poll() on a
// socket with a limit of 1 ms, and a look at a flag.
#include "lab.h"
#include <poll.h>
static volatile int stop;
static void *loop(void *a) {
	int s[2];
	socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
	struct pollfd p = {s[0], POLLIN, 0};
	while (!stop) poll(&p, 1, 1);
	return a;
}
int main(void) {
	spawn(loop, 1);
	spawn(loop, 2);
	loop(0);
}

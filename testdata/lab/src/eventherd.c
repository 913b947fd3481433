// eventherd.c: 14 threads, each with an epoll of its own, watch one listening
// socket without EPOLLEXCLUSIVE. Every connection wakes all of them; one
// accepts it, the others find nothing. A client process connects 600 times a
// second.
#include "lab.h"
#include <sys/epoll.h>
#include <sys/un.h>

static int lis;
static struct sockaddr_un at = {AF_UNIX, "\0eventherd"};

static void *serve(void *a) {
	int ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	epoll_ctl(ep, EPOLL_CTL_ADD, lis, &e);
	for (;;) {
		if (epoll_wait(ep, &e, 1, -1) < 1) continue;
		int c = accept(lis, 0, 0);
		if (c < 0) continue;
		crunch(15);
		close(c);
	}
	return a;
}

int main(void) {
	lis = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	bind(lis, (struct sockaddr *)&at, sizeof at);
	listen(lis, 128);
	if (fork() == 0) {
		named("client");
		for (;;) {
			int c = socket(AF_UNIX, SOCK_STREAM, 0);
			connect(c, (struct sockaddr *)&at, sizeof at);
			close(c);
			rest(1500);
		}
	}
	for (long i = 1; i < 14; i++) spawn(serve, i);
	serve(0);
}

// condherd.c: 20 workers wait for one condition. A feeder adds one item a
// millisecond and wakes them all with pthread_cond_broadcast: one finds it.
#include "lab.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int items;

static void *work(void *a) {
	pthread_mutex_lock(&m);
	for (;;) {
		while (!items) pthread_cond_wait(&c, &m);
		items--;
		pthread_mutex_unlock(&m);
		crunch(10);
		pthread_mutex_lock(&m);
	}
	return a;
}

int main(void) {
	for (long i = 0; i < 20; i++) spawn(work, i);
	named("feeder");
	for (;;) {
		rest(900);
		pthread_mutex_lock(&m);
		items++;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
}

// mq.c: two processes ask and answer over two POSIX message queues.
#include "lab.h"
#include <mqueue.h>
int main(void) {
	struct mq_attr at = {.mq_maxmsg = 4, .mq_msgsize = 64};
	mq_unlink("/ask"), mq_unlink("/answer");
	mqd_t ask = mq_open("/ask", O_RDWR | O_CREAT, 0600, &at), answer = mq_open("/answer", O_RDWR | O_CREAT, 0600, &at);
	char b[64] = "";
	if (fork() == 0) {
		named("mq-server");
		for (;;) {
			mq_receive(ask, b, 64, 0);
			crunch(5);
			mq_send(answer, b, 8, 0);
		}
	}
	for (;;) {
		mq_send(ask, b, 8, 0);
		mq_receive(answer, b, 64, 0);
		crunch(5);
	}
}

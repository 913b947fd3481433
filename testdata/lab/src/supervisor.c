// supervisor.c: a sandbox. The child's getppid calls go to a supervisor by a
// seccomp filter with user notification; the supervisor lets each go on.
#include "lab.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static int filtered(void) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
}

static int fd;
static void *supervise(void *a) {
	struct seccomp_notif q;
	for (;;) {
		memset(&q, 0, sizeof q);
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0) continue;
		struct seccomp_notif_resp r = {q.id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
	return a;
}

int main(void) {
	int pair[2];
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	// The child installs the filter and gives the listener to the parent by pidfd.
	pid_t child = fork();
	if (child == 0) {
		named("boxed");
		int l = filtered();
		write(pair[1], &l, sizeof l);
		rest(300000);
		for (;;) {
			syscall(SYS_getppid);
			crunch(80);
		}
	}
	int l;
	read(pair[0], &l, sizeof l);
	int pf = syscall(SYS_pidfd_open, child, 0);
	fd = syscall(SYS_pidfd_getfd, pf, l, 0);
	named("supervisor");
	supervise(0);
}

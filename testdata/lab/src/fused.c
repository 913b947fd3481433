// fused.c DIR: a file system of one file, served over /dev/fuse without any
// caching, and a reader that opens, reads and closes the file again and again.
// Both in a mount namespace of their own; the reader is recorded.
#include "lab.h"
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/uio.h>

static int dev;
static const char text[] = "value 42\n";

static void reply(uint64_t unique, int err, const void *body, size_t n) {
	struct fuse_out_header h = {sizeof h + n, err, unique};
	struct iovec v[2] = {{&h, sizeof h}, {(void *)body, n}};
	writev(dev, v, n ? 2 : 1);
}

static struct fuse_attr attr(uint64_t ino) {
	struct fuse_attr a = {.ino = ino, .nlink = 1, .blksize = 4096};
	a.mode = ino == 1 ? S_IFDIR | 0755 : S_IFREG | 0644;
	a.size = ino == 1 ? 0 : sizeof text - 1;
	return a;
}

static void serve(void) {
	static char buf[1 << 18];
	while (read(dev, buf, sizeof buf) > 0) {
		struct fuse_in_header *h = (void *)buf;
		struct fuse_init_out init = {.major = 7, .minor = 31, .max_readahead = 0, .max_write = 65536};
		struct fuse_entry_out e = {.nodeid = 2, .attr = attr(2)};
		struct fuse_attr_out a = {.attr = attr(h->nodeid)};
		struct fuse_open_out o = {.fh = 1, .open_flags = FOPEN_DIRECT_IO};
		crunch(5);
		switch (h->opcode) {
		case FUSE_INIT: reply(h->unique, 0, &init, sizeof init); break;
		case FUSE_LOOKUP: reply(h->unique, 0, &e, sizeof e); break;
		case FUSE_GETATTR: reply(h->unique, 0, &a, sizeof a); break;
		case FUSE_OPEN: reply(h->unique, 0, &o, sizeof o); break;
		case FUSE_READ: reply(h->unique, 0, text, sizeof text - 1); break;
		case FUSE_RELEASE: case FUSE_FLUSH: reply(h->unique, 0, 0, 0); break;
		case FUSE_FORGET: case FUSE_BATCH_FORGET: break;
		default: reply(h->unique, -ENOSYS, 0, 0);
		}
	}
}

int main(int n, char **v) {
	char opt[99], file[200], b[64];
	unshare(CLONE_NEWNS);
	mount(0, "/", 0, MS_REC | MS_PRIVATE, 0);
	mkdir(v[1], 0755);
	dev = open("/dev/fuse", O_RDWR);
	snprintf(opt, sizeof opt, "fd=%d,rootmode=40000,user_id=0,group_id=0", dev);
	if (mount("demo", v[1], "fuse", 0, opt)) return perror("mount"), 1;
	if (fork() == 0) {
		named("fs-daemon");
		serve();
		return 0;
	}
	snprintf(file, sizeof file, "%s/value", v[1]);
	for (;;) {
		int f = open(file, O_RDONLY);
		while (read(f, b, sizeof b) > 0) break;
		close(f);
		crunch(20);
	}
}

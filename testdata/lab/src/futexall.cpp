// futexall.cpp: 12 workers wait on one futex word, and no lock. A producer adds
// one ticket and wakes them all; one takes it with a compare-and-swap.
#include <atomic>
#include <chrono>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<int> tickets{0};

static void futex(int op, int val) { syscall(SYS_futex, &tickets, op, val, nullptr, nullptr, 0); }

static void work() {
	for (;;) {
		int n = tickets.load();
		if (n == 0)
			futex(FUTEX_WAIT_PRIVATE, 0);
		else
			tickets.compare_exchange_strong(n, n - 1);
	}
}

int main() {
	std::vector<std::thread> all;
	for (int i = 0; i < 12; i++) all.emplace_back(work);
	for (;;) {
		std::this_thread::sleep_for(std::chrono::microseconds(1200));
		tickets.fetch_add(1);
		futex(FUTEX_WAKE_PRIVATE, 1 << 30);
	}
}

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace app {
namespace {
int hidden(int v) { return v * 3 + (v & 1 ? 7 : 9); }
}  // namespace

template <typename T> class Queue {
public:
	void push(T v) { items_.push_back(std::move(v)); std::push_heap(items_.begin(), items_.end()); }
	bool pop(T &out)
	{
		if (items_.empty())
			return false;
		std::pop_heap(items_.begin(), items_.end());
		out = std::move(items_.back());
		items_.pop_back();
		return true;
	}
private:
	std::vector<T> items_;
};

struct Event {
	int when;
	std::string name;
	bool operator<(const Event &o) const { return when > o.when || (when == o.when && name < o.name); }
	virtual ~Event() = default;
	Event(int w, std::string n) : when(w), name(std::move(n)) {}
	Event() : when(0) {}
	Event(const Event &) = default;
	Event &operator=(const Event &) = default;
};

static long run(Queue<Event> &q, const std::function<long(const Event &)> &f)
{
	long sum = 0;
	Event e;
	while (q.pop(e))
		sum += f(e);
	return sum;
}
}  // namespace app

int main(int argc, char **)
{
	app::Queue<app::Event> q;
	std::map<std::string, int> seen;
	for (int i = 0; i < 100 * argc; i++)
		q.push(app::Event(app::hidden(i * 7919) % 1000, "event-" + std::to_string(i)));
	auto count = [&seen](const app::Event &e) -> long {
		return ++seen[e.name.substr(0, 7)] + app::hidden(e.when);
	};
	long sum = app::run(q, count);
	std::vector<int> v(1000);
	std::iota(v.begin(), v.end(), 0);
	std::sort(v.begin(), v.end(), [](int a, int b) { return app::hidden(a) < app::hidden(b); });
	auto p = std::make_shared<long>(sum);
	std::thread t([p, &v] { for (int x : v) *p += x; });
	t.join();
	try {
		if (*p == 42)
			throw std::runtime_error("unlikely");
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
	std::printf("%ld %zu\n", *p, seen.size());
}

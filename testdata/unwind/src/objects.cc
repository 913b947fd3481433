// Exceptions, virtual calls, lambdas, std::function, sort, threads.
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static volatile unsigned long sink;
#define NOINLINE __attribute__((noinline))
NOINLINE void burn(int n) { for (int i = 0; i < n; i++) sink = sink + i; }
struct Base { virtual void go(int n) = 0; virtual ~Base() = default; };
struct Leaf : Base { void go(int n) override { burn(200); if (n == 0) throw std::runtime_error("leaf " + std::to_string(n)); } };
struct Node : Base { std::unique_ptr<Base> kid; NOINLINE void go(int n) override { std::string guard(50, 'x'); kid->go(n); sink += guard.size(); } };
NOINLINE void throws(Base &b) { try { b.go(0); } catch (const std::exception &e) { burn(200); sink += e.what()[0]; } }
NOINLINE void text() { std::ostringstream o; for (int i = 0; i < 60; i++) o << i << ' ' << i * 0.5 << '\n'; sink += o.str().size(); }
NOINLINE void maps() { std::map<std::string, int> m; for (int i = 0; i < 100; i++) m[std::to_string(i * 37 % 101)] += i; for (auto &[k, v] : m) sink += v; }
NOINLINE void sorts() { std::vector<std::string> v; for (int i = 0; i < 200; i++) v.push_back(std::to_string(i * 7919 % 601)); std::sort(v.begin(), v.end(), [](const auto &a, const auto &b) { burn(3); return a < b; }); sink += v.size(); }
NOINLINE void calls(const std::function<void(int)> &f, int n) { if (n) calls([&](int k) { f(k + 1); burn(50); }, n - 1); else f(1); }
int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	std::mutex m; std::condition_variable cv; bool turn = false, stop = false;
	std::thread other([&] { std::unique_lock l(m); while (!stop) { cv.wait(l, [&] { return turn || stop; }); turn = false; burn(2000); cv.notify_one(); } });
	std::unique_ptr<Base> b = std::make_unique<Leaf>();
	for (int i = 0; i < 12; i++) { auto n = std::make_unique<Node>(); n->kid = std::move(b); b = std::move(n); }
	for (int i = 0; i < rounds; i++) {
		throws(*b); text(); maps(); sorts(); calls([](int k) { burn(k * 100); }, 10);
		{ std::unique_lock l(m); turn = true; cv.notify_one(); cv.wait_for(l, std::chrono::microseconds(200)); }
	}
	{ std::unique_lock l(m); stop = true; cv.notify_one(); }
	other.join();
}

// perrequest.cpp: a thread for every request, by std::async: starts it, waits
// for its end, and takes the next.
#include <cmath>
#include <future>
static double request(int n) {
	double s = 0;
	for (int i = 1; i < 3000; i++) s += std::sqrt(double(i + n));
	return s;
}
int main() {
	volatile double sum = 0;
	for (int n = 0;; n++) sum = sum + std::async(std::launch::async, request, n).get();
}

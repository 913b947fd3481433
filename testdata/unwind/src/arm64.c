// Functions with each kind of frame that gcc makes on arm64, without a C library.
#define NOINLINE __attribute__((noinline, noclone))
volatile long sink;
NOINLINE void leaf(int n) { sink += n; }
NOINLINE long mid(int n, char *p) { char b[80]; for (int i = 0; i < 80; i++) b[i] = p[i % 3]; leaf(b[n % 80]); return b[7] + sink; }
NOINLINE double fp(double a, double b, int n) { double s = a; for (int i = 0; i < n; i++) { leaf(i); s = s * b + a; } return s; }
NOINLINE long early(long n) { if (n > 3) { long r = early(n - 1) * 3; leaf(r); return r + n; } return n; }
NOINLINE long vla(int n) { char b[n]; for (int i = 0; i < n; i++) b[i] = i; return mid(n, b) + b[n / 2]; }
NOINLINE long big(int n) { static int t; char b[70000]; b[n] = 1; leaf(b[n]); t++; return b[n] + t; }
void _start(void) { long s = 0; for (int i = 0; i < 100; i++) s += early(i % 20) + vla(40 + i) + fp(i, 2, 4) + big(i); sink += s; for (;;) ; }

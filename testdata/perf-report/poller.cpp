#include <pthread.h>
#include <time.h>
#include <vector>
#include <cstdio>
static volatile long sink;
template<class T> struct Ring { __attribute__((noinline)) long sum(std::vector<T, std::allocator<T> >& v, char const* why){ long s=0; for(auto x: v) s+= (long)x*7%13; sink=s; return s+why[0]; } };
extern "C" __attribute__((noinline)) void work_inner(int n){ for(int i=0;i<n;i++) sink+=i; }
extern "C" __attribute__((noinline)) void work_outer(int n){ work_inner(n); for(int i=0;i<n/3;i++) sink+=i; }
extern "C" __attribute__((noinline)) void other_path(int n){ work_inner(n/2); sink++; }
extern "C" void* hot(void*){ pthread_setname_np(pthread_self(),"io mgr 0"); Ring<int> r; std::vector<int> v(2000,3); for(int i=0;i<1500;i++){ work_outer(20000); other_path(20000); r.sum(v,"x"); } return 0; }
extern "C" void* napper(void*){ pthread_setname_np(pthread_self(),"poller"); struct timespec t={0,10000}; for(int i=0;i<600;i++) nanosleep(&t,0); return 0; }
int main(){ pthread_t a,b; pthread_create(&a,0,hot,0); pthread_create(&b,0,napper,0); pthread_join(a,0); pthread_join(b,0); }

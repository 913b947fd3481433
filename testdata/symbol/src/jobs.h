/* Functions that are inlined, from a header. */
struct job { unsigned id, cost; struct job *next; };

static inline unsigned mix(unsigned v)
{
	v ^= v >> 16;
	v *= 0x7feb352dU;
	return v ^ v >> 15;
}

static inline unsigned weigh(const struct job *j)
{
	return mix(j->cost) % 97 + mix(j->id) % 13;
}

unsigned drain(struct job *head, int limit);
void fail(const char *what, int code) __attribute__((noreturn, cold));

#include "jobs.h"

static unsigned step(struct job *j, unsigned sum)
{
	if (j->cost > 1000000)
		fail("cost", (int)j->cost);
	sum += weigh(j);
	for (unsigned i = 0; i < j->cost % 7; i++)
		sum = mix(sum + i);
	return sum;
}

unsigned drain(struct job *head, int limit)
{
	unsigned sum = 0;
	for (struct job *j = head; j; j = j->next) {
		if (limit-- <= 0)
			fail("limit", limit);
		sum += step(j, sum);
		if (sum & 1)
			sum = step(j, sum >> 1);
	}
	return sum;
}

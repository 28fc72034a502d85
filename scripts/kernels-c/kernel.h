/* What the plain C forms share: a clock, arguments, and results in the Go
 * benchmark format after the last iteration. They are what a C programmer
 * would write first, in one process of one thread. */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static int64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int64_t argument(int argc, char **argv, int i)
{
	if (i >= argc) {
		fprintf(stderr, "%s: argument %d is missing\n", argv[0], i);
		exit(2);
	}
	return strtoll(argv[i], NULL, 10);
}

static inline void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

/* jitter STEPS ITERATIONS */
#include "kernel.h"

static uint64_t chain(uint64_t x, int64_t steps)
{
	for (int64_t i = 0; i < steps; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		x *= UINT64_C(0x2545f4914f6cdd1d);
	}
	return x;
}

int main(int argc, char **argv)
{
	int64_t steps = argument(argc, argv, 1), iterations = argument(argc, argv, 2);
	int64_t *took = calloc(iterations, sizeof *took);
	volatile uint64_t seed = UINT64_C(0x9e3779b97f4a7c15), sum = 0;

	for (int64_t i = -1; i < iterations; i++) {
		int64_t start = now();
		sum = chain(seed, steps);
		if (i >= 0)
			took[i] = now() - start;
	}
	printf("checksum: %#018lx\n", (unsigned long)sum);
	for (int64_t i = 0; i < iterations; i++)
		printf("BenchmarkJitter/steps=%ld 1 %ld ns/iteration\n", (long)steps, (long)took[i]);
	return 0;
}

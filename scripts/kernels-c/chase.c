/* chase KIB LOADS ITERATIONS SEED */
#include "kernel.h"

static uint64_t state;

static uint64_t below(uint64_t n)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned __int128)(z ^ z >> 31) * n >> 64;
}

static void **follow(void **p, int64_t loads)
{
	for (int64_t i = 0; i < loads; i++)
		p = *p;
	return p;
}

int main(int argc, char **argv)
{
	int64_t kib = argument(argc, argv, 1), loads = argument(argc, argv, 2);
	int64_t iterations = argument(argc, argv, 3);
	size_t lines = kib * 1024 / 64;
	char *ring = map(lines * 64);
	int64_t *took = calloc(iterations, sizeof *took);
#define LINK(i) (*(uint64_t *)(ring + 64 * (i)))

	state = argument(argc, argv, 4);
	for (size_t i = 0; i < lines; i++)
		LINK(i) = i;
	for (size_t i = lines - 1; i > 0; i--) {
		size_t j = below(i);
		uint64_t t = LINK(i);
		LINK(i) = LINK(j);
		LINK(j) = t;
	}
	for (size_t i = 0; i < lines; i++)
		LINK(i) = (uint64_t)(ring + 64 * LINK(i));

	void **volatile p = (void **)ring;
	for (int64_t i = -1; i < iterations; i++) {
		int64_t start = now();
		p = follow(p, loads);
		if (i >= 0)
			took[i] = now() - start;
	}
	printf("checksum: %#lx\n", (unsigned long)((char *)p - ring));
	for (int64_t i = 0; i < iterations; i++)
		printf("BenchmarkChase/kib=%ld %ld %.7g ns/load\n", (long)kib, (long)loads, (double)took[i] / loads);
	return 0;
}

/* matmul MULTIPLICATIONS ITERATIONS */
#include "kernel.h"

#define N 32

static _Alignas(64) double a[N][N], b[N][N], p[N][N];

/* The plain triple loop, in the order that gcc can vectorize. */
static __attribute__((noinline)) void multiply(double (*restrict p)[N], double (*restrict a)[N], double (*restrict b)[N])
{
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++)
			p[i][j] = 0;
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				p[i][j] += a[i][k] * b[k][j];
	}
}

int main(int argc, char **argv)
{
	int64_t multiplications = argument(argc, argv, 1), iterations = argument(argc, argv, 2);
	int64_t *took = calloc(iterations, sizeof *took);

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = 1 + (i * N + j) * 37 % 127 / 128.0;
			b[i][j] = 1 + ((i * N + j) * 37 + 61) % 127 / 128.0;
		}
	for (int64_t i = -1; i < iterations; i++) {
		int64_t start = now();
		for (int64_t m = 0; m < multiplications; m++) {
			multiply(p, a, b);
			__asm__ volatile("" ::: "memory");
		}
		if (i >= 0)
			took[i] = now() - start;
	}
	double sum = 0;
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			sum += p[i][j];
	printf("checksum: %.17g\n", sum);
	for (int64_t i = 0; i < iterations; i++)
		printf("BenchmarkMatmul/n=32 %ld %.8g MFLOP/s\n", (long)multiplications, 2e3 * N * N * N * multiplications / took[i]);
	return 0;
}

/* stream ELEMENTS ITERATIONS */
#include "kernel.h"

#define SCALAR 3.0

static void copy(double *restrict c, const double *restrict a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c[i] = a[i];
}

static void scale(double *restrict b, const double *restrict c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b[i] = SCALAR * c[i];
}

static void add(double *restrict c, const double *restrict a, const double *restrict b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + SCALAR * c[i];
}

static double error(const double *x, double want, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += fabs(x[i] - want);
	return sum / n / want;
}

int main(int argc, char **argv)
{
	size_t n = argument(argc, argv, 1);
	int64_t iterations = argument(argc, argv, 2);
	size_t stride = (n + 7) / 8 * 8;
	double *a = map(3 * stride * sizeof *a), *b = a + stride, *c = b + stride;
	int64_t(*took)[4] = calloc(iterations, sizeof *took);
	static const char *names[] = {"copy", "scale", "add", "triad"};

	for (size_t i = 0; i < n; i++) {
		a[i] = b[i] = 2.0;
		c[i] = 0.0;
	}
	double wa = 2.0, wb = 2.0, wc = 0.0;
	for (int64_t i = -1; i < iterations; i++) {
		int64_t t[5];
		t[0] = now();
		copy(c, a, n);
		t[1] = now();
		scale(b, c, n);
		t[2] = now();
		add(c, a, b, n);
		t[3] = now();
		triad(a, b, c, n);
		t[4] = now();
		for (int k = 0; k < 4 && i >= 0; k++)
			took[i][k] = t[k + 1] - t[k];
		wc = wa;
		wb = SCALAR * wc;
		wc = wa + wb;
		wa = wb + SCALAR * wc;
	}
	if (!(error(a, wa, n) <= 1e-13 && error(b, wb, n) <= 1e-13 && error(c, wc, n) <= 1e-13)) {
		fprintf(stderr, "%s: the arrays are wrong\n", argv[0]);
		return 1;
	}
	for (int64_t i = 0; i < iterations; i++)
		for (int k = 0; k < 4; k++)
			printf("BenchmarkStream/op=%s 1 %.8g MB/s\n", names[k], (k < 2 ? 16e3 : 24e3) * n / took[i][k]);
	return 0;
}

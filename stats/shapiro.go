package stats

import "math"

// ShapiroWilkTest is a test of normality.
type ShapiroWilkTest struct {
	W, P Value
}

// ShapiroWilk follows Royston's AS R94 (Appl. Stat. 44 (1995) 547), for n from
// 3 to 5000. Normal-theory numbers are printed only beside it.
func ShapiroWilk(xs []float64) (ShapiroWilkTest, error) {
	if err := checkFinite(xs); err != nil {
		return ShapiroWilkTest{}, err
	}
	why := ""
	switch {
	case len(xs) < 3:
		why = "n ≥ 3 needed"
	case len(xs) > 5000:
		why = "n ≤ 5000 needed"
	case isConstant(xs):
		why = "all values equal"
	}
	if why != "" {
		return ShapiroWilkTest{W: undefined("%s", why), P: undefined("%s", why)}, nil
	}
	w := shapiroStatistic(sorted(xs))
	return ShapiroWilkTest{W: defined(w), P: defined(shapiroP(w, len(xs)))}, nil
}

func shapiroStatistic(s []float64) float64 {
	a := shapiroWeights(len(s))
	z := make([]float64, len(s))
	low, width := s[0], s[len(s)-1]/2-s[0]/2
	for i, x := range s {
		z[i] = (x/2 - low/2) / width
	}
	mean := meanOf(z)
	var num, ss float64
	for i, v := range z {
		num += a[i] * v
		ss += (v - mean) * (v - mean)
	}
	return math.Min(1, num*num/ss)
}

// shapiroWeights returns Royston's approximation of the antisymmetric weights.
func shapiroWeights(n int) []float64 {
	a := make([]float64, n)
	if n == 3 {
		a[0], a[2] = -math.Sqrt(0.5), math.Sqrt(0.5)
		return a
	}
	m, ss := make([]float64, n), 0.0
	for i := range m {
		m[i] = normalQuantile((float64(i+1) - 0.375) / (float64(n) + 0.25))
		ss += m[i] * m[i]
	}
	u, root := 1/math.Sqrt(float64(n)), math.Sqrt(ss)
	last := polynomial(u, m[n-1]/root, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056)
	rest, phi := 1, (ss-2*m[n-1]*m[n-1])/(1-2*last*last)
	next := 0.0
	if n > 5 {
		next = polynomial(u, m[n-2]/root, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
		rest = 2
		phi = (ss - 2*m[n-1]*m[n-1] - 2*m[n-2]*m[n-2]) / (1 - 2*last*last - 2*next*next)
	}
	for i := rest; i < n-rest; i++ {
		a[i] = m[i] / math.Sqrt(phi)
	}
	a[0], a[n-1] = -last, last
	if n > 5 {
		a[1], a[n-2] = -next, next
	}
	return a
}

// polynomial evaluates c[0] + c[1]x + c[2]x² + …
func polynomial(x float64, c ...float64) float64 {
	v := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		v = v*x + c[i]
	}
	return v
}

func shapiroP(w float64, size int) float64 {
	n := float64(size)
	if size == 3 {
		p := 6 / math.Pi * (math.Asin(math.Sqrt(w)) - math.Asin(math.Sqrt(0.75)))
		return math.Min(1, math.Max(0, p))
	}
	if w >= 1 {
		return 1
	}
	y, mean, sd := math.Log(1-w), 0.0, 0.0
	if size <= 11 {
		gamma := -2.273 + 0.459*n
		if y >= gamma {
			return 0
		}
		y = -math.Log(gamma - y)
		mean = polynomial(n, 0.5440, -0.39978, 0.025054, -6.714e-4)
		sd = math.Exp(polynomial(n, 1.3822, -0.77857, 0.062767, -0.0020322))
	} else {
		l := math.Log(n)
		mean = polynomial(l, -1.5861, -0.31082, -0.083751, 0.0038915)
		sd = math.Exp(polynomial(l, -0.4803, -0.082676, 0.0030302))
	}
	return normalCDF((mean - y) / sd)
}

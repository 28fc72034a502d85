package stats

import "math"

// RankCorrelation is Spearman's correlation.
type RankCorrelation struct {
	R Value
	// P is two-sided: exact over all orders up to n = 8, ties included, and
	// Student's approximation above.
	P     Value
	Exact bool
}

// maxExactSpearman bounds the enumeration: 8! = 40,320 orders.
const maxExactSpearman = 8

// RankCorrelate relates two quantities of the same runs, as the value of a run
// and one of its counters. Either one constant leaves it undefined.
func RankCorrelate(x, y []float64) (RankCorrelation, error) {
	if err := checkPaired(x, y); err != nil {
		return RankCorrelation{}, err
	}
	if len(x) < 3 {
		return RankCorrelation{R: undefined("n ≥ 3 needed"), P: undefined("n ≥ 3 needed")}, nil
	}
	rx, ry := doubledRanks(x), doubledRanks(y)
	r, ok := pearson(midranks(x), midranks(y))
	if !ok {
		return RankCorrelation{R: undefined("one side is constant"), P: undefined("one side is constant")}, nil
	}
	c := RankCorrelation{R: defined(r)}
	if len(x) <= maxExactSpearman {
		c.P, c.Exact = defined(exactSpearman(rx, ry)), true
		return c, nil
	}
	_, c.P = correlationTest(r, len(x))
	return c, nil
}

// exactSpearman counts the orders of y whose products with x lie as far from
// their mean as the observed ones, in integers.
func exactSpearman(rx, ry []int) float64 {
	n := len(rx)
	product := func(order []int) int {
		sum := 0
		for i, r := range order {
			sum += rx[i] * r
		}
		return n * sum
	}
	center := n * (n + 1) * n * (n + 1) // n times the mean of Σ, ranks doubled
	far := abs(product(ry) - center)
	hits, all := 0, 0
	permutations(append([]int(nil), ry...), 0, func(order []int) {
		all++
		if abs(product(order)-center) >= far {
			hits++
		}
	})
	return math.Min(1, float64(hits)/float64(all))
}

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
	r, err := Rank(x)
	if err != nil {
		return RankCorrelation{}, err
	}
	return r.Correlate(y)
}

// Ranking is the ranks of a sample that is related to several others.
type Ranking struct {
	doubled  []int
	ranks    []float64
	constant bool // all values are equal
}

// Rank ranks the values of a sample. A NaN or infinite one is a *ValueError.
func Rank(xs []float64) (*Ranking, error) {
	if err := checkFinite(xs); err != nil {
		return nil, err
	}
	doubled := doubledRanks(xs)
	return &Ranking{doubled, halves(doubled), isConstant(xs)}, nil
}

// Correlate is RankCorrelate of the ranked sample and y.
func (x *Ranking) Correlate(y []float64) (RankCorrelation, error) {
	n := len(x.doubled)
	if n != len(y) {
		return RankCorrelation{}, unequalLengths(n, len(y))
	}
	if err := checkFinite(y); err != nil {
		return RankCorrelation{}, err
	}
	if n < 3 {
		return RankCorrelation{R: undefined("n ≥ 3 needed"), P: undefined("n ≥ 3 needed")}, nil
	}
	if x.constant || isConstant(y) {
		return RankCorrelation{R: undefined("one side is constant"), P: undefined("one side is constant")}, nil
	}
	ry := doubledRanks(y)
	r, _ := pearson(x.ranks, halves(ry))
	c := RankCorrelation{R: defined(r)}
	if n <= maxExactSpearman {
		c.P, c.Exact = defined(exactSpearman(x.doubled, ry)), true
		return c, nil
	}
	_, c.P = correlationTest(r, n)
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

package stats

import "math"

// Pair holds two samples that share blocks: X[i] and Y[i] come from block i.
type Pair struct {
	Name string
	X, Y []float64
}

// SuiteSpread is the claim about spread over several workloads.
type SuiteSpread struct {
	// GeomeanRatio is the geometric mean of the sd ratios x/y, with the normal
	// interval of its logarithm from Bonett's standard errors.
	GeomeanRatio Value
	CI           Interval
	// Average tests "on average" by swapping whole blocks, which keeps what
	// the workloads of a block have in common.
	Average Permutation
	// EveryLower and EveryHigher test "on every one": the largest of the
	// one-sided p-values needs no correction (Berger 1982).
	EveryLower, EveryHigher Value
	Lower                   int // workloads with a ratio below 1
	Workloads               int
}

// CompareSuite judges the sd of x against y over workloads. All pairs must
// share the same blocks.
func CompareSuite(pairs []Pair, conf float64, r Resampling) (SuiteSpread, error) {
	if err := checkConf(conf); err != nil {
		return SuiteSpread{}, err
	}
	for _, p := range pairs {
		if err := checkPaired(p.X, p.Y); err != nil {
			return SuiteSpread{}, err
		}
		if len(p.X) != len(pairs[0].X) {
			return SuiteSpread{}, &SizeError{What: "workloads of a suite claim need the same blocks", Got: []int{len(pairs[0].X), len(p.X)}}
		}
	}
	if len(pairs) == 0 {
		return noSuite("no workloads"), nil
	}
	s := suiteRatio(pairs, conf)
	s.Average = suiteSwap(pairs, r)
	if err := s.every(pairs, r); err != nil {
		return SuiteSpread{}, err
	}
	return s, nil
}

func noSuite(why string) SuiteSpread {
	none := undefined("%s", why)
	return SuiteSpread{GeomeanRatio: none, CI: noInterval("%s", why), EveryLower: none, EveryHigher: none,
		Average: Permutation{P: none, Less: none, Greater: none, MinP: 1}}
}

func suiteRatio(pairs []Pair, conf float64) SuiteSpread {
	s := SuiteSpread{Workloads: len(pairs)}
	var logs, variance float64
	n := float64(len(pairs))
	for _, p := range pairs {
		e := sdRatio(p.X, p.Y, conf)
		if !e.Ratio.OK || e.Ratio.V == 0 {
			why := e.Ratio.Why
			if e.Ratio.OK {
				why = "zero spread in x"
			}
			s.GeomeanRatio, s.CI = undefined("%s: %s", p.Name, why), noInterval("%s: %s", p.Name, why)
			s.Lower = countLower(pairs, conf)
			return s
		}
		logs += math.Log(e.Ratio.V) / n
		if !e.SE.OK && s.CI.Why == "" {
			s.CI = noInterval("%s: %s", p.Name, e.SE.Why)
		}
		variance += e.SE.V * e.SE.V / 4
	}
	s.Lower = countLower(pairs, conf)
	s.GeomeanRatio = defined(math.Exp(logs))
	if s.CI.Why == "" {
		half := normalQuantile(1-(1-conf)/2) * math.Sqrt(variance) / n
		s.CI = interval(math.Exp(logs-half), math.Exp(logs+half), conf)
	}
	return s
}

func countLower(pairs []Pair, conf float64) int {
	lower := 0
	for _, p := range pairs {
		if e := sdRatio(p.X, p.Y, conf); e.Ratio.OK && e.Ratio.V < 1 {
			lower++
		}
	}
	return lower
}

// suiteSwap sums the blocks' differences of |x − median|, each workload
// weighted by its own scale, and swaps whole blocks.
func suiteSwap(pairs []Pair, r Resampling) Permutation {
	d := make([]float64, len(pairs[0].X))
	tol := 0.0
	informative := false
	for _, p := range pairs {
		if len(p.X) < 2 {
			break
		}
		a, b := deviations(p.X), deviations(p.Y)
		scale := meanOf(a) + meanOf(b)
		if scale == 0 {
			continue // both constant: no word on spread
		}
		informative = true
		one := make([]float64, len(a))
		for i := range a {
			one[i] = a[i]/scale - b[i]/scale
			d[i] += one[i]
		}
		tol += roundingTolerance(a, p.X, p.Y) / scale
	}
	if !informative || checkFinite(d) != nil {
		return noSuite("all |x-med| are zero").Average
	}
	return flipTest(d, tol, r)
}

func (s *SuiteSpread) every(pairs []Pair, r Resampling) error {
	s.EveryLower, s.EveryHigher = defined(0), defined(0)
	for _, p := range pairs {
		t, err := BlockBrownForsythe(p.X, p.Y, r)
		if err != nil {
			return err
		}
		s.EveryLower = worse(s.EveryLower, t.Less, p.Name)
		s.EveryHigher = worse(s.EveryHigher, t.Greater, p.Name)
	}
	return nil
}

func worse(p, q Value, name string) Value {
	switch {
	case !p.OK:
		return p
	case !q.OK:
		return undefined("%s: %s", name, q.Why)
	default:
		return defined(math.Max(p.V, q.V))
	}
}

// CleanSweep is the chance that one of several exchangeable modes is lowest
// on all of k workloads, (1/modes)^k. It may be printed only with the words "if
// this statistic and direction were fixed before looking".
func CleanSweep(modes, k int) (Value, error) {
	if modes < 1 {
		return Value{}, &ArgumentError{Name: "number of modes", Rule: "1 or more", Got: float64(modes)}
	}
	if k < 0 {
		return Value{}, &ArgumentError{Name: "number of workloads", Rule: "0 or more", Got: float64(k)}
	}
	return defined(math.Pow(1/float64(modes), float64(k))), nil
}

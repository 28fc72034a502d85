package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"goset/stats"
)

// A law of run-to-run noise with mean 0 and variance 1.
type law struct {
	name string
	draw func(*rand.Rand) float64
}

func laws() []law {
	const s = 0.5 // of the lognormal law
	mean, sd := math.Exp(s*s/2), math.Exp(s*s/2)*math.Sqrt(math.Expm1(s*s))
	const share, height = 0.1, 6.0 // spikes: one run in ten is 6 sd slow
	spiky := math.Sqrt(1 + share*(1-share)*height*height)
	return []law{
		{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
		{"t3", truncatedT3},
		{"skewed", func(r *rand.Rand) float64 { return (math.Exp(s*r.NormFloat64()) - mean) / sd }},
		{"spiky", func(r *rand.Rand) float64 {
			v := r.NormFloat64() - share*height
			if r.Float64() < share {
				v += height
			}
			return v / spiky
		}},
	}
}

// truncatedT3 is Student's t with 3 degrees of freedom, redrawn beyond ±150 so
// that no run time is negative, and scaled to variance 1.
func truncatedT3(r *rand.Rand) float64 {
	const limit = 150.0
	root3 := math.Sqrt(3)
	inside := 2 / math.Pi * (math.Atan(limit/root3) + root3*limit/(3+limit*limit))
	second := 12 * root3 / math.Pi * (math.Atan(limit/root3)/(2*root3) - limit/(2*(3+limit*limit)))
	for {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		if t := r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3); math.Abs(t) < limit {
			return t / math.Sqrt(second/inside)
		}
	}
}

// condition is one column block of the table: runs are 100·(1 + 0.01·(ρ·noise
// + τ·round)), with the round's part common to all modes of a round.
type condition struct {
	law law
	tau float64
	n   int
}

const (
	level = 100.0
	cv    = 0.01
)

// truth holds the parameters that intervals should cover, for ρ = 1.
type truth struct{ median, upper, mean, sd, halfRatio float64 }

// upperQuantile is the quantile whose interval is checked: the highest in a
// summary that 20 runs bound on both sides.
const upperQuantile = 0.75

// truthOf takes the quantiles of the sum of noise and round effect from a
// sample so large that its error is a hundredth of that of 30 runs; few trials
// need less.
func truthOf(c condition, trials int, r *rand.Rand) truth {
	size := min(200_000, 100*trials)
	xs := make([]float64, size)
	for i := range xs {
		xs[i] = value(c.law.draw(r), 1, c.tau*r.NormFloat64())
	}
	slices.Sort(xs)
	t2 := c.tau * c.tau
	return truth{median: xs[size/2], upper: xs[int(upperQuantile*float64(size))], mean: level, sd: level * cv * math.Sqrt(1+t2),
		halfRatio: math.Sqrt((0.25 + t2) / (1 + t2))}
}

func value(noise, rho, round float64) float64 { return level * (1 + cv*(rho*noise+round)) }

// trial is one simulated experiment without any true effect, except where a
// name says so.
type trial struct {
	truth    truth
	normal   bool
	x, y     []float64 // two modes
	half     []float64 // a mode with half the noise, ρ = 0.5
	counter  []float64 // a counter that has nothing to do with x
	modes    [][]float64
	position [][]int
	cells    [][]float64 // 2² crossing
	suite    []stats.Pair
	oneNull  []stats.Pair // all but one workload are truly steadier
	nested   []float64    // n runs of iterationsPerRun
	draws    stats.Resampling

	// Answers that several checks read.
	crossing []stats.FactorialEffect
	combined *stats.SuiteSpread
	ordered  *stats.OrderCheck
}

func (t *trial) effect() (stats.FactorialEffect, error) {
	if t.crossing == nil {
		e, err := stats.Factorial([]string{"a", "b"}, t.cells, stats.Level, t.draws)
		if err != nil {
			return stats.FactorialEffect{}, err
		}
		t.crossing = e
	}
	return t.crossing[0], nil
}

func (t *trial) suiteClaim() (stats.SuiteSpread, error) {
	if t.combined == nil {
		s, err := stats.CompareSuite(t.suite, stats.Level, t.draws)
		if err != nil {
			return s, err
		}
		t.combined = &s
	}
	return *t.combined, nil
}

func (t *trial) order() (stats.OrderCheck, error) {
	if t.ordered == nil {
		o, err := stats.CheckOrder(t.modes, t.position)
		if err != nil {
			return o, err
		}
		t.ordered = &o
	}
	return *t.ordered, nil
}

const (
	suiteSize        = 4
	iterationsPerRun = 5
)

func newTrial(c condition, tr truth, r *rand.Rand) *trial {
	t := &trial{truth: tr, normal: c.law.name == "normal", draws: stats.Resampling{Seed: r.Uint64(), Draws: 999}}
	rounds := make([]float64, c.n)
	for i := range rounds {
		rounds[i] = c.tau * r.NormFloat64()
	}
	sample := func(rho float64) []float64 {
		xs := make([]float64, c.n)
		for i := range xs {
			xs[i] = value(c.law.draw(r), rho, rounds[i])
		}
		return xs
	}
	t.x, t.y, t.half = sample(1), sample(1), sample(0.5)
	for range c.n {
		t.counter = append(t.counter, r.NormFloat64())
		t.position = append(t.position, r.Perm(3))
	}
	t.modes = rows(t.x, t.y, sample(1))
	t.cells = rows(sample(1), sample(1), sample(1), sample(1))
	for i := range suiteSize {
		y := sample(1)
		t.suite = append(t.suite, stats.Pair{X: sample(1), Y: y})
		rho := 0.02
		if i == 0 {
			rho = 1
		}
		t.oneNull = append(t.oneNull, stats.Pair{X: sampleWithout(c, rho, r), Y: sampleWithout(c, 1, r)})
	}
	for _, run := range t.x {
		for range iterationsPerRun {
			t.nested = append(t.nested, run+level*cv*r.NormFloat64())
		}
	}
	return t
}

// sampleWithout leaves the round effect out, which would hide that ρ is small.
func sampleWithout(c condition, rho float64, r *rand.Rand) []float64 {
	xs := make([]float64, c.n)
	for i := range xs {
		xs[i] = value(c.law.draw(r), rho, 0)
	}
	return xs
}

func rows(columns ...[]float64) [][]float64 {
	out := make([][]float64, len(columns[0]))
	for i := range out {
		for _, col := range columns {
			out[i] = append(out[i], col[i])
		}
	}
	return out
}

package main

import (
	"slices"

	"goset/stats"
)

// check is one test or interval. It answers whether the test rejected, or the
// interval covered the truth; defined is false where there is nothing to judge.
type check struct {
	name     string
	coverage bool
	note     string // why it leaves its range, where it does
	ask      func(*trial) (hit, defined bool, err error)
}

func rejects(p stats.Value, err error) (bool, bool, error) { return p.V < 0.05, p.OK, err }

func covers(i stats.Interval, v float64, err error) (bool, bool, error) {
	return i.OK && !i.Excludes(v), i.OK, err
}

func checks() []check {
	return slices.Concat(comparisons(), orders(), contrasts(), intervals())
}

// comparisons are the tests of one mode against another, and of all workloads.
func comparisons() []check {
	return []check{
		{"median: signed-rank within rounds", false, "exact and discrete: at n = 6 the only p below 0.05 is 0.031", func(t *trial) (bool, bool, error) {
			e, err := stats.PairedRatio(t.x, t.y, stats.Level)
			return rejects(e.Test.P, err)
		}},
		{"median: Mann–Whitney", false, "ignores rounds: what they have in common only adds to its noise, and it loses power", func(t *trial) (bool, bool, error) {
			m, err := stats.MannWhitney(t.x, t.y)
			return rejects(m.P, err)
		}},
		{"spread: block Brown–Forsythe", false, "centring by the sample's own median makes the level approximate; small n is conservative", func(t *trial) (bool, bool, error) {
			b, err := stats.BlockBrownForsythe(t.x, t.y, t.draws)
			return rejects(b.P, err)
		}},
		{"spread: permutation Brown–Forsythe (no rounds)", false, "ignores rounds: conservative where they have something in common; at n = 6 with spikes it is liberal, and 10 runs are advised", func(t *trial) (bool, bool, error) {
			b, err := stats.PermutationBrownForsythe(t.x, t.y, t.draws)
			return rejects(b.P, err)
		}},
		{"spread: Fligner–Killeen (data file)", false, "asymptotic law, ignores rounds; in the data file as a second opinion only", func(t *trial) (bool, bool, error) {
			f, err := stats.FlignerKilleen(t.x, t.y)
			return rejects(f.P, err)
		}},
		{"suite spread on average, 4 workloads", false, "exact and discrete, conservative at n = 6", func(t *trial) (bool, bool, error) {
			s, err := t.suiteClaim()
			return rejects(s.Average.P, err)
		}},
		{"suite spread lower on every one, one of 4 equal", false, "one-sided, as block Brown–Forsythe at its least favourable", func(t *trial) (bool, bool, error) {
			s, err := stats.CompareSuite(t.oneNull, stats.Level, t.draws)
			return rejects(s.EveryLower, err)
		}},
	}
}

// orders are the tests of runs against the order in which they came.
func orders() []check {
	return []check{
		{"drift: Mann–Kendall", false, "exact and discrete at n = 6; the rest is within the simulation's error; tables flag at 0.01", func(t *trial) (bool, bool, error) {
			d, err := stats.Drift(t.x)
			return rejects(d.P, err)
		}},
		{"autocorrelation: Ljung–Box", false, "asymptotic law; tables flag at 0.01", func(t *trial) (bool, bool, error) {
			a, err := stats.ACF1(t.x)
			return rejects(a.P, err)
		}},
		{"order: Friedman over positions", false, "asymptotic law, and residuals of one mode sum to about zero", func(t *trial) (bool, bool, error) {
			o, err := t.order()
			return rejects(o.Position.P, err)
		}},
		{"order: sign test after one predecessor", false, "the residuals of a mode have its median taken out, so their signs balance by themselves: a carry-over must be strong to be seen", func(t *trial) (bool, bool, error) {
			o, err := t.order()
			if err != nil {
				return false, false, err
			}
			return rejects(o.Predecessor[0].P, nil)
		}},
	}
}

// contrasts are the tests of sweeps, crossings and counters, and of the law.
func contrasts() []check {
	return []check{
		{"sweep: Page's trend", false, "exact and discrete", func(t *trial) (bool, bool, error) {
			p, err := stats.Page(t.modes)
			return rejects(p.P, err)
		}},
		{"sweep: Page's trend of the spread", false, "as block Brown–Forsythe, by ranks", func(t *trial) (bool, bool, error) {
			p, err := stats.PageSpread(t.modes)
			return rejects(p.P, err)
		}},
		{"crossing: main effect on the median", false, "as signed-rank", func(t *trial) (bool, bool, error) {
			e, err := t.effect()
			return rejects(e.Test.P, err)
		}},
		{"crossing: main effect on the spread", false, "as block Brown–Forsythe", func(t *trial) (bool, bool, error) {
			e, err := t.effect()
			return rejects(e.SpreadP, err)
		}},
		{"attribution: rank correlation with a counter", false, "discrete up to n = 8", func(t *trial) (bool, bool, error) {
			c, err := stats.RankCorrelate(t.x, t.counter)
			return rejects(c.P, err)
		}},
		{"normality: Shapiro–Wilk", false, "", func(t *trial) (bool, bool, error) {
			s, err := stats.ShapiroWilk(t.x)
			hit, ok, err := rejects(s.P, err)
			return hit, ok && t.normal, err
		}},
	}
}

func intervals() []check {
	return []check{
		{"median", true, "", func(t *trial) (bool, bool, error) {
			ci, err := stats.MedianInterval(t.x, stats.Level)
			return covers(ci.Interval, t.truth.median, err)
		}},
		{"quantile 0.75", true, "", func(t *trial) (bool, bool, error) {
			ci, err := stats.QuantileInterval(t.x, upperQuantile, stats.Level)
			return covers(ci.Interval, t.truth.upper, err)
		}},
		{"sd (Bonett)", true, "no method is honest with tails and spikes: the few runs that make the sd may not have been seen; a kurtosis above 6 is warned of", func(t *trial) (bool, bool, error) {
			s, err := stats.StandardDeviation(t.x, stats.Level)
			return covers(s.CI, t.truth.sd, err)
		}},
		{"change of the median (Hodges–Lehmann, rounds)", true, "", func(t *trial) (bool, bool, error) {
			e, err := stats.PairedRatio(t.x, t.y, stats.Level)
			return covers(e.CI, 0, err)
		}},
		{"change of the median (no rounds)", true, "", func(t *trial) (bool, bool, error) {
			c, err := stats.HodgesLehmannTwoSample(t.x, t.y, stats.Level)
			return covers(c.CI, 0, err)
		}},
		{"sd ratio, truly 1 (Bonett, inverted)", true, "spikes: a run in ten that makes the sd is seen too rarely", func(t *trial) (bool, bool, error) {
			s, err := stats.SDRatio(t.x, t.y, stats.Level)
			return covers(s.CI, 1, err)
		}},
		{"sd ratio, truly 0.5 before the round effect", true, "spikes: a run in ten that makes the sd is seen too rarely", func(t *trial) (bool, bool, error) {
			s, err := stats.SDRatio(t.half, t.y, stats.Level)
			return covers(s.CI, t.truth.halfRatio, err)
		}},
		{"suite sd ratio, 4 workloads", true, "workloads count as independent, and a round effect common to all is none of their difference", func(t *trial) (bool, bool, error) {
			s, err := t.suiteClaim()
			return covers(s.CI, 1, err)
		}},
		{"mean over runs and iterations (Kalibera–Jones)", true, "Student's interval of a mean that few spikes make", func(t *trial) (bool, bool, error) {
			l, err := stats.KaliberaJones(t.nested, []int{iterationsPerRun, len(t.x)}, nil, stats.Level)
			return covers(l.CI, t.truth.mean, err)
		}},
		{"crossing: main effect", true, "", func(t *trial) (bool, bool, error) {
			e, err := t.effect()
			return covers(e.CI, 0, err)
		}},
		{"sweep: slope (bootstrap of rounds)", true, "a percentile interval of few rounds", func(t *trial) (bool, bool, error) {
			r := t.draws
			r.Draws = 199
			s, err := stats.SlopeOfSweep([]float64{1, 2, 4}, t.modes, stats.Level, r)
			return covers(s.CI, 0, err)
		}},
	}
}

package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// draws are samples for properties: sizes around the limits of exactness, with
// and without ties.
func draws(seed uint64) [][2][]float64 {
	r := rand.New(rand.NewPCG(seed, 11))
	var out [][2][]float64
	for _, n := range []int{6, 7, 10, 13, 20, 24} {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = math.Exp(r.NormFloat64()/3), math.Exp(r.NormFloat64()/5)
		}
		out = append(out, [2][]float64{x, y})
		tx, ty := slices.Clone(x), slices.Clone(y)
		for i := range tx {
			tx[i], ty[i] = math.Ceil(4*tx[i])/4, math.Ceil(4*ty[i])/4
		}
		out = append(out, [2][]float64{tx, ty})
	}
	return out
}

func near(a, b, rel float64) bool {
	return a == b || math.Abs(a-b) <= rel*math.Max(1e-12, math.Max(math.Abs(a), math.Abs(b)))
}

func mustCompare(t *testing.T, x, y []float64, opt Options) Comparison {
	t.Helper()
	c, err := Compare(x, y, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestScaleEquivariance(t *testing.T) {
	for _, d := range draws(1) {
		for _, k := range []float64{0x1p-40, 4, 0x1p40} {
			x, y := scaleBy(d[0], k), scaleBy(d[1], k)
			a, b := mustCompare(t, d[0], d[1], Options{}), mustCompare(t, x, y, Options{})
			for name, pair := range map[string][2]float64{
				"change": {a.Location.Change.V, b.Location.Change.V}, "change lo": {a.Location.CI.Lo, b.Location.CI.Lo},
				"p": {a.Location.P.V, b.Location.P.V}, "ratio": {a.Spread.Ratio.V, b.Spread.Ratio.V},
				"ratio lo": {a.Spread.CI.Lo, b.Spread.CI.Lo}, "ratio hi": {a.Spread.CI.Hi, b.Spread.CI.Hi},
				"spread p": {a.Spread.P.V, b.Spread.P.V}, "fligner": {a.Spread.PFligner.V, b.Spread.PFligner.V},
				"mann-whitney": {a.MannWhitney.P.V, b.MannWhitney.P.V},
			} {
				if !near(pair[0], pair[1], 1e-9) {
					t.Errorf("n = %d times %g: %s %v became %v", len(x), k, name, pair[0], pair[1])
				}
			}
			sa, sb := mustSummarize(t, d[0]), mustSummarize(t, x)
			for name, pair := range map[string][2]float64{
				"sd": {sa.SD.V, sb.SD.V}, "MAD": {sa.MAD.V, sb.MAD.V}, "sd lo": {sa.SDCI.Lo, sb.SDCI.Lo}, "median": {sa.Median.V, sb.Median.V},
			} {
				if !near(pair[0]*k, pair[1], 1e-9) {
					t.Errorf("times %g: %s %v became %v", k, name, pair[0], pair[1])
				}
			}
		}
	}
}

func scaleBy(xs []float64, k float64) []float64 {
	out := slices.Clone(xs)
	for i := range out {
		out[i] *= k
	}
	return out
}

func mustSummarize(t *testing.T, xs []float64) Summary {
	t.Helper()
	s, err := Summarize(xs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShiftEquivariance(t *testing.T) {
	for _, d := range draws(2) {
		shifted := plus(d[0], 8)
		a, b := mustSummarize(t, d[0]), mustSummarize(t, shifted)
		for name, pair := range map[string][2]float64{
			"sd": {a.SD.V, b.SD.V}, "MAD": {a.MAD.V, b.MAD.V}, "AAD": {a.AAD.V, b.AAD.V}, "median": {a.Median.V + 8, b.Median.V},
			"sd hi": {a.SDCI.Hi, b.SDCI.Hi}, "median lo": {a.MedianCI.Lo + 8, b.MedianCI.Lo},
		} {
			if !near(pair[0], pair[1], 1e-9) {
				t.Errorf("n = %d: %s %v became %v", len(shifted), name, pair[0], pair[1])
			}
		}
		p, err := BlockBrownForsythe(d[0], d[1], Resampling{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := BlockBrownForsythe(shifted, plus(d[1], -3), Resampling{})
		if err != nil {
			t.Fatal(err)
		}
		if !near(p.P.V, q.P.V, 1e-9) {
			t.Errorf("n = %d: block Brown–Forsythe p %v became %v", len(shifted), p.P.V, q.P.V)
		}
	}
}

// TestSwap: exchanging the samples inverts ratios and leaves p alone.
func TestSwap(t *testing.T) {
	for _, d := range draws(3) {
		for _, opt := range []Options{{}, {Unblocked: true}} {
			a, b := mustCompare(t, d[0], d[1], opt), mustCompare(t, d[1], d[0], opt)
			for name, pair := range map[string][2]float64{
				"ratio": {a.Spread.Ratio.V, 1 / b.Spread.Ratio.V}, "ratio lo": {a.Spread.CI.Lo, 1 / b.Spread.CI.Hi},
				"change": {1 + a.Location.Change.V, 1 / (1 + b.Location.Change.V)}, "change lo": {1 + a.Location.CI.Lo, 1 / (1 + b.Location.CI.Hi)},
				"p": {a.Location.P.V, b.Location.P.V}, "cliff": {a.MannWhitney.Cliff.V, -b.MannWhitney.Cliff.V},
				"mann-whitney less": {a.MannWhitney.Less.V, b.MannWhitney.Greater.V},
			} {
				if !near(pair[0], pair[1], 1e-9) {
					t.Errorf("n = %d, %+v: %s %v against %v", len(d[0]), opt.Unblocked, name, pair[0], pair[1])
				}
			}
			if len(d[0]) <= exactFlips && !opt.Unblocked && a.Spread.P.V != b.Spread.P.V {
				t.Errorf("n = %d: spread p %v against %v", len(d[0]), a.Spread.P.V, b.Spread.P.V)
			}
		}
	}
}

// TestBlockPermutation: the order of the blocks is no input of a comparison,
// the order within a sample is none of an unblocked one.
func TestBlockPermutation(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, d := range draws(4) {
		order := r.Perm(len(d[0]))
		x, y := reorder(d[0], order), reorder(d[1], order)
		a, b := mustCompare(t, d[0], d[1], Options{}), mustCompare(t, x, y, Options{})
		if !near(a.Location.P.V, b.Location.P.V, 1e-9) || !near(a.Location.Change.V, b.Location.Change.V, 1e-9) {
			t.Errorf("n = %d: location %v, %v became %v, %v", len(x), a.Location.Change.V, a.Location.P.V, b.Location.Change.V, b.Location.P.V)
		}
		if len(x) <= exactFlips && !near(a.Spread.P.V, b.Spread.P.V, 1e-9) {
			t.Errorf("n = %d: spread p %v became %v", len(x), a.Spread.P.V, b.Spread.P.V)
		}
		u := mustCompare(t, d[0], d[1], Options{Unblocked: true})
		v := mustCompare(t, reorder(d[0], r.Perm(len(x))), y, Options{Unblocked: true})
		if !near(u.Location.P.V, v.Location.P.V, 1e-9) || !near(u.MannWhitney.U, v.MannWhitney.U, 1e-9) {
			t.Errorf("n = %d: unblocked p %v became %v", len(x), u.Location.P.V, v.Location.P.V)
		}
	}
}

func reorder(xs []float64, order []int) []float64 {
	out := make([]float64, len(xs))
	for i, k := range order {
		out[i] = xs[k]
	}
	return out
}

// TestIntervalsInvertTests: without ties the Hodges–Lehmann interval excludes 0
// exactly where the signed-rank test rejects, and Bonett's excludes 1 exactly
// where its p is below the level.
func TestIntervalsInvertTests(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var rejected [2]int
	for range 400 {
		n := 6 + r.IntN(14)
		x, y := make([]float64, n), make([]float64, n)
		scale := math.Exp(r.NormFloat64())
		for i := range x {
			x[i], y[i] = math.Exp(0.3*r.NormFloat64()+0.2), math.Exp(0.3*scale*r.NormFloat64())
		}
		e, err := PairedRatio(x, y, Level)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := e.CI.Excludes(0), e.Test.P.V <= 1-e.CI.Coverage+1e-12; got != want {
			t.Errorf("n = %d: interval %+v against p = %v", n, e.CI, e.Test.P.V)
		} else if got {
			rejected[0]++
		}
		s, err := SDRatio(x, y, Level)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.CI.Excludes(1), s.P.V < 0.05; got != want {
			t.Errorf("n = %d: sd ratio interval %+v against p = %v", n, s.CI, s.P.V)
		} else if got {
			rejected[1]++
		}
	}
	if rejected[0] == 0 || rejected[1] == 0 {
		t.Errorf("rejections %v: the property was not tried on both sides", rejected)
	}
}

// TestExactLawsAgreeWithEnumeration checks the halved enumerations against a
// plain one.
func TestExactLawsAgreeWithEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for n := range 11 {
		d := make([]float64, n)
		for i := range d {
			d[i] = math.Round(8 * r.NormFloat64())
		}
		got := exactFlip(d, 1e-9)
		obs := sumOf(d)
		var both, less, greater int
		for mask := range 1 << n {
			sum := 0.0
			for i, v := range d {
				sum += v * float64(1-2*(mask>>i&1))
			}
			both += btoi(math.Abs(sum) >= math.Abs(obs))
			less += btoi(sum <= obs)
			greater += btoi(sum >= obs)
		}
		all := float64(int(1) << n)
		if got.P.V != float64(both)/all || got.Less.V != float64(less)/all || got.Greater.V != float64(greater)/all {
			t.Errorf("%v: flips %+v, want %v, %v, %v", d, got, float64(both)/all, float64(less)/all, float64(greater)/all)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestMannWhitneyLaws: both ways to the exact law agree, up to the largest n.
func TestMannWhitneyLaws(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 3}, {7, 4}, {12, 12}, {50, 50}} {
		n, m := size[0], size[1]
		ranks := make([]int, n+m)
		for i := range ranks {
			ranks[i] = 2 * (i + 1)
		}
		fast, slow := mannWhitneyLaw(n, m), tiedRankSumLaw(ranks, n)
		for u, p := range fast {
			if !near(p, slow[2*u], 1e-9) {
				t.Fatalf("%d and %d: P(U = %d) = %v and %v", n, m, u, p, slow[2*u])
			}
		}
	}
}

// TestMonteCarloNearExact: beyond the exact limit the draws estimate the same
// p, and the seed decides the bytes.
func TestMonteCarloNearExact(t *testing.T) {
	d := plus(normal(9, 20, 1), -99.5)
	exact, drawn := exactFlip(d, 1e-12), monteCarloFlip(d, 1e-12, Resampling{Seed: 5})
	if math.Abs(exact.P.V-drawn.P.V) > 5*math.Sqrt(exact.P.V/flipDraws) {
		t.Errorf("exact p %v, drawn %v", exact.P.V, drawn.P.V)
	}
	if again := monteCarloFlip(d, 1e-12, Resampling{Seed: 5}); again != drawn {
		t.Error("the same seed gave another p")
	}
	if other := monteCarloFlip(d, 1e-12, Resampling{Seed: 6}); other == drawn {
		t.Error("another seed gave the same p")
	}
	x, y := normal(10, 11, 1), plus(normal(11, 11, 1), 0.5)
	e, m := exactLabel(x, y, 1e-9), monteCarloLabel(x, y, 1e-9, Resampling{Draws: 50_000})
	if math.Abs(e.P.V-m.P.V) > 5*math.Sqrt(e.P.V/50_000) || math.Abs(e.Less.V-m.Less.V) > 0.02 {
		t.Errorf("exact %+v, drawn %+v", e, m)
	}
}

func TestPowerFigures(t *testing.T) {
	for n, want := range map[int]float64{6: 0.25, 10: 0.37, 20: 0.52, 30: 0.59, 50: 0.67, 100: 0.75} {
		got, err := ResolvableSDRatio(n, 0.05, DefaultPower)
		if err != nil || math.Round(got.V*100)/100 != want {
			t.Errorf("n = %d resolves %+v, %v, want %v", n, got, err, want)
		}
	}
	for delta, want := range map[float64]float64{0.5: 69, 0.75: 32, 1: 19, 1.5: 11, 2: 8} {
		got, err := RequiredForShift(delta/math.Sqrt2, 0.05, DefaultPower)
		if err != nil || math.Abs(got.V-want) > 1 {
			t.Errorf("%v CV needs %+v, %v, want %v", delta, got, err, want)
		}
	}
	if v, err := RequiredForSDRatio(1, 3, 0.05, DefaultPower); err != nil || v.OK {
		t.Errorf("a ratio of 1 needs %+v, %v", v, err)
	}
	if _, err := PowerSDRatio(-1, 10, 0.05); err == nil {
		t.Error("a negative ratio is accepted")
	}
}

func TestFindWarmUp(t *testing.T) {
	slow := normal(12, 120, 1)
	for i := range 12 {
		slow[i] += 20
	}
	w, err := FindWarmUp(slow)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.Changepoints, []int{12}) || w.Steady.V != 12 || w.LateChange {
		t.Errorf("warm-up of 12: %+v", w)
	}
	if w, err := FindWarmUp(slow[:49]); err != nil || w.Steady.OK {
		t.Errorf("49 iterations: %+v, %v", w, err)
	}
}

func TestCleanSweep(t *testing.T) {
	v, err := CleanSweep(3, 4)
	if err != nil || math.Abs(v.V-1./81) > 1e-15 {
		t.Errorf("lowest of 3 on 4 of 4: %+v, %v", v, err)
	}
}

func TestOrderEffectsAreSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	values, position := make([][]float64, 24), make([][]int, 24)
	for b := range values {
		position[b] = r.Perm(3)
		for m := range 3 {
			values[b] = append(values[b], 100*float64(m+1)+r.NormFloat64()+3*float64(position[b][m]))
		}
	}
	c, err := CheckOrder(values, position)
	if err != nil {
		t.Fatal(err)
	}
	if !c.PositionAdj.OK || c.PositionAdj.V > 0.001 || len(c.Warnings) == 0 {
		t.Errorf("a drift over the positions is not seen: %+v", c)
	}
	position[0][0] = 7
	if _, err := CheckOrder(values, position); err == nil {
		t.Error("position 7 of 3 is accepted")
	}
}

func TestKaliberaCountsPassOverIdleLevels(t *testing.T) {
	values := []float64{9, 5, 8, 3, 10, 6, 7, 11, 1, 12, 2, 4}
	l, err := KaliberaJones(values, []int{2, 2, 3}, []float64{1, 10, 100}, Level)
	if err != nil {
		t.Fatal(err)
	}
	// T² = 16.5, −5.67, 2.27: level 2 is not repeated, level 1 pays for a
	// process start and a build: √(110/1 · 16.5/2.27) = 28.3.
	if !slices.Equal(l.Counts, []int{29, 1}) {
		t.Errorf("counts %v, want [29 1]", l.Counts)
	}
}

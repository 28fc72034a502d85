package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestUnsoundSeesFaults(t *testing.T) {
	for name, v := range map[string]any{
		"NaN":               Value{V: math.NaN(), OK: true},
		"infinity":          Interval{Lo: 1, Hi: math.Inf(1), Coverage: 0.9, OK: true},
		"no reason":         Value{},
		"no interval":       Interval{},
		"upside down":       Interval{Lo: 2, Hi: 1, Coverage: 0.9, OK: true},
		"p above 1":         SignedRankTest{P: defined(1.5), Less: defined(1), Greater: defined(1)},
		"NaN in a sentence": Summary{Warnings: []string{"r = NaN"}},
	} {
		if len(unsound(v)) == 0 {
			t.Errorf("%s is not seen", name)
		}
	}
}

// normal returns n normal values about 100, reproducibly.
func normal(seed uint64, n int, sd float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 100 + sd*r.NormFloat64()
	}
	return xs
}

func TestCompareVerdicts(t *testing.T) {
	base := plus(normal(1, 30, 4), 1.4)
	tests := []struct {
		name             string
		x, y             []float64
		opt              Options
		location, spread VerdictKind
		text             string // in the spread's or the location's verdict
	}{
		{"none", nil, nil, Options{}, NoClaim, NoClaim, "no claim: n = 0, 6 rounds or more needed"},
		{"one", []float64{1}, []float64{2}, Options{}, NoClaim, NoClaim, "no claim: n = 1"},
		{"two", []float64{1, 2}, []float64{2, 3}, Options{}, NoClaim, NoClaim, "no claim: n = 2"},
		{"both constant", slices.Repeat([]float64{2}, 8), slices.Repeat([]float64{3}, 8), Options{}, LowerVerdict, DeterministicEqual, "lower median (-33.33%"},
		{"same data", base, base, Options{}, NotResolved, NotResolved, "not resolved"},
		{"steadier", normal(2, 30, 0.5), base, Options{}, NotResolved, LowerVerdict, "lower spread (0.1"},
		{"noisier", normal(2, 30, 30), base, Options{}, NotResolved, HigherVerdict, "higher spread ("},
		{"slower", plus(base, 5), base, Options{}, HigherVerdict, NotResolved, "higher median (+"},
		{"slower unblocked", plus(base, 20), base, Options{Unblocked: true}, HigherVerdict, NotResolved, "higher median (+"},
		{"unequal", plus(base, 20), base[:20], Options{}, HigherVerdict, NotResolved, "higher median (+"},
		{"constant against noise", slices.Repeat([]float64{101}, 30), base, Options{}, NotResolved, LowerVerdict, "lower spread (zero spread in x"},
		{"equivalent", alternate(base), base, Options{Equivalence: [2]float64{0.5, 2}}, NotResolved, EquivalentVerdict, "equivalent spread ("},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Compare(test.x, test.y, test.opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Location.Verdict; got.Kind != test.location {
				t.Errorf("location %q (%s), want %q", got.Kind, got.Text, test.location)
			}
			if got := c.Spread.Verdict; got.Kind != test.spread {
				t.Errorf("spread %q (%s), want %q", got.Kind, got.Text, test.spread)
			}
			if both := c.Location.Verdict.Text + "\n" + c.Spread.Verdict.Text; !strings.Contains(both, test.text) {
				t.Errorf("verdicts\n%s\nlack %q", both, test.text)
			}
		})
	}
}

func plus(xs []float64, d float64) []float64 {
	out := slices.Clone(xs)
	for i := range out {
		out[i] += d
	}
	return out
}

// alternate moves every other value up and down a little, so that neither
// side is constantly above.
func alternate(xs []float64) []float64 {
	out := slices.Clone(xs)
	for i := range out {
		out[i] += float64(i%2*2-1) * 0.1
	}
	return out
}

// TestNotResolvedSaysWhatWould holds the wording of the commonest verdict.
func TestNotResolvedSaysWhatWould(t *testing.T) {
	x := withSD([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.71)
	y := withSD([]float64{5, 4, 8, 2, 10, 1, 9, 3, 7, 6}, 1)
	c, err := Compare(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "not resolved: 10 rounds resolve a ratio ≤ 0.37; observed 0.71 would need about 68 rounds"
	if got := c.Spread.Verdict.Text; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
}

func withSD(shape []float64, sd float64) []float64 {
	out := make([]float64, len(shape))
	for i, v := range shape {
		out[i] = 100 + v*sd/sdOf(shape)
	}
	return out
}

func TestAdjustIsHolmPerKind(t *testing.T) {
	base := normal(1, 10, 4)
	var family []*Comparison
	var location, spread []float64
	for i := range 5 {
		c, err := Compare(normal(uint64(10+i), 10, 1+float64(i)), base, Options{})
		if err != nil {
			t.Fatal(err)
		}
		family = append(family, &c)
		location, spread = append(location, c.Location.P.V), append(spread, c.Spread.P.V)
	}
	Adjust(family)
	for name, pair := range map[string][2][]float64{"location": {location, nil}, "spread": {spread, nil}} {
		want, err := Holm(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range family {
			got := c.Location.PAdj
			if name == "spread" {
				got = c.Spread.PAdj
			}
			if !got.OK || got.V != want[i] {
				t.Errorf("%s %d: p_adj %+v, want %v", name, i, got, want[i])
			}
		}
	}
}

// TestTooFewRoundsForAFamily holds that what no outcome could resolve is not
// said to be resolvable, however large the effect.
func TestTooFewRoundsForAFamily(t *testing.T) {
	for _, tt := range []struct {
		n, size   int
		unblocked bool
		want      string // "": something can be resolved
	}{
		{6, 1, false, ""},
		{6, 2, false, "6 rounds cannot resolve anything among 2 comparisons; take 7 or more"},
		{7, 2, false, ""},
		{7, 4, false, "7 rounds cannot resolve anything among 4 comparisons; take 8 or more"},
		{8, 6, false, ""},
		{10, 25, false, ""},
		{10, 26, false, "10 rounds cannot resolve anything among 26 comparisons; take 11 or more"},
		{6, 2, true, ""}, // 2/C(12, 6)
		{6, 24, true, "6 runs cannot resolve anything among 24 comparisons; take 7 or more"},
	} {
		y := normal(2, tt.n, 1)
		var family []*Comparison
		for range tt.size {
			c, err := Compare(plus(normal(1, tt.n, 40), 500), y, Options{Unblocked: tt.unblocked})
			if err != nil {
				t.Fatal(err)
			}
			family = append(family, &c)
		}
		Adjust(family)
		c := family[0]
		if got := CannotResolve(tt.n, tt.size, !tt.unblocked); got != tt.want {
			t.Errorf("n = %d, %d comparisons: %q, want %q", tt.n, tt.size, got, tt.want)
		}
		v := c.Location.Verdict
		switch {
		case tt.want == "" && (!v.Claims() || !c.Location.Resolves.OK || !c.Spread.Resolves.OK):
			t.Errorf("n = %d, %d comparisons: a shift of 500 sds is %q; resolves %+v, %+v", tt.n, tt.size, v.Text, c.Location.Resolves, c.Spread.Resolves)
		case tt.want != "" && (v.Kind != NoClaim || v.Text != "no claim: "+tt.want || c.Spread.Verdict.Kind != NoClaim):
			t.Errorf("n = %d, %d comparisons: verdicts %q and %q", tt.n, tt.size, v.Text, c.Spread.Verdict.Text)
		case tt.want != "" && (c.Location.Resolves.OK || c.Spread.Resolves.OK):
			t.Errorf("n = %d, %d comparisons: said to resolve %+v and sd ratios %+v", tt.n, tt.size, c.Location.Resolves, c.Spread.Resolves)
		}
		least := float64(RoundsForFamily(tt.size, c.Alpha, c.Blocked))
		if c.Location.Needs.OK && c.Location.Needs.V < least && tt.size > 1 || c.Spread.Needs.OK && c.Spread.Needs.V < least && tt.size > 1 {
			t.Errorf("n = %d, %d comparisons: would need %v and %v, less than the %v of Holm", tt.n, tt.size, c.Location.Needs.V, c.Spread.Needs.V, least)
		}
	}
}

func TestPairBlocks(t *testing.T) {
	px, py, dropped, err := PairBlocks([]int{3, 1, 2}, []float64{30, 10, 20}, []int{1, 3, 4}, []float64{1, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(px, []float64{30, 10}) || !slices.Equal(py, []float64{3, 1}) || dropped != 2 {
		t.Errorf("got %v, %v, %d dropped", px, py, dropped)
	}
	if _, _, _, err := PairBlocks([]int{1, 1}, []float64{1, 2}, nil, nil); err == nil {
		t.Error("a block used twice is accepted")
	}
	if px, py, dropped, err := PairBlocks(nil, nil, nil, nil); err != nil || px != nil || py != nil || dropped != 0 {
		t.Errorf("nothing paired with nothing: %v, %v, %d, %v", px, py, dropped, err)
	}
}

func TestSensitivitySeesASingleRun(t *testing.T) {
	y := normal(3, 12, 1)
	x := plus(normal(4, 12, 1), 0)
	for i := range x {
		x[i] = y[i] - 2 - 0.01*float64(i)
	}
	x[5] = y[5] + 500 // one run, opposite direction
	c, err := Compare(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.WithoutFlagged(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Dropped != 1 {
		t.Errorf("%d blocks left out, want the one that is flagged", s.Dropped)
	}
}

// TestSensitivityNeedsRunsForAVerdict: what could not be resolved without the
// flagged runs, whatever their values, is no changed verdict.
func TestSensitivityNeedsRunsForAVerdict(t *testing.T) {
	y := []float64{100, 101, 102, 103, 104, 105, 106, 107}
	x := []float64{201, 199, 204, 203, 205, 202, 206, 300} // block 8 is flagged
	for family, want := range map[int]bool{0: false, 1: false, 4: false} {
		all, err := Compare(x, y, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := all.WithoutFlagged(x, y, Options{Family: family})
		if err != nil {
			t.Fatal(err)
		}
		if s.Dropped != 1 || s.LocationChanges != want {
			t.Errorf("family of %d: %+v", family, s)
		}
	}
	// Six rounds, of which four are left.
	x, y = []float64{10.1, 10.2, 10.3, 10.4, 19, 21}, []float64{5, 5.1, 5.2, 5.3, 5.4, 5.5}
	all, err := Compare(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := all.WithoutFlagged(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !all.Location.Verdict.Claims() || s.Dropped == 0 || s.LocationChanges || s.SpreadChanges {
		t.Errorf("%q, without the flagged runs %+v", all.Location.Verdict.Text, s)
	}
}

// TestOutliersOfRoundedValues: a value beside the one that half of all have is
// no outlier for being rounded to the next.
func TestOutliersOfRoundedValues(t *testing.T) {
	for name, tt := range map[string]struct {
		xs   []float64
		want []int
	}{
		"none":                       {nil, nil},
		"one":                        {[]float64{3}, nil},
		"two":                        {[]float64{3, 4}, nil},
		"all but one":                {[]float64{10, 10, 10, 10, 10, 10, 11}, nil},
		"one step to both sides":     {[]float64{10, 10, 10, 10, 10, 9, 11, 10}, nil},
		"one far off":                {[]float64{10, 10, 10, 10, 10, 9, 11, 50}, []int{7}},
		"tenths":                     {[]float64{0.3, 0.3, 0.3, 0.3, 0.2, 0.4, 0.1 + 0.2}, nil},
		"not rounded, one far off":   {[]float64{10.1, 10.23, 10.37, 10.41, 9.87, 9.9, 11, 50}, []int{7}},
		"half tied, MAD of one step": {[]float64{10, 10, 10, 10, 11, 11, 11, 12, 12}, nil},
	} {
		got, err := FindOutliers(tt.xs)
		if err != nil || !slices.Equal(got.Flagged, tt.want) {
			t.Errorf("%s: flagged %v, want %v (%v)", name, got.Flagged, tt.want, err)
		}
	}
}

func TestCheckSelf(t *testing.T) {
	x, y := normal(21, 20, 1), normal(22, 20, 1)
	s, err := CheckSelf(x, y, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Relabelled within blocks the null hypothesis is true: 200 splits at 5%
	// exceed 24 claims once in 10,000.
	if s.Splits != 200 || s.LocationClaims > 24 || s.SpreadClaims > 24 {
		t.Errorf("self-check of equal modes: %d and %d claims in %d splits", s.LocationClaims, s.SpreadClaims, s.Splits)
	}
	if s.Failed != (s.Comparison.Location.Verdict.Claims() || s.Comparison.Spread.Verdict.Claims()) {
		t.Error("Failed does not follow the verdicts")
	}
	if s, err := CheckSelf(plus(x, 50), y, 1, Options{}); err != nil || !s.Failed {
		t.Errorf("a difference between A and A passes: %v", err)
	}
	if s, err := CheckSelf(nil, nil, 2, Options{}); err != nil || s.Failed || s.LocationClaims != 0 {
		t.Errorf("no runs: %+v, %v", s, err)
	}
}

// BenchmarkCompareTable is a table of 12 cells of 50 runs: 12 summaries, 11
// comparisons with the baseline, Holm.
func BenchmarkCompareTable(b *testing.B) {
	cells := make([][]float64, 12)
	for i := range cells {
		cells[i] = normal(uint64(i+1), 50, 1+float64(i%3)*5)
	}
	for b.Loop() {
		var family []*Comparison
		for i, x := range cells {
			if _, err := Summarize(x); err != nil {
				b.Fatal(err)
			}
			if i == 0 {
				continue
			}
			c, err := Compare(x, cells[0], Options{})
			if err != nil {
				b.Fatal(err)
			}
			family = append(family, &c)
		}
		Adjust(family)
	}
}

func BenchmarkCompareTableUnblocked(b *testing.B) {
	cells := make([][]float64, 12)
	for i := range cells {
		cells[i] = normal(uint64(i+1), 50, 1)
		for j := range cells[i] {
			cells[i][j] = math.Round(cells[i][j] * 2)
		}
	}
	for b.Loop() {
		for _, x := range cells[1:] {
			if _, err := Compare(x, cells[0], Options{Unblocked: true}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

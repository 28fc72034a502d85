package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAcrossSessions holds mean ± t·√(S²/s) to Student's factors as printed in
// tables.
func TestAcrossSessions(t *testing.T) {
	for _, tc := range []struct {
		effects   []float64
		mean, ok  bool
		factor    float64
		lo, hi, p float64
		pOK       bool
	}{
		{effects: nil},
		{effects: []float64{-0.02}, mean: true},
		{effects: []float64{1, 3}, mean: true, ok: true, factor: 12.7062, lo: 2 - 12.7062, hi: 2 + 12.7062, p: 0.295167, pOK: true},
		{effects: []float64{1, 1}, mean: true, ok: true, factor: 12.7062, lo: 1, hi: 1},
		{effects: []float64{1, 2, 3, 4, 5}, mean: true, ok: true, factor: 2.77645, lo: 3 - 2.77645*math.Sqrt(0.5), hi: 3 + 2.77645*math.Sqrt(0.5), p: 0.0132, pOK: true},
	} {
		a, err := AcrossSessions(tc.effects, Level)
		if err != nil {
			t.Fatal(err)
		}
		if a.N != len(tc.effects) || a.Mean.OK != tc.mean || a.CI.OK != tc.ok || a.S2.OK != tc.ok || a.P.OK != tc.pOK {
			t.Errorf("%v: got %+v", tc.effects, a)
		}
		if !tc.ok {
			if a.CI.Why == "" || a.P.Why == "" {
				t.Errorf("%v: undefined without a reason: %+v", tc.effects, a)
			}
			continue
		}
		if !near(a.T.V, tc.factor, 1e-5) || !near(a.CI.Lo, tc.lo, 1e-5) || !near(a.CI.Hi, tc.hi, 1e-5) || tc.pOK && !near(a.P.V, tc.p, 1e-2) {
			t.Errorf("%v: got %+v, want %v to %v, p %v", tc.effects, a, tc.lo, tc.hi, tc.p)
		}
		if a.P.OK && (a.P.V < 1-Level) != a.CI.Excludes(0) {
			t.Errorf("%v: p %v and interval %v disagree", tc.effects, a.P.V, a.CI)
		}
	}
	if _, err := AcrossSessions([]float64{1, math.NaN()}, Level); err == nil {
		t.Error("NaN was taken")
	}
}

func TestAdjustAcross(t *testing.T) {
	a, b, c := Across{P: defined(0.01)}, Across{P: defined(0.04)}, Across{P: undefined("x")}
	AdjustAcross([]*Across{&a, &b, &c})
	if a.PAdj.V != 0.02 || b.PAdj.V != 0.04 || c.PAdj.OK {
		t.Errorf("adjusted: %v, %v, %v; want 0.02, 0.04 and none", a.PAdj, b.PAdj, c.PAdj)
	}
}

// TestUnevenIsEven: where every session has equally many runs, the two forms
// are one. The data are those of TestKaliberaCountsPassOverIdleLevels as two levels.
func TestUnevenIsEven(t *testing.T) {
	values := []float64{9, 5, 8, 3, 10, 6, 7, 11, 1, 12, 2, 4}
	costs := []float64{1, 10}
	even, err := KaliberaJones(values, []int{4, 3}, costs, Level)
	if err != nil {
		t.Fatal(err)
	}
	uneven, err := KaliberaJonesUneven([][]float64{values[:4], values[4:8], values[8:]}, costs, Level)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if !near(even.S2[i].V, uneven.S2[i].V, 1e-12) || !near(even.T2[i].V, uneven.T2[i].V, 1e-12) {
			t.Errorf("level %d: S² %v and %v, T² %v and %v", i+1, even.S2[i], uneven.S2[i], even.T2[i], uneven.T2[i])
		}
	}
	if !near(even.Half.V, uneven.Half.V, 1e-12) || !near(even.Mean.V, uneven.Mean.V, 1e-12) || even.Counts[0] != uneven.Counts[0] || even.Counts[0] != 19 {
		t.Errorf("even %+v, uneven %+v", even, uneven)
	}
}

// TestUnevenSizes: what exists for 0, 1, 2 sessions and for sessions of one run.
func TestUnevenSizes(t *testing.T) {
	if _, err := KaliberaJonesUneven(nil, nil, Level); err == nil {
		t.Error("no session was taken")
	}
	if _, err := KaliberaJonesUneven([][]float64{{1}, {}}, nil, Level); err == nil {
		t.Error("a session without runs was taken")
	}
	for _, tc := range []struct {
		sessions     [][]float64
		s1, s2, t2ok bool
		t2           float64
	}{
		{[][]float64{{1}}, false, false, false, 0},
		{[][]float64{{1, 3}}, true, false, false, 0},
		{[][]float64{{1}, {3}}, false, true, false, 0},
		// Means 2 and 6, S₂² = 8; S₁² = 2 over one degree of freedom, h = 4/3.
		{[][]float64{{1, 3}, {6}}, true, true, true, 8 - 2*0.75},
		// Means 1 and 1: T₂² is negative, and stays so.
		{[][]float64{{0, 2}, {0, 2}}, true, true, true, -1},
	} {
		l, err := KaliberaJonesUneven(tc.sessions, []float64{1, 10}, Level)
		if err != nil {
			t.Fatal(err)
		}
		if l.S2[0].OK != tc.s1 || l.S2[1].OK != tc.s2 || l.T2[1].OK != tc.t2ok || tc.t2ok && !near(l.T2[1].V, tc.t2, 1e-12) {
			t.Errorf("%v: got %+v", tc.sessions, l)
		}
	}
}

// TestUnevenIsUnbiased: over many draws T₂² is on average what the sessions
// were drawn with, also where they are of unequal length.
func TestUnevenIsUnbiased(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 23))
	for _, between := range []float64{0, 0.5} {
		sum, n := 0.0, 20_000
		for range n {
			sessions := make([][]float64, 5)
			for i, runs := range []int{10, 10, 3, 7, 1} {
				level := between * r.NormFloat64()
				for range runs {
					sessions[i] = append(sessions[i], level+r.NormFloat64())
				}
			}
			l, err := KaliberaJonesUneven(sessions, nil, Level)
			if err != nil {
				t.Fatal(err)
			}
			sum += l.T2[1].V
		}
		// The sd of one T₂² is about 0.4.
		if got, want := sum/float64(n), between*between; math.Abs(got-want) > 0.012 {
			t.Errorf("mean T₂² %.4f, drawn with %v", got, want)
		}
	}
}

func TestPseudovaluesOfSDRatio(t *testing.T) {
	for _, tc := range []struct {
		x, y []float64
		why  string
	}{
		{nil, nil, "n ≥ 3 needed"},
		{[]float64{1}, []float64{2}, "n ≥ 3 needed"},
		{[]float64{1, 2}, []float64{2, 3}, "n ≥ 3 needed"},
		{[]float64{1, 1, 2}, []float64{1, 2, 4}, "no spread in a sample less one run"},
		{[]float64{1, 2, 4}, []float64{1, 3, 3}, "no spread in a sample less one run"},
		{[]float64{1, 2, 4, 7}, []float64{3, 1, 9, 5}, ""},
		{[]float64{1e300, 2e300, 4e300}, []float64{1e-300, 2e-300, 5e-300}, ""},
	} {
		values, why, err := LogSDRatioPseudovalues(tc.x, tc.y)
		if err != nil || why != tc.why || (why == "") != (len(values) == len(tc.x) && len(values) > 0) {
			t.Errorf("%v, %v: got %v, %q, %v; want %q", tc.x, tc.y, values, why, err, tc.why)
		}
		// The definition, without the shortcut.
		n := float64(len(tc.x))
		for i, v := range values {
			without := func(s []float64) []float64 { return append(append([]float64{}, s[:i]...), s[i+1:]...) }
			want := n*math.Log(sdRatio(tc.x, tc.y, Level).Ratio.V) - (n-1)*math.Log(sdRatio(without(tc.x), without(tc.y), Level).Ratio.V)
			if tc.x[0] < 1e300 && !near(v, want, 1e-9) {
				t.Errorf("%v, %v: pseudo-value %d is %v, want %v", tc.x, tc.y, i, v, want)
			}
		}
	}
	if _, _, err := LogSDRatioPseudovalues([]float64{1, 2, 3}, []float64{1, 2}); err == nil {
		t.Error("unpaired samples were taken")
	}
}

// TestComponentsOfSpread: without any difference between sessions T₂² of the
// spread is to be about 0; the jackknife makes it a share of S₂², which the
// documents give.
func TestComponentsOfSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	normal := r.NormFloat64
	tailed := func() float64 { return math.Exp(0.7 * r.NormFloat64()) }
	for _, tc := range []struct {
		name   string
		n      int
		draw   func() float64
		lo, hi float64 // of the mean of T₂² over that of S₂²
	}{{"normal, 10 rounds", 10, normal, -0.27, -0.15}, {"normal, 20 rounds", 20, normal, -0.16, -0.04}, {"tailed, 10 rounds", 10, tailed, 0.18, 0.34}, {"tailed, 20 rounds", 20, tailed, 0.18, 0.34}} {
		t2, s2 := 0.0, 0.0
		for range 4000 {
			var sessions [][]float64
			for range 5 {
				x, y := make([]float64, tc.n), make([]float64, tc.n)
				for i := range x {
					x[i], y[i] = tc.draw(), tc.draw()
				}
				values, why, err := LogSDRatioPseudovalues(x, y)
				if err != nil || why != "" {
					t.Fatal(why, err)
				}
				sessions = append(sessions, values)
			}
			l, err := KaliberaJonesUneven(sessions, nil, Level)
			if err != nil {
				t.Fatal(err)
			}
			t2, s2 = t2+l.T2[1].V, s2+l.S2[1].V
		}
		if got := t2 / s2; got < tc.lo || got > tc.hi {
			t.Errorf("%s: T₂² is %.3f of S₂², want %v to %v", tc.name, got, tc.lo, tc.hi)
		}
	}
}

// TestRequiredSessions: n as tables of Student's one-sample test give it for
// a power of 0.8 at 5%.
func TestRequiredSessions(t *testing.T) {
	for _, tc := range []struct{ effect, s2, want float64 }{
		{1, 1, 10}, {-1, 1, 10}, {0.5, 1, 34}, {2, 4, 10}, {2, 1, 5}, {100, 1, 2}, {1, 0, 2}, {0.01, 1, 78_491},
	} {
		got, err := RequiredSessions(tc.effect, tc.s2, 1-Level, DefaultPower)
		if err != nil || !got.OK || got.V != tc.want {
			t.Errorf("effect %v, variance %v: %v, %v; want %v", tc.effect, tc.s2, got, err, tc.want)
		}
	}
	if got, err := RequiredSessions(0, 1, 1-Level, DefaultPower); err != nil || got.OK {
		t.Errorf("effect 0: %v, %v", got, err)
	}
	if _, err := RequiredSessions(1, -1, 1-Level, DefaultPower); err == nil {
		t.Error("a negative variance was taken")
	}
}

// TestRequiredRuns agrees with RequiredSessions: what so many sessions need of
// runs makes a variance for which so many sessions suffice.
func TestRequiredRuns(t *testing.T) {
	for _, effect := range []float64{0.3, -1, 5} {
		for _, sessions := range []int{2, 3, 5} {
			runs, err := RequiredRuns(effect, 1, sessions, 1-Level, DefaultPower)
			if err != nil || !runs.OK {
				t.Fatal(runs, err)
			}
			need, err := RequiredSessions(effect, 1/runs.V, 1-Level, DefaultPower)
			if err != nil || need.V > float64(sessions) {
				t.Errorf("effect %v: %v runs in %d sessions need %v sessions", effect, runs.V, sessions, need.V)
			}
			if runs.V > 1 {
				if need, _ = RequiredSessions(effect, 1/(runs.V-1), 1-Level, DefaultPower); need.V <= float64(sessions) {
					t.Errorf("effect %v: %v runs in %d sessions would do", effect, runs.V-1, sessions)
				}
			}
		}
	}
	if _, err := RequiredRuns(1, 1, 1, 1-Level, DefaultPower); err == nil {
		t.Error("one session was taken")
	}
}

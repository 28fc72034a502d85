package stats

import (
	"math"
	"testing"
)

// TestPublishedTable restates the published sds (n = 10, four workloads under
// baseline, taskset and goset) as the specification does.
func TestPublishedTable(t *testing.T) {
	goset := []float64{0.042, 0.02, 336, 233}
	baseline := []float64{0.059, 0.05, 597, 363}
	for i, want := range []struct{ ratio, lo, hi, p float64 }{{0.71, 0.35, 1.43, 0.326}, {0.40, 0.20, 0.80, 0.012}, {0.56, 0.28, 1.13, 0.102}, {0.64, 0.32, 1.29, 0.203}} {
		r, err := SDRatioIfNormal(goset[i], baseline[i], 10, 10, Level)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Ratio.V-want.ratio) > 0.006 || math.Abs(r.CI.Lo-want.lo) > 0.006 || math.Abs(r.CI.Hi-want.hi) > 0.006 || math.Abs(r.P.V-want.p) > 0.0006 {
			t.Errorf("workload %d: %+v, want %+v", i, r, want)
		}
	}
	for name, want := range map[string]struct {
		y                []float64
		ratio, lo, hi, p float64
	}{
		"baseline": {baseline, 0.566, 0.40, 0.80, 0.0015},
		"taskset":  {[]float64{0.059, 0.04, 736, 395}, 0.556, 0.39, 0.79, 0.0011},
	} {
		s, err := SuiteIfNormal(goset, want.y, 10, 10, Level)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.GeomeanRatio.V-want.ratio) > 0.0006 || math.Abs(s.CI.Lo-want.lo) > 0.006 || math.Abs(s.CI.Hi-want.hi) > 0.006 || math.Abs(s.P.V-want.p) > 0.00006 {
			t.Errorf("%s: %+v, want %+v", name, s, want)
		}
		if faults := unsound(s); len(faults) > 0 {
			t.Error(faults)
		}
	}
	s, err := SuiteIfNormal(goset, baseline, 10, 10, Level)
	if err != nil || math.Abs(s.EveryLower.V-0.163) > 0.0006 {
		t.Errorf("lower on every one: %+v, %v, want p = 0.163", s.EveryLower, err)
	}
}

func TestPublishedEdges(t *testing.T) {
	for name, call := range map[string]func() (any, error){
		"n = 1":        func() (any, error) { return SDRatioIfNormal(1, 2, 1, 10, Level) },
		"no workloads": func() (any, error) { return SuiteIfNormal(nil, nil, 10, 10, Level) },
		"extreme":      func() (any, error) { return SDRatioIfNormal(1e-300, 1e300, 10, 10, Level) },
	} {
		got, err := call()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if faults := unsound(got); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
		}
	}
	for _, sd := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := SDRatioIfNormal(sd, 1, 10, 10, Level); !typedError(err) {
			t.Errorf("sd %v: error %v", sd, err)
		}
	}
}

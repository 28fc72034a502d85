package stats

import (
	"math"
	"testing"
)

func TestLost(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
		ok   bool
	}{
		{nil, 0, false},
		{[]float64{0}, 0, false},
		{[]float64{-1, -2}, 0, false},
		{[]float64{3}, 0, true},
		{[]float64{1, 3}, 1.0 / 4, true},
		{[]float64{2, 2, 2, 4}, 2.0 / 10, true},
		{[]float64{1, 2, 2}, 0, true}, // what was faster lost nothing
	} {
		got, err := Lost(c.xs)
		if err != nil || got.OK != c.ok || math.Abs(got.V-c.want) > 1e-15 {
			t.Errorf("%v: %+v, %v, want %v", c.xs, got, err, c.want)
		}
	}
	if _, err := Lost([]float64{math.NaN()}); err == nil {
		t.Error("NaN was taken")
	}
}

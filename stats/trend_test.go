package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Knight's way to S agrees with its definition.
func TestTrendAgreesWithAllPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func(i int) (t, y float64){
		"walk":       func(i int) (float64, float64) { return float64(i), random.NormFloat64() + float64(i)/100 },
		"tied y":     func(i int) (float64, float64) { return float64(i), float64(random.IntN(3)) },
		"tied t":     func(i int) (float64, float64) { return float64(random.IntN(5)), random.NormFloat64() },
		"both tied":  func(i int) (float64, float64) { return float64(random.IntN(4)), float64(random.IntN(4)) },
		"constant y": func(i int) (float64, float64) { return float64(i), 7 },
		"one t":      func(i int) (float64, float64) { return 3, random.NormFloat64() },
		"backwards":  func(i int) (float64, float64) { return -float64(i), float64(i * i) },
		"huge":       func(i int) (float64, float64) { return float64(i), math.Copysign(1e308, random.NormFloat64()) },
	}
	for name, kind := range kinds {
		for _, n := range []int{0, 1, 2, 3, 5, 6, 50, 400} {
			ts, ys := make([]float64, n), make([]float64, n)
			for i := range n {
				ts[i], ys[i] = kind(i)
			}
			t.Run(fmt.Sprintf("%s, n = %d", name, n), func(t *testing.T) { agreesWithPairs(t, ts, ys) })
		}
	}
}

func agreesWithPairs(t *testing.T, ts, ys []float64) {
	s := 0
	for i := range ys {
		for j := range i {
			s += sign(ts[i], ts[j]) * sign(ys[i], ys[j])
		}
	}
	if got := concordance(ts, ys); got != s {
		t.Errorf("S = %d, want %d", got, s)
	}
}

// sign compares instead of subtracting: the difference of two finite values
// may overflow.
func sign(a, b float64) int {
	switch {
	case a > b:
		return 1
	case a < b:
		return -1
	default:
		return 0
	}
}

package stats

import (
	"math"
	"slices"
)

// Holm returns the p-values adjusted by Holm's step-down procedure (1979), in
// the order given. It holds under any dependence.
func Holm(p []float64) ([]float64, error) {
	if err := checkPValues(p); err != nil {
		return nil, err
	}
	return holm(p), nil
}

func holm(p []float64) []float64 {
	out := make([]float64, len(p))
	running := 0.0
	for i, k := range Order(p) {
		running = math.Max(running, math.Min(1, p[k]*float64(len(p)-i)))
		out[k] = running
	}
	return out
}

// BenjaminiHochberg returns the p-values adjusted for the false discovery
// rate. It is offered on request only; tables use Holm.
func BenjaminiHochberg(p []float64) ([]float64, error) {
	if err := checkPValues(p); err != nil {
		return nil, err
	}
	out := make([]float64, len(p))
	order := Order(p)
	running := 1.0
	for i := len(order) - 1; i >= 0; i-- {
		k := order[i]
		running = math.Min(running, p[k]*float64(len(p))/float64(i+1))
		out[k] = running
	}
	return out, nil
}

func checkPValues(p []float64) error {
	for _, v := range p {
		if err := checkProbability("p-value", v); err != nil {
			return err
		}
	}
	return nil
}

// holmValues adjusts the defined values of a family; undefined ones are no
// members of it.
func holmValues(p []Value) []Value {
	var family []float64
	for _, v := range p {
		if v.OK {
			family = append(family, v.V)
		}
	}
	out := slices.Clone(p)
	adjusted := holm(family)
	k := 0
	for i, v := range p {
		if v.OK {
			out[i] = defined(adjusted[k])
			k++
		}
	}
	return out
}

package metric

import (
	"math"
	"strings"
)

// Scale picks the one prefix that a row or a column of values of a base unit
// is printed with: a value times factor is in the unit label. A show that is
// unit with a prefix is taken as it stands. Otherwise the prefix is the one
// that puts the largest value between 1 and 1000: an sd beside its median then
// does not drag both to smaller units.
//
// Scaled are times (down to ns, never above s), bytes (KiB, MiB; per second:
// kB/s, MB/s), bits, FLOP, Hz, W, J, V and A. Counts, and whatever else, are
// printed as they are. CSV and JSON never scale.
func Scale(values []float64, unit, show string) (factor float64, label string) {
	if show != "" {
		if base, r, _ := parse(show); base == unit {
			return r.inverse().factor(), show
		}
	}
	largest := 0.0
	for _, v := range values {
		if a := math.Abs(v); a > largest && !math.IsInf(a, 1) { // false for NaN
			largest = a
		}
	}
	head, tail := splitUnit(unit)
	at := strings.LastIndexByte(head, '-') + 1
	steps := stepsOf(head[at:], tail)
	if steps == nil || largest == 0 {
		return 1, unit
	}
	s := pick(steps, largest)
	return s.factor, head[:at] + s.prefix + head[at:] + tail
}

// splitUnit cuts a unit before its first "/" or "*".
func splitUnit(unit string) (head, tail string) {
	if i := strings.IndexAny(unit, "/*"); i >= 0 {
		return unit[:i], unit[i:]
	}
	return unit, ""
}

// step is one prefix: values times factor carry it.
type step struct {
	factor float64
	prefix string
}

// The ladders, from the largest unit to the smallest.
var (
	timeSteps    = []step{{1, ""}, {1e3, "m"}, {1e6, "\u00b5"}, {1e9, "n"}}
	binarySteps  = []step{{1. / (1 << 40), "Ti"}, {1. / (1 << 30), "Gi"}, {1. / (1 << 20), "Mi"}, {1. / (1 << 10), "Ki"}, {1, ""}}
	decimalSteps = []step{{1e-12, "T"}, {1e-9, "G"}, {1e-6, "M"}, {1e-3, "k"}, {1, ""}}
	powerSteps   = []step{{1e-9, "G"}, {1e-6, "M"}, {1e-3, "k"}, {1, ""}, {1e3, "m"}, {1e6, "\u00b5"}, {1e9, "n"}}
)

// stepsOf returns the ladder of a base unit's word; nil: it is not scaled.
func stepsOf(w, tail string) []step {
	switch w {
	case "s":
		return timeSteps
	case "B":
		if tail == "/s" {
			return decimalSteps // bandwidths are decimal everywhere
		}
		return binarySteps
	case "bit", "FLOP", "Hz":
		return decimalSteps
	case "W", "J", "V", "A":
		return powerSteps
	}
	return nil
}

// pick returns the first step that shows largest as at least 1. The margin is
// for values that four digits would round up to 1000 of the next smaller unit.
func pick(steps []step, largest float64) step {
	for _, s := range steps {
		if largest*s.factor >= 0.99995 {
			return s
		}
	}
	return steps[len(steps)-1]
}

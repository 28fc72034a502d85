package stats

import (
	"fmt"
	"math"
)

// ValueError reports an observation for which no statistic is defined: NaN or
// an infinity. Such a value is a fault of the measurement and is never skipped.
type ValueError struct {
	Index int     // position in the sample, from 0
	Value float64 // NaN, +Inf or -Inf
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("cannot use observation %d: value must be finite, got %v; mark the run void instead", e.Index, e.Value)
}

// SizeError reports samples whose sizes do not fit what was asked.
type SizeError struct {
	What string // the rule, as in "paired samples need equal lengths"
	Got  []int  // the lengths given
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("cannot compute: %s, got lengths %v", e.What, e.Got)
}

// ArgumentError reports a parameter outside its range.
type ArgumentError struct {
	Name string
	Rule string
	Got  float64
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("cannot compute: %s must be %s, got %v", e.Name, e.Rule, e.Got)
}

// checkFinite returns a *ValueError for the first NaN or infinity.
func checkFinite(samples ...[]float64) error {
	for _, xs := range samples {
		for i, x := range xs {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return &ValueError{Index: i, Value: x}
			}
		}
	}
	return nil
}

func checkConf(conf float64) error {
	if !(conf > 0 && conf < 1) {
		return &ArgumentError{Name: "confidence level", Rule: "between 0 and 1", Got: conf}
	}
	return nil
}

func checkProbability(name string, p float64) error {
	if !(p >= 0 && p <= 1) {
		return &ArgumentError{Name: name, Rule: "within [0, 1]", Got: p}
	}
	return nil
}

// defined wraps a computed number. Arithmetic on values near the ends of the
// floating-point range can overflow; that is undefined, not infinite.
func defined(v float64) Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return undefined("out of the range of floating-point arithmetic")
	}
	return Value{V: v, OK: true}
}

func undefined(format string, args ...any) Value {
	return Value{Why: fmt.Sprintf(format, args...)}
}

func noInterval(format string, args ...any) Interval {
	return Interval{Why: fmt.Sprintf(format, args...)}
}

// interval wraps computed bounds; an overflow makes it undefined.
func interval(lo, hi, coverage float64) Interval {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return noInterval("bounds out of the range of floating-point arithmetic")
	}
	return Interval{Lo: lo, Hi: hi, Coverage: coverage, OK: true}
}

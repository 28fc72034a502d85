package report

import (
	"math"
	"strconv"
	"strings"

	"goset/metric"
	"goset/stats"
)

// format writes the numbers of one table for people: one prefix for the whole
// table, decimals that show at least three digits of every sd, and of medians
// as many as their intervals support: two digits of half the narrowest, and
// three of the value.
type format struct {
	factor   float64 // a value times factor is in unit
	unit     string
	decimals int // of medians, intervals, minima, maxima
	tail     int // of the tails of iterations, which lie far out
	sd       int // decimals of sds; below 0: each sd has its own three digits
	// named has differences written with their unit: where a table's heading
	// does not have it.
	named bool
}

// undefined is how inks for people write a number that does not exist.
const undefined = "-"

// maxDigits bounds the significant digits of the largest value of a table: a
// nearly perfect sd would otherwise make every number unreadably long. The
// sds themselves always keep three digits.
const maxDigits = 7

// formatOf picks prefix and decimals by all numbers of the table.
func formatOf(t *Table) format {
	var values, sds, halves []float64
	for i := range t.Rows {
		s := &t.Rows[i].Summary
		for _, v := range []stats.Value{s.Median, s.Min, s.Max} {
			if v.OK {
				values = append(values, v.V)
			}
		}
		if s.SD.OK && s.SD.V > 0 {
			sds = append(sds, s.SD.V)
		}
		if ci := s.MedianCI; ci.OK {
			halves = append(halves, ci.Hi/2-ci.Lo/2)
		}
	}
	f := format{}
	f.factor, f.unit = scaleOf(values, t.Metric)
	smallest, largest := extent(values, f.factor)
	smallestSD, largestSD := extent(sds, f.factor)
	if smallestSD == 0 {
		smallestSD, largestSD = smallest/100, smallest/100 // no sd: five digits of the value itself
	}
	f.sd = places(smallestSD, 3)
	if integerDigits(largestSD)+f.sd > maxDigits {
		f.sd = -1
	}
	digits := places(smallestSD, 3)
	if narrowest, _ := extent(halves, f.factor); narrowest > 0 {
		digits = places(narrowest, 2)
	}
	f.decimals = max(places(smallest, 3), digits)
	f.decimals = max(min(f.decimals, maxDigits-integerDigits(largest)), min(places(smallest, 3), 12), 0)
	f.tail = f.decimals
	if _, far := extent(tailsOf(t), f.factor); far > 0 {
		f.tail = min(f.decimals, places(far, tailDigits))
	}
	return f
}

// tailDigits is how many digits the largest quantile of a tail has: single
// iterations make it.
const tailDigits = 5

// tailsOf are the quantiles beside the median.
func tailsOf(t *Table) []float64 {
	var out []float64
	for i := range t.Rows {
		it := &t.Rows[i].Iterations
		for _, v := range []stats.Value{it.P01, it.P1, it.P99, it.P999} {
			if v.OK {
				out = append(out, v.V)
			}
		}
	}
	return out
}

// scaleOf is the metric's own prefix, or another where that makes the numbers
// unreadable, or a power of ten where the unit takes no prefix.
func scaleOf(values []float64, m metric.Metric) (factor float64, unit string) {
	for _, show := range []string{m.Show, ""} {
		factor, unit = metric.Scale(values, m.Unit, show)
		if _, largest := extent(values, factor); largest == 0 || largest >= 1e-3 && largest < 1e8 {
			return factor, unit
		}
	}
	_, largest := extent(values, factor)
	// 10^308 is the largest factor that there is.
	e := max(-306, 3*int(math.Floor(math.Log10(largest)/3)))
	return factor * math.Pow10(-e), strings.TrimSpace("10" + superscript(strconv.Itoa(e)) + " " + unit)
}

// extent returns the smallest and the largest magnitude but zero.
func extent(xs []float64, factor float64) (smallest, largest float64) {
	for _, x := range xs {
		if x = math.Abs(x * factor); x > 0 {
			if smallest == 0 || x < smallest {
				smallest = x
			}
			largest = max(largest, x)
		}
	}
	return smallest, largest
}

// places is the number of decimals that show x with n significant digits.
func places(x float64, n int) int {
	if x == 0 {
		return 0
	}
	return min(max(0, n-1-int(math.Floor(math.Log10(x)))), 300)
}

// integerDigits is the number of digits before the decimal point.
func integerDigits(x float64) int {
	if x < 1 {
		return 1
	}
	return 1 + int(math.Floor(math.Log10(x)))
}

// quantity writes a value in the unit of the table.
func (f format) quantity(v stats.Value) string {
	if !v.OK {
		return undefined
	}
	return f.number(v.V)
}

// quantile writes a quantile of a tail.
func (f format) quantile(v stats.Value) string {
	f.decimals = f.tail
	return f.quantity(v)
}

func (f format) number(v float64) string {
	return plain(v*f.factor, f.decimals)
}

// plain writes v with so many decimals, or with an exponent where that would
// be longer than people read.
func plain(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	vanished := decimals >= 12 && v != 0 && strings.Trim(s, "-0.") == ""
	if len(s) > 14 || vanished {
		s = strconv.FormatFloat(v, 'e', 4, 64)
	}
	if strings.Trim(s, "-0.") == "" { // no "-0.00"
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

func (f format) deviation(v stats.Value) string {
	if !v.OK {
		return undefined
	}
	x := v.V * f.factor
	if f.sd < 0 {
		return plain(x, places(x, 3))
	}
	return plain(x, f.sd)
}

// interval writes "lo–hi", or what would be needed for one.
func (f format) interval(i stats.Interval) string {
	if !i.OK {
		// "n ≥ 6 needed for a 95% interval": the heading says the rest.
		why, _, _ := strings.Cut(i.Why, " for a ")
		if strings.HasSuffix(why, " needed") {
			return why
		}
		return undefined
	}
	dash := "–"
	if i.Lo < 0 {
		dash = " to "
	}
	return f.number(i.Lo) + dash + f.number(i.Hi)
}

// percent writes a share of one with three significant digits.
func percent(v stats.Value) string {
	if !v.OK {
		return undefined
	}
	return significant(100*v.V) + "%"
}

// times writes a ratio with three significant digits, and with three decimals
// about 1, where the differences of interest are.
func times(v stats.Value) string {
	if !v.OK {
		return undefined
	}
	if v.V >= 0.1 && v.V < 10 {
		return strconv.FormatFloat(v.V, 'f', 3, 64)
	}
	return significant(v.V)
}

func significant(x float64) string {
	if x != 0 && math.Abs(x) < 0.001 {
		return strconv.FormatFloat(x, 'e', 1, 64)
	}
	return plain(x, places(math.Abs(x), 3))
}

// exact and appendExact write a number for programs: full digits, no prefix, no
// unit.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func appendExact(to []byte, v float64) []byte { return strconv.AppendFloat(to, v, 'g', -1, 64) }

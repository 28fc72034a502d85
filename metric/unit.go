package metric

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Convert brings a value of the given unit to base units: 12.5 of "ms" is
// 0.0125 of "s", 3 of "GB/s" is 3e9 of "B/s", 7 of "ns/op" is 7e-9 of "s/op".
// It moves the decimal point instead of multiplying, so that 7.621 ns are
// 7.621e-09 s to the last digit. The result may overflow to an infinity or
// underflow to 0: the caller checks.
func Convert(value float64, unit string) (v float64, base string, ok bool) {
	convert, base, ok := Converter(unit)
	return convert(value), base, ok
}

// Converter is Convert for many values of one unit.
func Converter(unit string) (convert func(float64) float64, base string, ok bool) {
	base, r, ok := parse(unit)
	return func(v float64) float64 { return shift(v*r.up/r.down, r.exp) }, base, ok
}

// shift multiplies v by ten to the power exp in its shortest decimal form.
func shift(v float64, exp int) float64 {
	if exp == 0 || v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], v, 'e', -1, 64)
	at := bytes.IndexByte(text, 'e')
	old, err := strconv.Atoi(string(text[at+1:]))
	if err != nil {
		return v * math.Pow10(exp) // cannot happen: the text is strconv's own
	}
	text = strconv.AppendInt(text[:at+1], int64(old+exp), 10)
	shifted, _ := strconv.ParseFloat(string(text), 64) // out of range gives what is documented
	return shifted
}

// Base gives the base unit of a unit and the factor that a value of unit is
// multiplied with to be in it. ok is false for a unit that holds no word this
// package knows; it is then its own base, with factor 1.
//
// Known are times (s to fs, min, h and their usual spellings), bytes and bits
// (decimal and binary prefixes; "KB" is 1000 bytes, as in SI and in Go's
// "MB/s"), FLOP, Hz, W, J, V, A and counts per second such as ops and IOPS.
// Prefixes count on both sides of a "/", and behind the last "-" of a
// compound name, as in "p99-µs". A bare "k" is 1000; "K", "M" and "G" alone
// are left as they are, since some programs mean powers of 1024.
func Base(unit string) (base string, factor float64, ok bool) {
	base, r, ok := parse(unit)
	return base, r.factor(), ok
}

// ratio is a conversion factor, up / down * 10^exp, with the power of ten kept
// apart because it can be applied exactly.
type ratio struct {
	up, down float64
	exp      int
}

func (r ratio) factor() float64 {
	if r.exp < 0 { // 1e-9 is not exact, but the quotient by 1e9 is rounded once
		return r.up / r.down / math.Pow10(-r.exp)
	}
	return r.up / r.down * math.Pow10(r.exp)
}

func (r ratio) inverse() ratio { return ratio{r.down, r.up, -r.exp} }

func (r ratio) times(o ratio) ratio { return ratio{r.up * o.up, r.down * o.down, r.exp + o.exp} }

// parse splits a unit at "/" and "*" and reduces each part.
func parse(unit string) (base string, r ratio, ok bool) {
	one := ratio{1, 1, 0}
	if unit == "" || len(unit) > maxUnit {
		return unit, one, unit == ""
	}
	r = one
	var b strings.Builder
	inverse, rest := false, unit
	for {
		end := strings.IndexAny(rest, "/*")
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		w, known := reducePart(part, len(part) < len(unit))
		ok = ok || known
		if inverse {
			w.ratio = w.inverse()
		}
		r = r.times(w.ratio)
		b.WriteString(w.base)
		if end < 0 {
			break
		}
		b.WriteByte(rest[end])
		inverse = rest[end] == '/'
		rest = rest[end+1:]
	}
	if f := r.factor(); !ok || f == 0 || math.IsInf(f, 0) { // EB*EB*EB*...
		return unit, one, false
	}
	return withOne(b.String()), r, true
}

// maxUnit bounds what is taken for a unit, in bytes.
const maxUnit = 64

// withOne keeps "k/s" from becoming "/s".
func withOne(base string) string {
	if strings.HasPrefix(base, "/") {
		return "1" + base
	}
	return base
}

// reducePart reduces the last word of a part: in "p99-µs" that is "µs". A
// word behind a hyphen is only taken when it cannot be a qualifier: in
// "latency-min", "min" is no minute.
func reducePart(part string, compound bool) (word, bool) {
	cut := strings.LastIndexByte(part, '-') + 1
	w, ok := reduce(part[cut:], compound)
	if !ok || cut > 0 && (w.base == "" || part[cut:] == "min") {
		return asIs(part), false
	}
	w.base = part[:cut] + w.base
	return w, true
}

// word is a unit's word in base units.
type word struct {
	base string
	ratio
}

// asIs is a word of no known meaning.
func asIs(w string) word { return word{w, ratio{1, 1, 0}} }

// power is a word that differs from its base by a power of ten.
func power(base string, exp int) word { return word{base, ratio{1, 1, exp}} }

// times are the spellings of time units; the SI prefixes of "s" alone that
// benchmarks print, since "ks" and "Ms" are more likely something else.
var times = map[string]word{
	"s": power("s", 0), "sec": power("s", 0), "secs": power("s", 0), "second": power("s", 0), "seconds": power("s", 0),
	"ms": power("s", -3), "msec": power("s", -3), "msecs": power("s", -3), "millisecond": power("s", -3), "milliseconds": power("s", -3),
	"us": power("s", -6), "\u00b5s": power("s", -6), "\u03bcs": power("s", -6),
	"usec": power("s", -6), "usecs": power("s", -6), "microsecond": power("s", -6), "microseconds": power("s", -6),
	"ns": power("s", -9), "nsec": power("s", -9), "nsecs": power("s", -9), "nanosecond": power("s", -9), "nanoseconds": power("s", -9),
	"ps": power("s", -12), "fs": power("s", -15),
	"min": {"s", ratio{60, 1, 0}}, "mins": {"s", ratio{60, 1, 0}}, "minute": {"s", ratio{60, 1, 0}}, "minutes": {"s", ratio{60, 1, 0}},
	"h": {"s", ratio{3600, 1, 0}}, "hr": {"s", ratio{3600, 1, 0}}, "hrs": {"s", ratio{3600, 1, 0}}, "hour": {"s", ratio{3600, 1, 0}}, "hours": {"s", ratio{3600, 1, 0}},
	"day": {"s", ratio{86400, 1, 0}}, "days": {"s", ratio{86400, 1, 0}},
}

// stem is a word that prefixes are put before.
type stem struct {
	base   string
	binary bool // Ki, Mi, ... are prefixes too
	small  bool // m, µ, n, p are prefixes too
}

var stems = map[string]stem{
	"B": {"B", true, false}, "byte": {"B", true, false}, "bytes": {"B", true, false}, "Byte": {"B", true, false}, "Bytes": {"B", true, false},
	"bit": {"bit", true, false}, "bits": {"bit", true, false}, "bps": {"bit/s", false, false}, "Bps": {"B/s", false, false},
	"Hz": {"Hz", false, false},
	"W":  {"W", false, true}, "J": {"J", false, true}, "V": {"V", false, true}, "A": {"A", false, true},
	"Joules": {"J", false, false}, "Watts": {"W", false, false},
	"op": {"op", false, false}, "ops": {"ops", false, false}, "Ops": {"ops", false, false}, "OPS": {"ops/s", false, false},
	"req": {"req", false, false}, "reqs": {"reqs", false, false}, "IOPS": {"IOPS", false, false}, "iops": {"IOPS", false, false},
	"pps": {"pps", false, false}, "tps": {"tps", false, false}, "qps": {"qps", false, false}, "rps": {"rps", false, false},
}

// decimals are the prefixes above one; "K" is what programs print for "k".
var decimals = map[string]int{"k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

var binaries = map[string]float64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}

// smalls are the prefixes below one.
var smalls = map[string]int{"m": -3, "u": -6, "\u00b5": -6, "\u03bc": -6, "n": -9, "p": -12}

// reduce looks a word up, whole and then without a prefix. compound says that
// the word stands beside a "/" or "*".
func reduce(w string, compound bool) (word, bool) {
	if t, ok := times[w]; ok {
		return t, true
	}
	if w == "k" {
		return power("", 3), true
	}
	if s, ok := stemOf(w, compound); ok {
		return power(s.base, 0), true
	}
	for n := 1; n <= 2 && n < len(w); n++ {
		s, ok := stemOf(w[n:], compound)
		if !ok {
			continue
		}
		prefix := w[:n]
		if f := decimals[prefix]; f != 0 {
			return power(s.base, f), true
		}
		if f := binaries[prefix]; f != 0 && s.binary {
			return word{s.base, ratio{f, 1, 0}}, true
		}
		if f := smalls[prefix]; f != 0 && s.small {
			return power(s.base, f), true
		}
	}
	return asIs(w), false
}

// stemOf finds a stem. The plural "FLOPS" alone is a rate, in any case; in
// "FLOPs/s" or "flops/cycle" it is a count.
func stemOf(w string, compound bool) (stem, bool) {
	if s, ok := stems[w]; ok {
		return s, true
	}
	switch {
	case strings.EqualFold(w, "flop"), strings.EqualFold(w, "flops") && compound:
		return stem{base: "FLOP"}, true
	case strings.EqualFold(w, "flops"):
		return stem{base: "FLOP/s"}, true
	}
	return stem{}, false
}

// Restore takes a value in base units back to a unit that Convert takes: the
// same digits that the unit's value had, where Convert only moved the point.
func Restore(value float64, unit string) float64 {
	_, r, _ := parse(unit)
	r = r.inverse()
	return shift(value*r.up/r.down, r.exp)
}

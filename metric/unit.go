package metric

import "strings"

// Convert brings a value of the given unit to base units: 12.5 of "ms" is
// 0.0125 of "s", 3 of "GB/s" is 3e9 of "B/s", 7 of "ns/op" is 7e-9 of "s/op".
// It divides by exact powers where Base's factor would be inexact, so that
// 7.621 ns become 7.621e-09 s to the last digit. The result may overflow:
// the caller checks.
func Convert(value float64, unit string) (v float64, base string, ok bool) {
	base, up, down, ok := parse(unit)
	return value * up / down, base, ok
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
	base, up, down, ok := parse(unit)
	return base, up / down, ok
}

// parse splits a unit at "/" and "*" and reduces each part. A value times up,
// divided by down, is in base units.
func parse(unit string) (base string, up, down float64, ok bool) {
	up, down = 1, 1
	if unit == "" {
		return "", 1, 1, true
	}
	var b strings.Builder
	inverse, rest := false, unit
	for {
		end := strings.IndexAny(rest, "/*")
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		w, known := reducePart(part, len(part) < len(unit))
		if known {
			ok = true
			if inverse {
				w.up, w.down = w.down, w.up
			}
			up, down = up*w.up, down*w.down
		}
		b.WriteString(w.base)
		if end < 0 {
			break
		}
		b.WriteByte(rest[end])
		inverse = rest[end] == '/'
		rest = rest[end+1:]
	}
	if !ok {
		return unit, 1, 1, false
	}
	return withOne(b.String()), up, down, true
}

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
		return word{base: part, up: 1, down: 1}, false
	}
	w.base = part[:cut] + w.base
	return w, true
}

// word is a unit's word in base units.
type word struct {
	base     string
	up, down float64
}

// times are the spellings of time units; the SI prefixes of "s" alone that
// benchmarks print, since "ks" and "Ms" are more likely something else.
var times = map[string]word{
	"s": {"s", 1, 1}, "sec": {"s", 1, 1}, "secs": {"s", 1, 1}, "second": {"s", 1, 1}, "seconds": {"s", 1, 1},
	"ms": {"s", 1, 1e3}, "msec": {"s", 1, 1e3}, "msecs": {"s", 1, 1e3}, "millisecond": {"s", 1, 1e3}, "milliseconds": {"s", 1, 1e3},
	"us": {"s", 1, 1e6}, "\u00b5s": {"s", 1, 1e6}, "\u03bcs": {"s", 1, 1e6},
	"usec": {"s", 1, 1e6}, "usecs": {"s", 1, 1e6}, "microsecond": {"s", 1, 1e6}, "microseconds": {"s", 1, 1e6},
	"ns": {"s", 1, 1e9}, "nsec": {"s", 1, 1e9}, "nsecs": {"s", 1, 1e9}, "nanosecond": {"s", 1, 1e9}, "nanoseconds": {"s", 1, 1e9},
	"ps": {"s", 1, 1e12}, "fs": {"s", 1, 1e15},
	"min": {"s", 60, 1}, "mins": {"s", 60, 1}, "minute": {"s", 60, 1}, "minutes": {"s", 60, 1},
	"h": {"s", 3600, 1}, "hr": {"s", 3600, 1}, "hrs": {"s", 3600, 1}, "hour": {"s", 3600, 1}, "hours": {"s", 3600, 1},
	"day": {"s", 86400, 1}, "days": {"s", 86400, 1},
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
var decimals = map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}

var binaries = map[string]float64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}

// smalls hold what to divide by.
var smalls = map[string]float64{"m": 1e3, "u": 1e6, "\u00b5": 1e6, "\u03bc": 1e6, "n": 1e9, "p": 1e12}

// reduce looks a word up, whole and then without a prefix. compound says that
// the word stands beside a "/" or "*".
func reduce(w string, compound bool) (word, bool) {
	if t, ok := times[w]; ok {
		return t, true
	}
	if w == "k" {
		return word{"", 1e3, 1}, true
	}
	if s, ok := stemOf(w, compound); ok {
		return word{s.base, 1, 1}, true
	}
	for n := 1; n <= 2 && n < len(w); n++ {
		s, ok := stemOf(w[n:], compound)
		if !ok {
			continue
		}
		prefix := w[:n]
		if f := decimals[prefix]; f != 0 {
			return word{s.base, f, 1}, true
		}
		if f := binaries[prefix]; f != 0 && s.binary {
			return word{s.base, f, 1}, true
		}
		if f := smalls[prefix]; f != 0 && s.small {
			return word{s.base, 1, f}, true
		}
	}
	return word{base: w, up: 1, down: 1}, false
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

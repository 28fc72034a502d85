package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// target is one pair of programs and what is asked of the second.
type target struct {
	name string
	base []string // "c KERNEL ARGS" or "peak PATH": what it is held to
	args []string // of goset-bench workload
	// checks are on the result lines of one unit and name part.
	checks   []check
	switches bool // hold the context switches to those of base, too
}

// check is one limit on the ratio kernel / base.
type check struct {
	match string  // part of the benchmark's name
	unit  string  // of the line
	limit float64 // of the ratio
	upper bool    // the ratio is to be at most, not at least, the limit
}

// moreSwitches is how many context switches a kernel may have on top of its C
// form's: what the start of Go's runtime takes.
const moreSwitches = 30

func (t target) needsC() bool { return t.base[0] == "c" }

// form names what a target is held to.
func (t target) form() string {
	switch {
	case t.base[0] == "peak":
		return "FMA peak"
	case t.base[1] == "stream-loop":
		return "C, no memcpy"
	}
	return "C"
}

func targets() []target {
	ts := []target{{
		name: "jitter", base: []string{"c", "jitter", "300000", "100"},
		args:     []string{"jitter", "-steps=300000", "-iterations=100"},
		checks:   []check{{"", "ns/iteration", 1.02, true}},
		switches: true,
	}}
	for _, c := range []struct{ kib, loads, iterations string }{
		{"16", "200000", "150"}, {"192", "200000", "80"}, {"8192", "200000", "15"}, {"262144", "200000", "8"},
	} {
		ts = append(ts, target{
			name: "chase-" + c.kib + "-kib", base: []string{"c", "chase", c.kib, c.loads, c.iterations, "1"},
			args:     []string{"chase", "-kib=" + c.kib, "-loads=" + c.loads, "-iterations=" + c.iterations},
			checks:   []check{{"", "ns/load", 1.02, true}},
			switches: true,
		})
	}
	matmul := []string{"matmul", "-multiplications=500", "-iterations=200"}
	return append(append(ts,
		target{name: "matmul", base: []string{"c", "matmul", "500", "100"}, args: matmul,
			checks: []check{{"", "MFLOP/s", 1, false}}, switches: true},
		target{name: "matmul", base: []string{"peak", "auto"}, args: matmul,
			checks: []check{{"", "MFLOP/s", 0.70, false}}}),
		streamTargets()...)
}

// streamTargets compares like with like. gcc turns the copy loop into a call
// of memcpy, and glibc's stores past the caches once an array is large against
// them: that is held to goset's -nontemporal. The default is held to the loop
// as it is written.
func streamTargets() []target {
	args := []string{"stream", "-elements=20000000", "-iterations=5"}
	c := func(form string) []string { return []string{"c", form, "20000000", "5"} }
	return []target{{
		name: "stream", base: c("stream"), args: args, switches: true,
		checks: []check{{"op=copy", "MB/s", 0.95, false}, {"op=scale", "MB/s", 0.95, false}, {"op=add", "MB/s", 0.95, false}, {"op=triad", "MB/s", 0.95, false}},
	}, {
		name: "stream", base: c("stream-loop"), args: args,
		checks: []check{{"op=copy", "MB/s", 0.95, false}},
	}, {
		name: "stream -nontemporal", base: c("stream"), args: append(args[:len(args):len(args)], "-nontemporal=true"),
		checks: []check{{"op=copy", "MB/s", 0.95, false}},
	}}
}

// measure alternates the two programs, prints a line per check, and returns
// how many were missed.
func (p *programs) measure(t target, pairs int, stdout io.Writer) (missed int, err error) {
	var base, kernel []outcome
	for i := range pairs {
		order := []struct {
			argv []string
			to   *[]outcome
		}{{p.baseArgv(t), &base}, {append([]string{p.tool, "workload"}, t.args...), &kernel}}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, run := range order {
			o, err := p.runPinned(run.argv)
			if err != nil {
				return 0, err
			}
			*run.to = append(*run.to, o)
		}
	}
	for _, c := range t.checks {
		ok, err := c.print(t, base, kernel, stdout)
		if err != nil {
			return 0, err
		}
		missed += count(!ok)
	}
	if t.switches {
		missed += count(!printSwitches(t, base, kernel, stdout))
	}
	return missed, nil
}

func (p *programs) baseArgv(t target) []string {
	if t.base[0] == "peak" {
		return []string{p.self, "-peak", t.base[1]}
	}
	return append([]string{filepath.Join(p.dir, t.base[1])}, t.base[2:]...)
}

func (c check) print(t target, base, kernel []outcome, stdout io.Writer) (bool, error) {
	var b, k, ratios []float64
	for i := range base {
		x, err := base[i].median(c.match, c.unit)
		if err != nil {
			return false, err
		}
		y, err := kernel[i].median(c.match, c.unit)
		if err != nil {
			return false, err
		}
		b, k, ratios = append(b, x), append(k, y), append(ratios, y/x)
	}
	ratio, rule := median(ratios), "at least"
	ok := ratio >= c.limit
	if c.upper {
		ok, rule = ratio <= c.limit, "at most"
	}
	fmt.Fprintf(stdout, "%s  %-24s %-12s %12.6g  goset %12.6g %-12s ratio %.4f [%.4f, %.4f], %s %.2f\n",
		verdict(ok), strings.TrimSpace(t.name+" "+strings.TrimPrefix(c.match, "op=")), t.form(), median(b), median(k), c.unit,
		ratio, slices.Min(ratios), slices.Max(ratios), rule, c.limit)
	return ok, nil
}

func printSwitches(t target, base, kernel []outcome, stdout io.Writer) bool {
	b, k := switches(base), switches(kernel)
	ok := slices.Min(k) <= slices.Min(b)+moreSwitches
	fmt.Fprintf(stdout, "%s  %-24s %-12s %12d  goset %12d context switches, at most %d more\n",
		verdict(ok), t.name, t.form(), slices.Min(b), slices.Min(k), moreSwitches)
	return ok
}

func switches(os []outcome) []int64 {
	var s []int64
	for _, o := range os {
		s = append(s, o.switches)
	}
	return s
}

func verdict(ok bool) string {
	if ok {
		return "pass"
	}
	return "MISS"
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// median does not change xs, which must not be empty.
func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

package jitter

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"goset/workloads"
)

// reference is the definition of a link, n times, without an operator of Go
// that the kernel's loop has.
func reference(n int) uint64 {
	x := uint64(0x9e3779b97f4a7c15)
	for range n {
		for _, shift := range []struct{ left, right int }{{13, 0}, {0, 7}, {17, 0}} {
			var y uint64
			for bit := range 64 {
				from := bit - shift.left + shift.right
				if from >= 0 && from < 64 {
					y |= (x >> from & 1) << bit
				}
			}
			x ^= y
		}
		x *= 0x2545f4914f6cdd1d
	}
	return x
}

func TestChains(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000} {
		want := reference(n)
		if got := chain(seed, uint64(n)); got != want {
			t.Errorf("chain, %d steps: got %#x, want %#x", n, got, want)
		}
		if got := plainChain(seed, uint64(n)); got != want {
			t.Errorf("plainChain, %d steps: got %#x, want %#x", n, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	for _, c := range []Config{
		{Steps: 1, Iterations: 1, Threads: 1},
		{Steps: 2, Iterations: 2, Threads: 1},
		{Steps: 1000, Iterations: 5, Threads: 2},
		{Steps: 100000, Iterations: 2, Threads: 2, inProcess: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			var b bytes.Buffer
			if err := Run(c, &b); err != nil {
				t.Fatal(err)
			}
			r, lines := benchfmt.NewReader(&b, "test"), 0
			for r.Scan() {
				rec, ok := r.Result().(*benchfmt.Result)
				if !ok {
					if err, bad := r.Result().(*benchfmt.SyntaxError); bad {
						t.Fatal(err)
					}
					continue
				}
				lines++
				if got, want := string(rec.Name.Full()), fmt.Sprintf("Jitter/steps=%d", c.Steps); got != want {
					t.Errorf("name: got %q, want %q", got, want)
				}
				if got, want := rec.GetConfig("checksum"), fmt.Sprintf("%#016x", reference(int(c.Steps))); got != want {
					t.Errorf("checksum: got %q, want %q", got, want)
				}
				if v := rec.Values[0]; v.OrigUnit != "ns/iteration" || v.OrigValue <= 0 {
					t.Errorf("got %+v, want ns/iteration", v)
				}
			}
			if lines != int(c.Iterations) {
				t.Errorf("got %d lines, want %d", lines, c.Iterations)
			}
		})
	}
}

func TestRunFaults(t *testing.T) {
	var b bytes.Buffer
	err := Run(Config{Steps: 0, Iterations: 10_000_001, Threads: 0}, &b)
	var p *workloads.ParamError
	if !errors.As(err, &p) || strings.Count(err.Error(), "must be an integer from") != 3 || b.Len() > 0 {
		t.Errorf("got %v and output %q, want three faults and none", err, &b)
	}
}

func TestVerifyFindsWrongChecksums(t *testing.T) {
	cfg := Config{Steps: 7, Iterations: 3, Threads: 2}
	for _, sum := range []int{sumEnd, sumDrift, sumWant} {
		res, err := workloads.Measure(cfg.measurement())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(cfg, res); err != nil {
			t.Fatal(err)
		}
		res.Sums[1][sum]++
		if _, err := verify(cfg, res); err == nil || !strings.Contains(err.Error(), "thread 2 of 2") {
			t.Errorf("sum %d changed: got %v, want an error about thread 2", sum, err)
		}
	}
}

func BenchmarkChain(b *testing.B) {
	for range b.N {
		chain(seed, 1000)
	}
}

package workloads

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// The test kernel keeps a running count of its calls in its own memory.

//go:nosplit
//go:norace
//go:nocheckptr
func countRun(c *Child, section int) {
	*(*uint64)(c.Private)++
	*c.Sum(0) = *(*uint64)(c.Private)
	*c.Sum(1) += uint64(section)
}

//go:nosplit
//go:norace
//go:nocheckptr
func countAfter(c *Child, iteration int64) { *c.Sum(2) += uint64(iteration + 1) }

//go:nosplit
//go:norace
//go:nocheckptr
func countEnd(c *Child) { *c.Sum(3) = c.Args[0] + uint64(c.Thread) }

func counting(threads, sections int, iterations int64) Measurement {
	m := Measurement{
		Kernel: "count", Threads: threads, Iterations: iterations, Sections: sections, Sums: 4, Private: 8,
		Body: Body{Start: Nothing, Run: countRun, After: countAfter, End: countEnd},
	}
	m.Args[0] = 100
	return m
}

func TestMeasure(t *testing.T) {
	for _, inProcess := range []bool{false, true} {
		for _, threads := range []int{1, 2, 3} {
			for _, sections := range []int{1, 4} {
				for _, iterations := range []int64{1, 2, 1000} {
					t.Run(fmt.Sprintf("inProcess=%t/threads=%d/sections=%d/iterations=%d", inProcess, threads, sections, iterations), func(t *testing.T) {
						m := counting(threads, sections, iterations)
						m.InProcess = inProcess
						checkCounting(t, m)
					})
				}
			}
		}
	}
}

func checkCounting(t *testing.T, m Measurement) {
	t.Helper()
	r, err := Measure(m)
	if err != nil {
		t.Fatal(err)
	}
	want := RunnerInProcess
	if forkable && !m.InProcess {
		want = RunnerChild
	}
	if r.Runner != want {
		t.Errorf("runner: got %q, want %q", r.Runner, want)
	}
	if len(r.Slowest) != int(m.Iterations)*m.Sections || len(r.Sums) != m.Threads {
		t.Fatalf("got %d times and %d threads, want %d and %d", len(r.Slowest), len(r.Sums), int(m.Iterations)*m.Sections, m.Threads)
	}
	for i, ns := range r.Slowest {
		if ns < 0 || (ns == 0 && r.Runner == RunnerChild) {
			t.Errorf("time %d is %d ns", i, ns)
		}
	}
	n, s := uint64(m.Iterations)+1, uint64(m.Sections)
	for thread, got := range r.Sums {
		want := []uint64{n * s, n * s * (s - 1) / 2, n * (n - 1) / 2, 100 + uint64(thread)}
		for i, w := range want {
			if got[i] != w {
				t.Errorf("thread %d, sum %d: got %d, want %d", thread, i, got[i], w)
			}
		}
	}
}

func TestMeasureRefusesTooManyResults(t *testing.T) {
	if _, err := Measure(counting(4096, 4, 10_000_000)); err == nil {
		t.Error("no error for 1.3 TB of results")
	}
}

// Every passage must find all others of its round arrived.
func TestLocalGate(t *testing.T) {
	const rounds = 300
	for _, n := range []int{1, 2, 5} {
		var arrived atomic.Int64
		var wg sync.WaitGroup
		g := &gate{n: uint32(n), local: newLocalGate(n)}
		for range n {
			wg.Go(func() {
				for round := range int64(rounds) {
					arrived.Add(1)
					g.pass()
					if got := arrived.Load(); got != (round+1)*int64(n) {
						t.Errorf("%d threads: passed in round %d after %d arrivals", n, round, got)
					}
					g.pass()
				}
			})
		}
		wg.Wait()
	}
}

func TestAlign(t *testing.T) {
	for skip := range 3 {
		b := make([]byte, 200)[skip:]
		p := Align(b)
		if uintptr(p)%alignment != 0 || uintptr(p)-uintptr(unsafe.Pointer(&b[0])) >= alignment {
			t.Errorf("aligned %p to %p", &b[0], p)
		}
	}
}

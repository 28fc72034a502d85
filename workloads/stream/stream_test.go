package stream

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"goset/workloads"
)

// child gives a child that lives in the test: arrays of n elements with
// different values everywhere.
func child(n uint64, path string, nonTemporal bool) *workloads.Child {
	c := &workloads.Child{Private: workloads.Align(make([]byte, 3*stride(n)+64))}
	c.Args = Config{Elements: int64(n), Path: path, NonTemporal: nonTemporal}.measurement().Args
	for k := range uint64(3) {
		for i := range n {
			*at(array(c, k), i) = float64(1000*k + i)
		}
	}
	return c
}

func TestOperations(t *testing.T) {
	for _, path := range workloads.Paths() {
		for _, nonTemporal := range []bool{false, true} {
			for _, n := range []uint64{1, 2, 8, 15, 16, 17, 31, 32, 33, 64, 100} {
				for op, name := range opNames() {
					c := child(n, path, nonTemporal)
					want := operate(c, op, n)
					run(c, op)
					for k := range uint64(3) {
						for i := range n {
							if got := *at(array(c, k), i); got != want[k][i] {
								t.Fatalf("%s, %s, nontemporal %t, %d elements: array %d[%d]: got %v, want %v", name, path, nonTemporal, n, k, i, got, want[k][i])
							}
						}
					}
				}
			}
		}
	}
}

// operate is the definition of an operation, on a copy. The values are small
// integers, so a fused multiply-add gives the same.
func operate(c *workloads.Child, op int, n uint64) [3][]float64 {
	var s [3][]float64
	for k := range s {
		for i := range n {
			s[k] = append(s[k], *at(array(c, uint64(k)), i))
		}
	}
	for i := range n {
		switch op {
		case opCopy:
			s[2][i] = s[0][i]
		case opScale:
			s[1][i] = 3 * s[2][i]
		case opAdd:
			s[2][i] = s[0][i] + s[1][i]
		case opTriad:
			s[0][i] = s[1][i] + 3*s[2][i]
		}
	}
	return s
}

func TestGeneration(t *testing.T) {
	for n, want := range map[int64]int64{1: 1, 2: 2, 199: 199, 200: 200, 201: 1, 400: 200, 601: 1} {
		if got := generation(n); got != want {
			t.Errorf("%d iterations: got %d, want %d", n, got, want)
		}
	}
	if a, _, _ := reference(1); a != 30 {
		t.Errorf("a after one iteration: got %v, want 15 * 2", a)
	}
	if a, b, c := reference(generationLength); math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsInf(c, 0) {
		t.Error("a whole generation overflows")
	}
}

func TestRun(t *testing.T) {
	for _, path := range append(workloads.Paths(), workloads.PathAuto) {
		for _, c := range []Config{
			{Elements: 8, Iterations: 1, Threads: 1, Path: path},
			{Elements: 33, Iterations: 2, Threads: 2, Path: path},
			{Elements: 100, Iterations: 199, Threads: 1, Path: path},
			{Elements: 100, Iterations: 200, Threads: 1, Path: path},
			{Elements: 100, Iterations: 601, Threads: 2, Path: path},
			{Elements: 1001, Iterations: 3, Threads: 1, Path: path, NonTemporal: path != workloads.PathPortable && len(workloads.Paths()) > 1},
			{Elements: 100000, Iterations: 2, Threads: 2, Path: path, inProcess: true},
		} {
			t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { checkRun(t, c) })
		}
	}
}

func checkRun(t *testing.T, c Config) {
	var b bytes.Buffer
	if err := Run(c, &b); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(&b, "test")
	var names []string
	for r.Scan() {
		rec, ok := r.Result().(*benchfmt.Result)
		if !ok {
			if err, bad := r.Result().(*benchfmt.SyntaxError); bad {
				t.Fatal(err)
			}
			continue
		}
		names = append(names, string(rec.Name.Full()))
		if v := rec.Values[0]; v.OrigUnit != "MB/s" || v.OrigValue <= 0 {
			t.Errorf("got %+v, want MB/s", v)
		}
	}
	if len(names) != 4*int(c.Iterations) {
		t.Fatalf("got %d lines, want 4 for each of %d iterations", len(names), c.Iterations)
	}
	for i, name := range names {
		if want := "Stream/op=" + opNames()[i%4]; name != want {
			t.Errorf("line %d: got %q, want %q", i, name, want)
		}
	}
}

// One thread's rate is McCalpin's bytes over the time; n threads' is theirs.
func TestRates(t *testing.T) {
	res := &workloads.Result{Runner: workloads.RunnerChild, Sections: ops, Slowest: []int64{1000, 2000, 3000, 4000}, Sums: make([][]uint64, 2)}
	var b bytes.Buffer
	if err := write(Config{Elements: 500, Iterations: 1, Threads: 2, Path: "avx2"}, res, &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"BenchmarkStream/op=copy \t1\t16000 MB/s\n",
		"BenchmarkStream/op=scale \t1\t8000 MB/s\n",
		"BenchmarkStream/op=add \t1\t8000 MB/s\n",
		"BenchmarkStream/op=triad \t1\t6000 MB/s\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in:\n%s", want, &b)
		}
	}
}

func TestRunFaults(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		faults int
	}{
		{Config{Elements: 7, Iterations: 0, Threads: 0, Path: "sse"}, 4},
		{Config{Elements: 8, Iterations: 1, Threads: 1, Path: "portable", NonTemporal: true}, 1},
	} {
		var b bytes.Buffer
		err := Run(c.cfg, &b)
		var p *workloads.ParamError
		if !errors.As(err, &p) || strings.Count(err.Error(), "must be") != c.faults || b.Len() > 0 {
			t.Errorf("%+v: got %v and output %q, want %d faults and none", c.cfg, err, &b, c.faults)
		}
	}
}

func TestVerifyFindsWrongArrays(t *testing.T) {
	cfg := Config{Elements: 9, Iterations: 250, Threads: 2, Path: workloads.PathPortable}
	for name, change := range map[string]func(sums []uint64){
		"a":       func(s []uint64) { s[sumError] = math.Float64bits(2e-13) },
		"c":       func(s []uint64) { s[sumError+2] = math.Float64bits(2e-13) },
		"NaN":     func(s []uint64) { s[sumError+1] = math.Float64bits(math.NaN()) },
		"skipped": func(s []uint64) { s[sumChecks]-- },
	} {
		res, err := workloads.Measure(cfg.measurement())
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(cfg, res); err != nil {
			t.Fatal(err)
		}
		change(res.Sums[1])
		if err := verify(cfg, res); err == nil || !strings.Contains(err.Error(), "thread 2 of 2") {
			t.Errorf("%s: got %v, want an error about thread 2", name, err)
		}
	}
}

//go:nosplit
//go:norace
//go:nocheckptr
func fillWrong(c *workloads.Child) {
	fill(c)
	*(*uint64)(array(c, 0)) = c.Args[workloads.MaxArgs-1]
}

// A wrong element of the first generation must be found although the arrays
// are filled anew after it.
func TestWrongElementIsFound(t *testing.T) {
	for _, wrong := range []float64{math.NaN(), math.Inf(1), 2.0000001} {
		for _, iterations := range []int64{1, 250} {
			cfg := Config{Elements: 1000, Iterations: iterations, Threads: 1, Path: workloads.PathPortable}
			m := cfg.measurement()
			m.Body.Start, m.Args[workloads.MaxArgs-1] = fillWrong, math.Float64bits(wrong)
			res, err := workloads.Measure(m)
			if err != nil {
				t.Fatal(err)
			}
			if verify(cfg, res) == nil {
				t.Errorf("%v in the first element, %d iterations: not found", wrong, iterations)
			}
		}
	}
}

func BenchmarkTriad(b *testing.B) {
	for _, path := range workloads.Paths() {
		b.Run(path, func(b *testing.B) {
			c := child(10000, path, false)
			b.SetBytes(10000 * opBytes(opTriad))
			for range b.N {
				run(c, opTriad)
			}
		})
	}
}

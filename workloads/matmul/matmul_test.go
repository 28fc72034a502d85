package matmul

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"goset/workloads"
)

// triple is the definition of the product.
func triple(a, b *matrix) *matrix {
	var p matrix
	for i := range N {
		for j := range N {
			for k := range N {
				p[i*N+j] += a[i*N+k] * b[k*N+j]
			}
		}
	}
	return &p
}

func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(f func(i int) float64) *matrix {
		var m matrix
		for i := range m {
			m[i] = f(i)
		}
		return &m
	}
	identity := fill(func(i int) float64 {
		if i/N == i%N {
			return 1
		}
		return 0
	})
	positive := func() *matrix { return fill(func(int) float64 { return 1 + r.Float64() }) }
	// Small integers of both signs: every product is exact, in any order.
	exact := func() *matrix { return fill(func(int) float64 { return float64(r.IntN(2001) - 1000) }) }
	for _, c := range []struct {
		name      string
		a, b      *matrix
		tolerance float64
	}{
		{"identity left", identity, positive(), 0},
		{"identity right", positive(), identity, 0},
		{"exact", exact(), exact(), 0},
		{"positive", positive(), positive(), tolerance},
	} {
		for _, path := range workloads.Paths() {
			t.Run(c.name+"/"+path, func(t *testing.T) {
				want, got := triple(c.a, c.b), fill(func(int) float64 { return math.NaN() })
				multiply(got, c.a, c.b, workloads.PathCode(path), 1)
				for i, w := range want {
					if !(math.Abs(got[i]-w) <= c.tolerance*math.Abs(w)) {
						t.Fatalf("element (%d, %d): got %v, want %v", i/N, i%N, got[i], w)
					}
				}
			})
		}
	}
}

// A product must stay within its memory.
func TestProductsStayInside(t *testing.T) {
	for _, path := range workloads.Paths() {
		var m [5]matrix // a product between two guards, and its factors
		for i := range N * N {
			m[0][i], m[2][i], m[3][i], m[4][i] = -1, -1, 1, 1
		}
		multiply(&m[1], &m[3], &m[4], workloads.PathCode(path), 2)
		for i := range N * N {
			if m[0][i] != -1 || m[2][i] != -1 || m[1][i] != N {
				t.Fatalf("%s: element %d: guards %v and %v, product %v", path, i, m[0][i], m[2][i], m[1][i])
			}
		}
	}
}

func TestRun(t *testing.T) {
	for _, path := range append(workloads.Paths(), workloads.PathAuto) {
		for _, c := range []Config{
			{Multiplications: 1, Iterations: 1, Threads: 1, Path: path},
			{Multiplications: 2, Iterations: 2, Threads: 2, Path: path},
			{Multiplications: 50, Iterations: 2, Threads: 1, Path: path, inProcess: true},
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
		if got := string(rec.Name.Full()); got != "Matmul/n=32" {
			t.Errorf("name: got %q", got)
		}
		if got := rec.GetConfig("path"); got == "" || (c.Path != workloads.PathAuto && got != c.Path) {
			t.Errorf("path: got %q, want %q", got, c.Path)
		}
		if v := rec.Values[0]; v.Unit != "MFLOP/s" || v.Value <= 0 || rec.Iters != int(c.Multiplications) {
			t.Errorf("got %d %+v, want %d products and MFLOP/s", rec.Iters, v, c.Multiplications)
		}
	}
	if lines != int(c.Iterations) {
		t.Errorf("got %d lines, want %d", lines, c.Iterations)
	}
}

func TestRunFaults(t *testing.T) {
	var b bytes.Buffer
	err := Run(Config{Multiplications: 0, Iterations: 0, Threads: -1, Path: "mmx"}, &b)
	var p *workloads.ParamError
	if !errors.As(err, &p) || strings.Count(err.Error(), "must be") != 4 || b.Len() > 0 {
		t.Errorf("got %v and output %q, want four faults and none", err, &b)
	}
}

func TestVerifyFindsWrongProducts(t *testing.T) {
	cfg := Config{Multiplications: 1, Iterations: 1, Threads: 2, Path: workloads.PathPortable}
	for name, change := range map[string]func(sums []uint64){
		"drift": func(s []uint64) { s[sumDrift]++ },
		"last element": func(s []uint64) {
			s[sumProduct+N*N-1] = math.Float64bits(math.Float64frombits(s[sumProduct+N*N-1]) * (1 + 3e-12))
		},
		"NaN":   func(s []uint64) { s[sumProduct] = math.Float64bits(math.NaN()) },
		"wiped": func(s []uint64) { s[sumProduct+5] = 0 },
	} {
		res, err := workloads.Measure(cfg.measurement())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verify(cfg, res); err != nil {
			t.Fatal(err)
		}
		change(res.Sums[1])
		if _, err := verify(cfg, res); err == nil || !strings.Contains(err.Error(), "thread 2") {
			t.Errorf("%s: got %v, want an error about thread 2", name, err)
		}
	}
}

func TestPeak(t *testing.T) {
	for _, path := range workloads.Paths() {
		got, err := Peak(path, time.Microsecond)
		if path == workloads.PathPortable {
			if err == nil {
				t.Error("portable has a peak")
			}
		} else if err != nil || len(got) == 0 || !(got[0] > 0) || math.IsInf(got[0], 0) {
			t.Errorf("%s: got %v, %v", path, got, err)
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	for _, path := range workloads.Paths() {
		b.Run(path, func(b *testing.B) {
			var p, x, y matrix
			for i := range x {
				x[i], y[i] = element(0, i), element(1, i)
			}
			multiply(&p, &x, &y, workloads.PathCode(path), uint64(b.N))
			b.ReportMetric(2*N*N*N*float64(b.N)/b.Elapsed().Seconds()/1e6, "MFLOP/s")
		})
	}
}

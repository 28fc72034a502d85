package yield

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"goset/workloads"
)

// small is a configuration of milliseconds.
func small(change func(*Config)) Config {
	c := Config{Yield: Gosched, Every: time.Microsecond, Procs: 2, Rounds: 1, Workers: 2, Bytes: 1 << 20, Block: 2048, Goroutines: 50}
	change(&c)
	return c
}

func TestRun(t *testing.T) {
	for name, c := range map[string]Config{
		"none":              small(func(c *Config) { c.Yield = None }),
		"gosched":           small(func(c *Config) { c.Rounds = 2 }),
		"paced":             small(func(c *Config) { c.Yield = Paced }),
		"one of everything": small(func(c *Config) { c.Procs, c.Workers, c.Bytes, c.Block, c.Goroutines = 1, 1, 1, 1, 1 }),
		"idle workers":      small(func(c *Config) { c.Workers, c.Bytes, c.Block = 5, 4096, 2048 }),
		"a rest":            small(func(c *Config) { c.Bytes, c.Block = 5000, 2048 }),
		"many procs":        small(func(c *Config) { c.Procs = runtime.NumCPU() + 3 }),
	} {
		t.Run(name, func(t *testing.T) { checkRun(t, c) })
	}
}

func checkRun(t *testing.T, c Config) {
	before := runtime.GOMAXPROCS(0)
	var b bytes.Buffer
	if err := Run(c, &b); err != nil {
		t.Fatal(err)
	}
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("GOMAXPROCS is %d afterwards, was %d", got, before)
	}
	values := map[string][]float64{}
	var last *benchfmt.Result
	r := benchfmt.NewReader(&b, "test")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			v := rec.Values[0]
			if v.OrigUnit != "" {
				v.Value, v.Unit = v.OrigValue, v.OrigUnit
			}
			key := string(rec.Name.Full()) + " " + v.Unit
			values[key] = append(values[key], v.Value)
			last = rec.Clone()
		}
	}
	base, peak := values["Yield/op=base ns/probe"], values["Yield/op=peak ns/probe"]
	ratio, rate := values["Yield/op=peak-to-base x"], values["Yield/op=rate MB/s"]
	if len(values) != 4 || len(base) != c.Rounds || len(peak) != c.Rounds || len(ratio) != c.Rounds || len(rate) != c.Rounds {
		t.Fatalf("got %v, want four values for each of %d rounds", values, c.Rounds)
	}
	for i := range ratio {
		if want := peak[i] / base[i]; math.Abs(ratio[i]-want) > 1e-6*want {
			t.Errorf("round %d: ratio %v, want %v / %v", i+1, ratio[i], peak[i], base[i])
		}
	}
	blocks := (c.Bytes + c.Block - 1) / c.Block
	for key, want := range map[string]string{
		"yield": c.Yield, "procs": strconv.Itoa(c.Procs), "cpus": strconv.Itoa(runtime.NumCPU()),
		"bytes": strconv.FormatInt(blocks*c.Block, 10), "warning": oversubscribed(c.Procs, runtime.NumCPU()),
	} {
		if got := last.GetConfig(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func TestRunFaults(t *testing.T) {
	var b bytes.Buffer
	err := Run(Config{Yield: "often", Every: -1, Procs: 0}, &b)
	var p *workloads.ParamError
	if !errors.As(err, &p) || strings.Count(err.Error(), "must be") != len(Params()) || b.Len() > 0 {
		t.Errorf("got %v and output %q, want a fault of each parameter and none", err, &b)
	}
}

// A function that the toolchain lacks is refused by its name, and nothing runs.
func TestAvailable(t *testing.T) {
	for _, f := range []string{None, Gosched, Paced} {
		if err := Available(f); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	if runtimeYield != nil {
		if err := Available(Runtime); err != nil {
			t.Errorf("%s: %v", Runtime, err)
		}
		return
	}
	var b bytes.Buffer
	err := Run(small(func(c *Config) { c.Yield = Runtime }), &b)
	var p *workloads.ParamError
	if !errors.As(err, &p) || p.Param != "yield" || p.Value != Runtime || !strings.Contains(err.Error(), "-tags runtimeyield") || b.Len() > 0 {
		t.Errorf("got %v and output %q", err, &b)
	}
}

func TestOversubscribed(t *testing.T) {
	for _, c := range []struct {
		procs, cpus int
		want        string
	}{{1, 1, ""}, {1, 2, ""}, {2, 2, ""}, {3, 2, "GOMAXPROCS is 3 on 2 CPUs: "}, {2, 1, "GOMAXPROCS is 2 on 1 CPU: "}} {
		if got := oversubscribed(c.procs, c.cpus); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%d on %d: got %q, want %q", c.procs, c.cpus, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		ns   []int64
		want float64
	}{{[]int64{3}, 3}, {[]int64{4, 1}, 2.5}, {[]int64{9, 1, 2}, 2}} {
		before := fmt.Sprint(c.ns)
		if got := median(c.ns); got != c.want || fmt.Sprint(c.ns) != before {
			t.Errorf("%s: got %v, want %v", before, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: got %v", got)
	}
}

// What a worker calls before every block lets others run, and the paced
// function only after its time.
func TestFunctions(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []struct {
		name  string
		every time.Duration
	}{{Gosched, time.Hour}, {Paced, 0}} {
		var ran atomic.Bool
		go func() { ran.Store(true) }()
		yield := Config{Yield: c.name, Every: c.every}.function(&worker{since: now()})
		// Now and then the scheduler takes the one that yielded again.
		for i := 0; i < 10 && !ran.Load(); i++ {
			yield()
		}
		if !ran.Load() {
			t.Errorf("%s: no other goroutine ran", c.name)
		}
	}
	w := &worker{since: now()}
	since := w.since
	paced := Config{Yield: Paced, Every: time.Hour}.function(w)
	paced()
	if w.since != since {
		t.Error("paced yields before its time")
	}
	w.since -= int64(time.Hour)
	if paced(); w.since < since {
		t.Error("paced does not yield after its time")
	}
	Config{Yield: None}.function(w)()
}

func TestProbe(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		p := newProbe(n)
		for range 3 { // a probe can be repeated
			before := now()
			got := p.latency()
			if took := now() - before; got <= 0 || got > took || p.left.Load() != 0 {
				t.Errorf("%d goroutines: latency %d of %d ns, %d have not read the clock", n, got, took, p.left.Load())
			}
		}
	}
}

// Workers share a round's blocks evenly, and all of them.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		bytes, block int64
		workers      int
		whole, short []int64
	}{
		{1, 1, 1, []int64{1}, []int64{1}},
		{1, 1, 2, []int64{1, 0}, []int64{1, 0}},
		{3, 2, 2, []int64{1, 1}, []int64{1, 1}},
		{100, 2, 3, []int64{17, 17, 16}, []int64{2, 2, 2}},
	} {
		b, err := newBackground(Config{Yield: None, Bytes: c.bytes, Block: c.block, Workers: c.workers})
		if err != nil {
			t.Fatal(err)
		}
		for name, j := range map[string]job{"whole": b.whole(), "short": b.shortened()} {
			want := map[string][]int64{"whole": c.whole, "short": c.short}[name]
			for i, w := range b.workers {
				if got := j.share(w); got != want[i] {
					t.Errorf("%d bytes of %d for %d, %s: worker %d has %d blocks, want %d", c.bytes, c.block, c.workers, name, i, got, want[i])
				}
			}
		}
	}
}

func TestTail(t *testing.T) {
	text := []byte("0123456789abcdefghij")
	for _, sizes := range [][]int{{0}, {8}, {20}, {1, 7}, {7, 1}, {3, 3, 3}, {9, 0, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		var got tail
		n := 0
		for _, size := range sizes {
			if k, err := got.Write(text[n : n+size]); k != size || err != nil {
				t.Errorf("%v: wrote %d, %v", sizes, k, err)
			}
			n += size
		}
		want := text[max(0, n-8):n]
		if got.n != int64(n) || !bytes.HasSuffix(got.last[:], want) {
			t.Errorf("%v: got %d and %q, want %d and %q", sizes, got.n, got.last, n, want)
		}
	}
}

func TestVerifyFindsWrongWork(t *testing.T) {
	b, err := newBackground(small(func(*Config) {}))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(w *worker){
		"":         func(*worker) {},
		"checksum": func(w *worker) { w.out.last[0]++ },
		"want":     func(w *worker) { w.out.last[4]++ },
		"worker 2": func(w *worker) { w.out = tail{} },
		"EOF":      func(w *worker) { w.err = io.EOF },
	} {
		b.whole().start()
		b.whole().wait()
		change(b.workers[1])
		if err := b.verify(b.whole()); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

// Nothing is allocated while goroutines are timed: the collector's and the
// allocator's work would be measured with them. The runtime itself may allocate
// now and then, a round of thousands of goroutines may not.
func TestRoundAllocatesNothing(t *testing.T) {
	for _, f := range []string{None, Gosched, Paced} {
		cfg := small(func(c *Config) { c.Yield, c.Goroutines, c.Bytes = f, 1000, 8<<20 })
		work, err := newBackground(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cfg.Procs))
		p := newProbe(cfg.Goroutines)
		keepGoroutines(cfg)
		r := round{base: make([]int64, 5)}
		r.run(p, work.shortened())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r.run(p, work.whole())
		runtime.ReadMemStats(&after)
		n := after.Mallocs - before.Mallocs
		t.Logf("%s: %d allocations, %d probes", f, n, r.probes)
		if n > 50 {
			t.Errorf("%s: %d allocations in a round of %d probes", f, n, r.probes)
		}
	}
}

func BenchmarkProbe(b *testing.B) {
	p := newProbe(1000)
	for b.Loop() {
		p.latency()
	}
}

func BenchmarkBlock(b *testing.B) {
	work, err := newBackground(Config{Yield: None, Bytes: int64(b.N) * 2048, Block: 2048, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(2048)
	b.ResetTimer()
	work.whole().start()
	work.whole().wait()
}

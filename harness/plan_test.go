package harness

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// three is an experiment of three treatments.
func three(plan string) string {
	return "[plan]\n" + plan + "\n[workload.w]\nkernel = \"jitter\"\n[mode.a]\n[mode.b]\n[mode.c]\n"
}

func mustExpand(t *testing.T, e *Experiment, seed uint64) *Plan {
	t.Helper()
	p, err := e.Expand(seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// order writes runs as "block:treatment/position".
func order(runs []Run) string {
	var parts []string
	for _, r := range runs {
		parts = append(parts, fmt.Sprintf("%d:%d/%d", r.Block, r.Treatment, r.Position))
	}
	return strings.Join(parts, " ")
}

func TestOrders(t *testing.T) {
	for _, tt := range []struct{ name, plan, want string }{
		{"interleaved", "order = \"interleaved\"\nruns = 2\nwarmup = 1", "0:0/1 0:1/2 0:2/3 1:0/1 1:1/2 1:2/3 2:0/1 2:1/2 2:2/3"},
		{"two warm-ups", "order = \"interleaved\"\nruns = 1\nwarmup = 2", "0:0/1 0:1/2 0:2/3 0:0/4 0:1/5 0:2/6 1:0/1 1:1/2 1:2/3"},
		{"sequential", "order = \"sequential\"\nruns = 2\nwarmup = 2", "0:0/1 0:0/2 0:1/3 0:1/4 0:2/5 0:2/6 1:0/1 2:0/1 1:1/2 2:1/2 1:2/3 2:2/3"},
		{"no warm-up", "order = \"interleaved\"\nruns = 1\nwarmup = 0", "1:0/1 1:1/2 1:2/3"},
		// Fixed for good: plans of this seed are in result folders.
		{"shuffled", "runs = 3\nwarmup = 1", "0:0/1 0:1/2 0:2/3 1:1/1 1:0/2 1:2/3 2:1/1 2:2/2 2:0/3 3:0/1 3:2/2 3:1/3"},
	} {
		if got := order(mustExpand(t, mustLoad(t, three(tt.plan)), 1).Runs); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestBlocksAreComplete: every block holds every treatment once, at positions
// from 1, and the blocks follow each other.
func TestBlocksAreComplete(t *testing.T) {
	const treatments, runs, warmup = 24, 50, 2
	e := mustLoad(t, fmt.Sprintf("plan = { runs = %d, warmup = %d }\n[workload.w]\nkernel = \"jitter\"\nthreads = [%s]\n[mode.m]\n", runs, warmup, numbers(treatments)))
	p := mustExpand(t, e, 5)
	if len(p.Runs) != treatments*(runs+warmup) {
		t.Fatalf("%d runs", len(p.Runs))
	}
	orders := map[string]bool{}
	for b := range runs + warmup {
		block := p.Runs[b*treatments : (b+1)*treatments]
		seen := map[int32]bool{}
		var text []int32
		for i, r := range block {
			wantBlock, wantPosition := int32(b-warmup+1), int32(i+1)
			if b < warmup {
				wantBlock, wantPosition = 0, int32(b*treatments+i+1)
			}
			if r.Block != wantBlock || r.Position != wantPosition || seen[r.Treatment] {
				t.Fatalf("run %d of round %d is %+v", i, b, r)
			}
			seen[r.Treatment] = true
			text = append(text, r.Treatment)
		}
		orders[fmt.Sprint(text)] = true
	}
	if len(orders) != runs+warmup {
		t.Errorf("%d different orders in %d rounds of 24 treatments", len(orders), runs+warmup)
	}
}

// TestShuffleIsFair counts each of the 6 orders of 3 treatments over 60,000
// blocks: chi-squared with 5 degrees of freedom is above 30 once in 70,000.
func TestShuffleIsFair(t *testing.T) {
	const blocks = 60_000
	p := mustExpand(t, mustLoad(t, three(fmt.Sprintf("runs = %d\nwarmup = 0\ncontrol = false", blocks))), 3)
	count := map[[3]int32]int{}
	for i := 0; i < len(p.Runs); i += 3 {
		count[[3]int32{p.Runs[i].Treatment, p.Runs[i+1].Treatment, p.Runs[i+2].Treatment}]++
	}
	chi := 0.0
	for _, n := range count {
		d := float64(n) - blocks/6.
		chi += d * d / (blocks / 6.)
	}
	if len(count) != 6 || chi > 30 {
		t.Errorf("orders %v, chi-squared %.1f", count, chi)
	}
}

func TestSeed(t *testing.T) {
	e := mustLoad(t, three("runs = 10"))
	text := func(e *Experiment, seed uint64) string {
		var b bytes.Buffer
		p := mustExpand(t, e, seed)
		if err := p.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if err := p.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text(e, 1) != text(mustLoad(t, three("runs = 10")), 1) {
		t.Error("the same seed gave other bytes")
	}
	if text(e, 1) == text(e, 2) {
		t.Error("another seed gave the same bytes")
	}
	long := mustExpand(t, mustLoad(t, three("runs = 20")), 1)
	if short := mustExpand(t, e, 1); !reflect.DeepEqual(short.Runs, long.Runs[:len(short.Runs)]) {
		t.Error("a longer plan of the same seed does not begin with the shorter one")
	}
	if got := e.Plan.SeedOr(1<<63 + 5); got != 5 {
		t.Errorf("drawn seed %d, want 5", got)
	}
	if got := mustLoad(t, three("seed = 9")).Plan.SeedOr(5); got != 9 {
		t.Errorf("seed of the file %d, want 9", got)
	}
}

func TestPlanText(t *testing.T) {
	e := mustLoad(t, "plan = { runs = 1, warmup = 1, order = \"interleaved\" }\n[workload.w]\ncommand = [\"x\"]\nenv.A = [\"p,q\", \"\"]\n[mode.pinned]\nn = 2\n[mode.m]\n")
	p := mustExpand(t, e, 7)
	var text, table bytes.Buffer
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if want := `seed 7, 4 treatments, 8 runs
     run     block  position  workload  mode    levels
       0   warm-up         1  w         pinned  A=p,q
       1   warm-up         2  w         pinned  A=
       2   warm-up         3  w         m       A=p,q
       3   warm-up         4  w         m       A=
       4         1         1  w         pinned  A=p,q
       5         1         2  w         pinned  A=
       6         1         3  w         m       A=p,q
       7         1         4  w         m       A=
`; text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
	if err := p.WriteCSV(&table); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"run", "block", "position", "workload", "mode", "A"}; len(rows) != 9 || !reflect.DeepEqual(rows[0], want) {
		t.Errorf("rows %q", rows)
	}
	if want := []string{"4", "1", "1", "w", "pinned", "p,q"}; !reflect.DeepEqual(rows[5], want) {
		t.Errorf("row %q, want %q", rows[5], want)
	}
}

func TestEstimate(t *testing.T) {
	e := mustLoad(t, `plan = { runs = 2, warmup = 1, idle = "5s" }
[workload.known]
command = ["x"]
expect = "2s"
[workload.unknown]
command = ["y"]
[mode.m]
[mode.q]
cpus = "quietest"
[mode.once]
cpus = "quietest"
choose = "experiment"
`)
	est := e.Estimate(mustExpand(t, e, 1))
	// 18 gaps, 9 runs of two seconds, 6 samples of half a second.
	if want := 18*5*time.Second + 9*2*time.Second + 3*time.Second; est.Total != want || est.Known() {
		t.Errorf("total %v, want %v; known %v", est.Total, want, est.Known())
	}
	if want := []string{"unknown"}; !reflect.DeepEqual(est.Unknown, want) {
		t.Errorf("unknown %q", est.Unknown)
	}
	if want := []time.Duration{2e9, 2e9, 2e9, -1, -1, -1}; !reflect.DeepEqual(est.Runs, want) {
		t.Errorf("runs %v", est.Runs)
	}
}

// TestEstimateGrows: the nominal cost of a kernel follows its sizes, and the
// longest plan does not overflow.
func TestEstimateGrows(t *testing.T) {
	length := func(kernel, size string) time.Duration {
		e := mustLoad(t, "[workload.w]\nkernel = \""+kernel+"\"\n"+size+"\n[mode.m]\n")
		return e.Estimate(mustExpand(t, e, 1)).Total
	}
	for _, c := range [][3]string{
		{"jitter", "steps = 1000", "steps = 2000"}, {"chase", "loads = 1000", "loads = 2000"}, {"matmul", "iterations = 1", "iterations = 2"},
		{"stream", "elements = 1000000", "elements = 2000000"},
		{"yield", "rounds = 1", "rounds = 2"}, {"yield", "bytes = 1000000", "bytes = 2000000"}, {"yield", "procs = 2", "procs = 1"},
	} {
		if a, b := length(c[0], c[1]), length(c[0], c[2]); a <= 0 || b <= a {
			t.Errorf("%s: %v with %s, then %v with %s", c[0], a, c[1], b, c[2])
		}
	}
	e := mustLoad(t, "plan = { runs = 20_000, idle = \"168h\" }\n"+minimal)
	if est := e.Estimate(mustExpand(t, e, 1)); est.Total != 1<<63-1 {
		t.Errorf("total %v", est.Total)
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, e := range []*Experiment{
		{},
		{Workloads: []Workload{{Name: "w"}}, Modes: []ModeSpec{{Name: "m"}}, Plan: PlanSpec{Runs: maxRuns + 1}},
		{Workloads: []Workload{{Name: "w", Command: []string{"{x}"}}}, Modes: []ModeSpec{{Name: "m"}}, Plan: PlanSpec{Runs: 1}},
	} {
		if p, err := e.Expand(1); err == nil || p != nil {
			t.Errorf("%+v: %v, %v", e, p, err)
		}
	}
}

// FuzzLoad: a text is a plan or a fault, and never both.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(three("runs = 2\nskip = [{ mode = \"a\" }]")))
	f.Add([]byte("[workload.w]\ncommand = [\"x\", \"{n}\"]\nenv.A = [1, 2]\n[workload.w.metric.m]\npattern = '(\\d)'\n[mode.m]\ncpus = \"0-3\"\nn = [1, 2]\nwrap = [\"{cpus}\"]\n"))
	f.Add([]byte(threeConditions))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := Load("x.toml", text, LoadOptions{})
		if err != nil {
			if e != nil {
				t.Fatal("an experiment beside an error")
			}
			if fs, ok := err.(Faults); !ok || len(fs) == 0 || strings.Contains(err.Error(), "cannot tell the places") {
				t.Fatalf("the error of %q is %v", text, err)
			}
			return
		}
		if e.combinations()*(e.Plan.Runs+e.Plan.Warmup) > 100_000 {
			return // as good as a shorter one, and slow
		}
		p, err := e.Expand(1)
		if err != nil || len(p.Runs) == 0 {
			t.Fatalf("%q loads, and then: %v", text, err)
		}
		for i := range p.Treatments {
			if _, err := NewExtractor(p.Treatments[i].Spec); err != nil {
				t.Fatalf("%q loads, and nothing reads its output: %v", text, err)
			}
		}
		e.Estimate(p)
	})
}

// BenchmarkExpand plans 1,000,000 runs.
func BenchmarkExpand(b *testing.B) {
	text := []byte("plan = { runs = 50_000, warmup = 0 }\n[workload.w]\nkernel = \"jitter\"\nthreads = [1, 2, 4, 8, 16]\n[mode.m]\ncpus = \"quietest\"\nfence = [false, true]\nsteer = [false, true]\n")
	b.ReportAllocs()
	for b.Loop() {
		e, err := Load("x.toml", text, LoadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if p, err := e.Expand(1); err != nil || len(p.Runs) != 1_000_000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkExpandWide plans 1,000,000 runs of 100,000 treatments.
func BenchmarkExpandWide(b *testing.B) {
	text := []byte("plan = { runs = 10, warmup = 0 }\n[workload.w]\nkernel = \"jitter\"\nthreads = [" + numbers(100) + "]\nsteps = [" + numbers(100) + "]\n[mode.m]\nn = [" + numbers(10) + "]\n")
	b.ReportAllocs()
	for b.Loop() {
		e, err := Load("x.toml", text, LoadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if p, err := e.Expand(1); err != nil || len(p.Runs) != 1_000_000 {
			b.Fatal(err)
		}
	}
}

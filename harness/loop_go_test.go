package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/cpulist"
)

// fakeBuilder remembers what it was asked for.
type fakeBuilder struct {
	tasks  []GoTask
	err    error
	commit string
}

func (f *fakeBuilder) Build(_ context.Context, tasks []GoTask) ([]Built, error) {
	f.tasks = append(f.tasks, tasks...)
	var out []Built
	for i, t := range tasks {
		text := fmt.Sprintf("%s %s %d", t.Ref, f.commit, t.Layout)
		out = append(out, Built{GoBuild: GoBuild{GoTask: t, Commit: "c-" + t.Ref, SHA256: text, GoVersion: "go1.26.0", Import: "e.org/p"},
			Binary: fmt.Sprintf("/bin/%d-%s", i, t.Ref), RunDir: "/src/" + t.Ref})
	}
	return out, f.err
}

// textSession is a session of the experiment in text.
func textSession(t *testing.T, text string) (Session, *fakeExecutor) {
	t.Helper()
	s, x := testSession(t, 1, []string{"w"})
	var err error
	if s.Experiment, err = Load("x.toml", []byte(text), LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if s.Plan, err = s.Experiment.Expand(7); err != nil {
		t.Fatal(err)
	}
	return s, x
}

func goSession(t *testing.T, text string) (Session, *fakeExecutor, *fakeBuilder) {
	t.Helper()
	s, x := textSession(t, text)
	b := &fakeBuilder{}
	s.Builder, s.Extractor, s.Env = b, NewExtractor, []string{"A=1", "PWD=/home/somebody", "GOMAXPROCS=9"}
	x.answer = func(_ context.Context, n int, job Job) (Result, error) {
		res := output(fmt.Sprintf("pkg: e.org/p\nBenchmarkX-2 \t     100\t  %d ns/op\n", 100+n))
		res.Start, res.Wall = time.Unix(1700000000, 0).UTC(), time.Second
		return res, nil
	}
	return s, x, b
}

// Each level is built once, before the first run; one run is one process of
// its binary in its package's folder, and sides alternate inside blocks.
func TestGoRuns(t *testing.T) {
	s, x, b := goSession(t, "plan = { runs = 3, warmup = 1, seed = 1 }\n[workload.w]\ngo = { ref = [\"main\", \".\"], bench = \"X\", benchtime = \"9x\", procs = 2 }\n[mode.m]\n[mode.p]\ncpus = \"1\"\n")
	sum, err := Execute(t.Context(), s)
	if err != nil || sum.Measured.Kept != 12 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if len(b.tasks) != 2 {
		t.Fatalf("built %+v", b.tasks)
	}
	for i, job := range x.jobs {
		ref := s.Plan.Treatments[s.Plan.Runs[i].Treatment].Spec.Go.Ref
		if !strings.HasSuffix(job.Argv[0], "-"+ref) || job.Dir != "/src/"+ref {
			t.Errorf("run %d of ref %q: %q in %q", i, ref, job.Argv, job.Dir)
		}
	}
	want := []string{"-test.run=^$", "-test.bench=X", "-test.count=1", "-test.cpu=2", "-test.benchmem=true", "-test.paniconexit0", "-test.timeout=0", "-test.benchtime=9x"}
	if got := x.jobs[0]; !slices.Equal(got.Argv[1:], want) || !slices.Equal(got.Env, []string{"A=1", "GOMAXPROCS=2"}) {
		t.Errorf("argv %q, env %q", got.Argv, got.Env)
	}
	blocks := map[int]map[int]bool{}
	for _, r := range records(t, s.Dir) {
		if r.Procs != 2 || r.Values["e.org/p.X b.N"] != 100 {
			t.Errorf("run %d: procs %d, values %v", r.Run, r.Procs, r.Values)
		}
		if blocks[r.Block] == nil {
			blocks[r.Block] = map[int]bool{}
		}
		blocks[r.Block][r.Treatment] = true
		// Mode p has one CPU.
		if doubts := strings.Join(r.Warnings, "\n"); strings.Contains(doubts, "fixed at 2 on 1 CPUs") != (r.Mode == "p") {
			t.Errorf("mode %s: warnings %q", r.Mode, doubts)
		}
	}
	for block := 1; block <= 3; block++ {
		if len(blocks[block]) != 4 {
			t.Errorf("block %d has treatments %v", block, blocks[block])
		}
	}
	m, err := ReadManifest(s.Dir)
	if err != nil || len(m.Builds) != 2 || m.Builds[0].GoVersion != "go1.26.0" || !slices.Equal(m.Builds[1].Treatments, []int{1, 3}) && !slices.Equal(m.Builds[1].Treatments, []int{0, 2}) {
		t.Errorf("builds %+v, %v", m.Builds, err)
	}
}

// GOMAXPROCS is the modes' own, and that is said, or the same for all.
func TestGoProcs(t *testing.T) {
	const text = "plan.runs = 1\n[workload.w]\ngo = { %s }\n[mode.all]\n[mode.one]\ncpus = \"3\"\n[mode.two]\ncpus = \"rotate\"\nn = 2\n"
	for _, c := range []struct {
		keys   string
		want   [3]int
		doubts string
	}{
		{"", [3]int{3, 1, 2}, "(3 in all, 1 in one, 2 in two)"},
		{`procs = "same"`, [3]int{1, 1, 1}, ""},
		{`procs = 1`, [3]int{1, 1, 1}, ""},
		{`procs = "same", cpu = 2`, [3]int{2, 2, 2}, ""},
	} {
		s, x, _ := goSession(t, fmt.Sprintf(text, c.keys))
		s.Allowed = cpulist.Of(1, 3, 5)
		if _, err := Execute(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for _, r := range records(t, s.Dir) {
			if r.Procs != c.want[r.Treatment] {
				t.Errorf("%s: %s has procs %d, want %v", c.keys, r.Mode, r.Procs, c.want)
			}
			if got := strings.Join(r.Warnings, "\n"); (c.doubts == "") != (got == "") || !strings.Contains(got, c.doubts) {
				t.Errorf("%s: warnings %q", c.keys, got)
			}
		}
		if len(x.jobs) == 0 {
			t.Error("nothing ran")
		}
	}
}

// With randlayout every block has its own binary, the same layout for all
// sides and modes of the block.
func TestGoLayouts(t *testing.T) {
	s, _, b := goSession(t, "plan = { runs = 3, warmup = 1, seed = 1 }\n[workload.w]\ngo = { ref = [\"main\", \".\"], randlayout = true }\n[mode.m]\n[mode.p]\n")
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	count := map[uint64]int{}
	for _, task := range b.tasks {
		count[task.Layout]++
		if task.Layout == 0 || task.Layout >= 1<<31 {
			t.Errorf("layout %d", task.Layout)
		}
	}
	if len(b.tasks) != 6 || len(count) != 3 {
		t.Errorf("%d builds of layouts %v, want 3 for each of 2 refs", len(b.tasks), count)
	}
}

// A resumed plan builds what it was, not what the branch is now, and refuses
// another binary.
func TestGoResume(t *testing.T) {
	const text = "plan = { runs = 2, warmup = 0 }\n[workload.w]\ngo = { ref = [\"main\", \".\"] }\n[mode.m]\n"
	s, x, _ := goSession(t, text)
	ctx, cancel := context.WithCancel(t.Context())
	answer := x.answer
	x.answer = func(c context.Context, n int, job Job) (Result, error) {
		if n == 1 {
			cancel()
			return Result{Interrupted: true}, nil
		}
		return answer(c, n, job)
	}
	if _, err := Execute(ctx, s); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	x.answer = answer
	changed := &fakeBuilder{commit: "other"}
	other := s
	other.Builder, other.golang = changed, goRuns{}
	if _, err := Resume(t.Context(), s.Dir, other, resumeOptions(s)); err == nil || !strings.Contains(err.Error(), "another binary") {
		t.Errorf("another binary: %v", err)
	}
	if refs := []string{changed.tasks[0].Ref, changed.tasks[1].Ref}; !slices.Contains(refs, "c-main") || !slices.Contains(refs, ".") {
		t.Errorf("built refs %q", refs)
	}
	s.golang = goRuns{}
	same := &pinnedBuilder{}
	s.Builder = same
	sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || sum.Measured.Kept != 4 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// pinnedBuilder gives a commit the binary that its branch had.
type pinnedBuilder struct{ fakeBuilder }

func (p *pinnedBuilder) Build(ctx context.Context, tasks []GoTask) ([]Built, error) {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		tasks[i].Ref = strings.TrimPrefix(tasks[i].Ref, "c-")
	}
	return p.fakeBuilder.Build(ctx, tasks)
}

// A build that fails ends all before a folder is made; the runs of a failing
// benchmark keep the numbers of the good ones on file, and do not count.
func TestGoFailures(t *testing.T) {
	const text = "plan = { runs = 1, warmup = 0 }\n[workload.w]\ngo = {}\n[mode.m]\n"
	s, _, b := goSession(t, text)
	b.err = errors.New("the compiler says no")
	if _, err := Execute(t.Context(), s); !errors.Is(err, b.err) {
		t.Errorf("error %v", err)
	}
	if _, err := ReadManifest(s.Dir); err == nil {
		t.Error("a folder was made")
	}
	s, x, _ := goSession(t, text)
	x.answer = func(context.Context, int, Job) (Result, error) {
		res := output("pkg: e.org/p\nBenchmarkGood-3 \t     100\t  5 ns/op\n--- FAIL: BenchmarkBad\nFAIL\n")
		res.Start, res.Exit = time.Unix(1700000000, 0).UTC(), 1
		return res, nil
	}
	sum, err := Execute(t.Context(), s)
	rs := records(t, s.Dir)
	if err != nil || sum.Failed() != 1 || rs[0].Outcome != Failed || rs[0].Reason != "exit status 1: BenchmarkBad" || rs[0].Values["e.org/p.Good ns/op"] != 5e-9 {
		t.Errorf("%+v, %v, %+v", sum, err, rs)
	}
	s.Builder = nil
	s.Dir += "-2"
	if _, err := Execute(t.Context(), s); err == nil {
		t.Error("no builder is no fault")
	}
}

// What failed is named, however much other programs say on stderr.
func TestGoFailure(t *testing.T) {
	for _, c := range []struct{ stdout, stderr, want string }{
		{"", "", ""},
		{"BenchmarkA 1 2 ns/op\nFAIL\n", "noise\n", ""},
		{"--- FAIL: BenchmarkA\n    a_test.go:1: no\n", "noise", "BenchmarkA"},
		{"--- FAIL: BenchmarkA/b\r\n--- FAIL: BenchmarkA\n--- FAIL: BenchmarkA (0.00s)\n", "", "BenchmarkA/b, BenchmarkA"},
		{"--- FAIL: A\n--- FAIL: B\n--- FAIL: C\n--- FAIL: D\n--- FAIL: E\n", "", "A, B, C, and 2 more"},
		{"BenchmarkA \t", "log\npanic: no [recovered]\n\ngoroutine 1:\npanic: again\n", "panic: no [recovered]"},
		{"", "fatal error: out of memory\n", "fatal error: out of memory"},
	} {
		res := output(c.stdout)
		res.Stderr = Stream{Head: []byte(c.stderr), Total: int64(len(c.stderr))}
		if got := goFailure(&res); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.stdout, c.stderr, got, c.want)
		}
	}
}

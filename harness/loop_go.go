package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
)

// goRuns is what the treatments of Go benchmarks run.
type goRuns struct {
	builds []Built
	at     map[GoTask]int
	procs  []int      // GOMAXPROCS by treatment; 0: no Go benchmarks
	doubts [][]string // by treatment: what every record of it warns of
}

// records are the builds as the manifest has them.
func (g *goRuns) records() []GoBuild {
	var out []GoBuild
	for i := range g.builds {
		out = append(out, g.builds[i].GoBuild)
	}
	return out
}

// goTask is what a treatment builds for a block.
func (s *Session) goTask(t *Treatment, block int32) (GoTask, error) {
	g := t.Spec.Go
	dir := g.Dir
	if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, bundledPrefix) {
		var err error
		if dir, err = filepath.Abs(filepath.Join(s.Experiment.Dir, dir)); err != nil {
			return GoTask{}, fmt.Errorf("cannot make the folder %q absolute: %v", g.Dir, err)
		}
	}
	task := GoTask{Package: g.Package, Dir: dir, Ref: g.Ref, Tags: g.Tags, GCFlags: g.GCFlags, LDFlags: g.LDFlags, Toolchain: g.Toolchain}
	if g.RandLayout {
		task.Layout = layoutOf(s.Plan.Seed, block)
	}
	return task, nil
}

// layoutOf is the linker's seed for a block, never 0, which is its word for
// none. Warm-up runs take the first block's.
func layoutOf(seed uint64, block int32) uint64 {
	return mix(seed^uint64(max(1, block)))>>34 + 1
}

// buildGo builds what the plan's Go benchmarks need, each once. recorded are
// the builds of an earlier session: what comes out otherwise now is refused.
func (s *Session) buildGo(ctx context.Context, recorded []GoBuild) error {
	s.golang.at = map[GoTask]int{}
	var tasks []GoTask
	var users [][]int
	seen := map[Run]bool{}
	for _, run := range s.Plan.Runs {
		t := &s.Plan.Treatments[run.Treatment]
		if t.Spec.Go == nil || seen[Run{Treatment: run.Treatment, Block: run.Block}] {
			continue
		}
		seen[Run{Treatment: run.Treatment, Block: run.Block}] = true
		task, err := s.goTask(t, run.Block)
		if err != nil {
			return err
		}
		i, ok := s.golang.at[task]
		if !ok {
			i = len(tasks)
			s.golang.at[task] = i
			tasks, users = append(tasks, task), append(users, nil)
		}
		if !slices.Contains(users[i], t.Index) {
			users[i] = append(users[i], t.Index)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	if s.Builder == nil {
		return errors.New("cannot run Go benchmarks: nothing is known that could build them")
	}
	if s.Events != nil {
		s.Events(Building{Tasks: tasks})
	}
	var err error
	if s.golang.builds, err = s.Builder.Build(ctx, pinned(tasks, recorded)); err != nil {
		return err
	}
	for i := range s.golang.builds {
		b := &s.golang.builds[i]
		slices.Sort(users[i])
		b.Ref, b.Treatments = tasks[i].Ref, users[i]
		if err := b.same(recorded); err != nil {
			return err
		}
	}
	return nil
}

// pinned replaces the refs of tasks by the commits that they were: a branch
// moves on between two sessions.
func pinned(tasks []GoTask, recorded []GoBuild) []GoTask {
	out := slices.Clone(tasks)
	for i := range out {
		for j := range recorded {
			if r := &recorded[j]; r.Ref == out[i].Ref && r.Dir == out[i].Dir && r.Ref != "." {
				out[i].Ref = r.Commit
			}
		}
	}
	return out
}

// same refuses a binary that is not the one which the earlier runs had.
func (o *GoBuild) same(recorded []GoBuild) error {
	for i := range recorded {
		if r := &recorded[i]; r.GoTask == o.GoTask && r.SHA256 != o.SHA256 {
			return fmt.Errorf("cannot resume: %s builds to another binary than the earlier runs had (by %s then, by %s now): put its files and the toolchain back, or start a new run",
				o.label(), r.GoVersion, o.GoVersion)
		}
	}
	return nil
}

// Building is the event before the Go benchmarks are built.
type Building struct{ Tasks []GoTask }

func (Building) event() {}

// goProcs settles GOMAXPROCS for every treatment, and what has to be said
// about it.
func (s *Session) goProcs() error {
	n := len(s.Plan.Treatments)
	s.golang.procs, s.golang.doubts = make([]int, n), make([][]string, n)
	byMask := map[string][]int{} // workload -> treatments whose procs the mask sets
	smallest := map[string]int{}
	for i := range s.Plan.Treatments {
		t := &s.Plan.Treatments[i]
		if t.Spec.Go == nil {
			continue
		}
		cpus := s.cpuCountOf(t)
		switch p := t.Spec.Go.Procs; p {
		case "":
			s.golang.procs[i] = cpus
			byMask[t.Workload] = append(byMask[t.Workload], i)
		case procsSame:
			if v, ok := smallest[t.Workload]; !ok || cpus < v {
				smallest[t.Workload] = cpus
			}
		default:
			v, err := strconv.Atoi(p)
			if err != nil {
				return fmt.Errorf("cannot run workload %q: procs must be a number, got %q", t.Workload, p)
			}
			s.golang.procs[i] = v
			if v > cpus {
				s.golang.doubts[i] = append(s.golang.doubts[i], fmt.Sprintf("GOMAXPROCS is fixed at %d on %d CPUs; Go by itself would take %d", v, cpus, cpus))
			}
		}
	}
	for i := range s.Plan.Treatments {
		if t := &s.Plan.Treatments[i]; t.Spec.Go != nil && t.Spec.Go.Procs == procsSame {
			s.golang.procs[i] = smallest[t.Workload]
		}
	}
	for _, members := range byMask {
		s.maskDoubts(members)
	}
	s.golang.sameDoubts()
	return nil
}

// sameDoubts says of builds that are the same binary as an earlier one.
func (g *goRuns) sameDoubts() {
	first := map[string]int{}
	for i := range g.builds {
		b := &g.builds[i]
		at, ok := first[b.SHA256]
		if !ok || b.SHA256 == "" {
			first[b.SHA256] = i
			continue
		}
		text := fmt.Sprintf("the same binary as that of %s: any difference is noise", g.builds[at].label())
		for _, t := range b.Treatments {
			if !slices.Contains(g.builds[at].Treatments, t) && !slices.Contains(g.doubts[t], text) {
				g.doubts[t] = append(g.doubts[t], text)
			}
		}
	}
}

// cpuCountOf is how many CPUs the mode of a treatment leaves to it.
func (s *Session) cpuCountOf(t *Treatment) int {
	switch c := t.Layers.CPUs; c {
	case "":
		return max(1, s.Allowed.Len())
	case cpusRotate, cpusQuietest:
		return max(1, t.Layers.N)
	default:
		set, err := cpulist.Parse(c)
		if err != nil {
			return 1 // cpuPlan.check says so
		}
		return max(1, set.Len())
	}
}

// maskDoubts says where the modes' masks give other numbers to treatments that
// are compared.
func (s *Session) maskDoubts(members []int) {
	var parts []string
	counts := map[int]bool{}
	for _, i := range members {
		counts[s.golang.procs[i]] = true
		part := fmt.Sprintf("%d in %s", s.golang.procs[i], s.Plan.Treatments[i].Mode)
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(counts) < 2 {
		return
	}
	text := fmt.Sprintf("GOMAXPROCS follows the modes' CPUs (%s), which changes the collector and parallel benchmarks too: procs = \"same\" gives all the smallest", strings.Join(parts, ", "))
	for _, i := range members {
		s.golang.doubts[i] = append(s.golang.doubts[i], text)
	}
}

// goJob completes the job of a treatment of Go benchmarks, but for the binary
// of its block.
func (l *loop) goJob(t *Treatment, job Job) Job {
	g := t.Spec.Go
	procs := l.golang.procs[t.Index]
	// PWD would have another length for each ref, and lies on the stack.
	job.Env = slices.DeleteFunc(slices.Clone(job.Env), func(kv string) bool {
		return strings.HasPrefix(kv, "PWD=") || strings.HasPrefix(kv, "OLDPWD=") || strings.HasPrefix(kv, "GOMAXPROCS=")
	})
	job.Env = append(job.Env, "GOMAXPROCS="+strconv.Itoa(procs))
	job.Argv = []string{"", "-test.run=^$", "-test.bench=" + g.Bench, "-test.count=1", "-test.cpu=" + strconv.Itoa(g.cpuOr(procs)),
		"-test.benchmem=" + strconv.FormatBool(g.Benchmem), "-test.paniconexit0", "-test.timeout=0"}
	if g.Benchtime != "" {
		job.Argv = append(job.Argv, "-test.benchtime="+g.Benchtime)
	}
	return job
}

// cpuOr is GOMAXPROCS while a benchmark runs.
func (g *GoSpec) cpuOr(procs int) int {
	if g.CPU > 0 {
		return g.CPU
	}
	return procs
}

// withBinary puts the binary of a block into a job.
func (l *loop) withBinary(t *Treatment, block int32, job Job) (Job, error) {
	if t.Spec.Go == nil {
		return job, nil
	}
	task, err := l.goTask(t, block)
	if err != nil {
		return job, err
	}
	i, ok := l.golang.at[task]
	if !ok {
		return job, fmt.Errorf("cannot run %s: it was not built", task.label())
	}
	b := &l.golang.builds[i]
	job.Argv = slices.Clone(job.Argv)
	job.Argv[0], job.Dir = b.Binary, b.RunDir
	return job, nil
}

// goExtractors makes the readers of the treatments of Go benchmarks: what a
// "-4" at the end of a name means depends on the treatment.
func (l *loop) goExtractors() error {
	l.perTreatment = make([]Extractor, len(l.Plan.Treatments))
	for i := range l.Plan.Treatments {
		t := &l.Plan.Treatments[i]
		if t.Spec.Go == nil {
			continue
		}
		w, spec := t.Spec, *t.Spec.Go
		spec.CPU = spec.cpuOr(l.golang.procs[i])
		w.Go = &spec
		x, err := l.Extractor(w)
		if err != nil {
			return err
		}
		l.perTreatment[i] = x
	}
	return nil
}

// extractorOf is the reader of a treatment's output.
func (l *loop) extractorOf(t *Treatment) Extractor {
	if x := l.perTreatment[t.Index]; x != nil {
		return x
	}
	return l.extractors[t.Workload]
}

package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// makeJobs resolves what each treatment runs, and refuses the plan when a
// command is not there: all of them at once, before anything has run.
func (l *loop) makeJobs() ([]Job, error) {
	if faults := MissingCommands(&l.Session, l.Plan.Treatments); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	jobs := make([]Job, len(l.Plan.Treatments))
	for i := range jobs {
		job, err := l.makeJob(&l.Plan.Treatments[i])
		if err != nil {
			return nil, err
		}
		jobs[i] = job
	}
	return jobs, nil
}

// findCommand says why a command is not there, or cannot be run. asked is what
// the experiment has.
func findCommand(job Job, asked []string) error {
	name := job.Argv[0]
	if !strings.Contains(name, "/") {
		_, err := lookUp(command{name, searchPath(job.Env)})
		return err
	}
	if err := executable(name); err != nil {
		fault := &StartError{Command: name, Reason: cause(err).Error(), Missing: errors.Is(err, fs.ErrNotExist)}
		switch {
		case err == errNotExecutable:
			fault.Hint = "chmod +x " + name
		case len(asked) > 0 && !filepath.IsAbs(asked[0]):
			fault.Hint = "relative paths start at the experiment's folder, with run -- COMMAND at the current one"
		}
		return fault
	}
	return nil
}

// overridden is an environment in which the later variables replace those of
// the same name: of two, the C library would find the first.
func overridden(env, by []string) []string {
	name := func(kv string) string { n, _, _ := strings.Cut(kv, "="); return n }
	kept := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return slices.ContainsFunc(by, func(o string) bool { return name(o) == name(kv) })
	})
	return append(kept, by...)
}

// makeJob resolves what one treatment runs.
func (l *loop) makeJob(t *Treatment) (Job, error) {
	job := Job{
		Dir: l.Experiment.Dir, Timeout: l.Experiment.Plan.Timeout, OutputLimit: l.OutputLimit, Layers: t.Layers,
		Env: l.Env,
	}
	if job.Layers.User == "" {
		job.Layers.User = l.User
	}
	if l.BestEffort {
		job.Layers = job.Layers.BestEffort()
	}
	if len(t.Env) > 0 {
		job.Env = overridden(l.Env, t.Env)
		job.Own = t.Env
	}
	if t.Spec.Dir != "" {
		job.Dir = t.Spec.Dir
		if !filepath.IsAbs(job.Dir) {
			job.Dir = filepath.Join(l.Experiment.Dir, job.Dir)
		}
	}
	if t.Spec.Go != nil {
		return l.goJob(t, job), nil
	}
	if t.Spec.Kernel != "" {
		if len(l.Self) == 0 {
			return Job{}, fmt.Errorf("cannot run workload %q: nothing is known that could start kernel %q", t.Workload, t.Spec.Kernel)
		}
		job.Argv = slices.Concat(l.Self, []string{t.Spec.Kernel}, t.Args)
		if k, _ := kernelOf(t.Spec.Kernel); len(job.Layers.Wrap) == 0 && !k.Runtime {
			job.TimerSlack = KernelSlack
		}
		return job, nil
	}
	if len(t.Args) == 0 || t.Args[0] == "" {
		return Job{}, fmt.Errorf("cannot run workload %q: its command is empty", t.Workload)
	}
	job.Argv = slices.Clone(t.Args)
	if name := job.Argv[0]; strings.Contains(name, "/") && !filepath.IsAbs(name) {
		// Relative to the experiment and not to the working directory of the
		// child, which may be another.
		abs, err := filepath.Abs(filepath.Join(l.Experiment.Dir, name))
		if err != nil {
			return Job{}, fmt.Errorf("cannot run workload %q: %v", t.Workload, err)
		}
		job.Argv[0] = abs
	}
	return job, nil
}

// KernelSlack is the timer slack of a bundled kernel's process. The Go runtime's
// monitor thread sleeps 20 µs at a time while the process starts; with the usual
// slack of 50 µs that is up to 90 context switches on the measured CPU, with this
// one about 20, of which none is the monitor's. The process that measures sets
// itself back to the usual one. A kernel that measures the runtime is not given
// it: the monitor thread is what preempts its goroutines.
const KernelSlack = 10 * time.Millisecond

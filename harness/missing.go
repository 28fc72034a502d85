package harness

import (
	"fmt"
	"slices"
	"strings"
)

// MissingCommands says which commands of an experiment are not there or cannot be
// run: of workloads, wrappers and background load, each once. Go benchmarks are
// built first, and kernels come with this program.
func MissingCommands(s *Session, treatments []Treatment) []error {
	l := &loop{Session: *s}
	var faults []error
	add := func(err error) {
		if err != nil && !slices.ContainsFunc(faults, func(f error) bool { return f.Error() == err.Error() }) {
			faults = append(faults, err)
		}
	}
	checked := map[[2]string]bool{} // a hundred treatments of one command are one
	for i := range treatments {
		t := &treatments[i]
		if t.Spec.Go == nil {
			add(l.taskFault(t, checked))
		}
		if key := [2]string{"", t.Condition}; !checked[key] {
			checked[key] = true
			add(l.loadFault(t))
		}
	}
	return faults
}

// taskFault says why the command of a treatment, or what wraps it, cannot be run.
func (l *loop) taskFault(t *Treatment, checked map[[2]string]bool) error {
	job, err := l.makeJob(t)
	if err != nil {
		return err
	}
	asked := t.Args
	if wrapped := job; len(job.Layers.Wrap) > 0 {
		wrapped.Argv = job.Layers.Wrap
		if findCommand(wrapped, wrapped.Argv) == nil {
			return nil // the task's own command may be one of a container's
		}
		if !slices.Contains(job.Layers.Optional, "wrap") {
			if !strings.Contains(wrapped.Argv[0], "/") && searchPath(job.Env) == searchPath(l.Env) {
				return nil // layer "wrap" looks there, and says so
			}
			job, asked = wrapped, wrapped.Argv
		}
	}
	key := [2]string{t.Workload, job.Argv[0]}
	if checked[key] {
		return nil
	}
	checked[key] = true
	if err := findCommand(job, asked); err != nil {
		return fmt.Errorf("cannot run workload %q: %v", t.Workload, err)
	}
	return nil
}

// loadFault says why the command of a treatment's load cannot be run.
func (l *loop) loadFault(t *Treatment) error {
	if len(t.Load.Command) == 0 {
		return nil
	}
	argv, err := l.loadArgv(t)
	if err == nil {
		err = findCommand(Job{Argv: argv, Env: l.Env}, t.Load.Command)
	}
	if err != nil {
		return fmt.Errorf("cannot run condition %q: %v", t.Condition, err)
	}
	return nil
}

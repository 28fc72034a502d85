package report

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/rogpeppe/go-internal/diff"

	"goset/harness"
)

// sameExperiment refuses folders that are no sessions of one experiment, and
// those of one session.
func sameExperiment(list []Session) error {
	if len(list) == 0 {
		return errors.New("cannot compare sessions: there is none")
	}
	for i := range list {
		if list[i].Opts.Manifest == nil {
			return fmt.Errorf("cannot compare sessions: %q has no manifest, which says what experiment it is of", list[i].Name)
		}
		for j := range i {
			if err := oneSession(&list[j], &list[i]); err != nil {
				return err
			}
		}
	}
	for i := range list[1:] {
		if err := otherExperiment(&list[0], &list[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// oneSession refuses two folders that were begun at once: a session and its
// copy.
func oneSession(a, b *Session) error {
	m, n := a.Opts.Manifest, b.Opts.Manifest
	if len(m.Sessions) == 0 || len(n.Sessions) == 0 || m.Seed != n.Seed || !m.Sessions[0].Start.Equal(n.Sessions[0].Start) {
		return nil
	}
	return fmt.Errorf("cannot use %q and %q as two sessions: both were begun at %s with seed %d, so one is a copy of the other, and to count a session twice would narrow every interval; give one of them",
		a.Name, b.Name, m.Sessions[0].Start.Format("2006-01-02 15:04:05.000 MST"), m.Seed)
}

// otherExperiment refuses folders of two experiments. The number of runs, the
// seed and the title may differ: sessions are of the same treatments under the
// same conditions.
func otherExperiment(a, b *Session) error {
	m, n := a.Opts.Manifest, b.Opts.Manifest
	why := ""
	switch {
	case m.SHA256 != n.SHA256 && !sameDefinition(m, n):
		why = "their experiments differ:\n" + string(diff.Diff(a.Name, []byte(m.Text), b.Name, []byte(n.Text)))
	case !reflect.DeepEqual(cellsOfPlan(m), cellsOfPlan(n)):
		why = fmt.Sprintf("their plans have different treatments, %d and %d\n", len(m.Treatments), len(n.Treatments))
	default:
		if why = otherProgram(m, n); why == "" {
			return nil
		}
	}
	return fmt.Errorf("cannot take %q and %q for sessions of one experiment: %sSessions have the same workloads, modes, conditions and plan; only runs, until, seed and title may differ. Two experiments are compared by: goset-bench compare %s %s",
		a.Name, b.Name, why, a.Name, b.Name)
}

// sameDefinition compares two experiments without their comments and without
// what sessions may have of their own.
func sameDefinition(m, n *harness.Manifest) bool {
	a, err := definition(m)
	if err != nil {
		return false // the texts differ, and what they mean is not known
	}
	b, err := definition(n)
	return err == nil && reflect.DeepEqual(a, b)
}

func definition(m *harness.Manifest) (*harness.Experiment, error) {
	e, err := harness.Load(m.Name+".toml", []byte(m.Text), harness.LoadOptions{})
	if err != nil {
		return nil, err
	}
	e.Name, e.Title, e.Text, e.Dir = "", "", nil, ""
	e.Plan.Runs, e.Plan.Until, e.Plan.Seed, e.Plan.Control = 0, nil, nil, nil
	return e, nil
}

// cellsOfPlan are the treatments of a plan in words. The control is none of
// the experiment's own: it comes with many runs.
func cellsOfPlan(m *harness.Manifest) []string {
	var out []string
	for i := range m.Treatments {
		if t := &m.Treatments[i]; !isControl(t.Mode, m.Baseline) {
			out = append(out, fullLabel(t.Workload, t.Mode, t.Condition, t.Levels))
		}
	}
	return out
}

// otherProgram says that a Go benchmark was built from another commit, or from
// other uncommitted changes: a name as HEAD stands for another program every day.
func otherProgram(m, n *harness.Manifest) string {
	key := func(b *harness.GoBuild) harness.GoTask {
		k := b.GoTask
		k.Dir = "" // another on every machine
		return k
	}
	builds := map[harness.GoTask]*harness.GoBuild{}
	for i := range m.Builds {
		builds[key(&m.Builds[i])] = &m.Builds[i]
	}
	for i := range n.Builds {
		b := &n.Builds[i]
		was := builds[key(b)]
		switch {
		case was == nil:
		case was.Commit != b.Commit:
			return fmt.Sprintf("%s at %s was built from commit %.12s in one and %.12s in the other. ", b.Import, b.Ref, was.Commit, b.Commit)
		case (was.Modified || b.Modified) && was.SHA256 != b.SHA256 && was.GoVersion == b.GoVersion:
			return fmt.Sprintf("%s at %s was built with other uncommitted changes in one than in the other. ", b.Import, b.Ref)
		}
	}
	return ""
}

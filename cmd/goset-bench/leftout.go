package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"goset/harness"
	"goset/isolation"
)

// tooMany is a mode that takes more CPUs than there are to choose from, for some
// n. Where its layer cpus is optional those treatments are left out: run unpinned
// under the mode's name they would be another mode.
type tooMany struct {
	mode string
	n    []int // that are too many
	room int
	// fits are the levels of n that are not.
	fits     []string
	varied   bool // n is a factor of the mode
	optional bool
}

// modesWithTooMany asks isolation about the number of CPUs of every mode.
func modesWithTooMany(e *harness.Experiment, bestEffort bool) ([]*tooMany, error) {
	treatments, err := e.Treatments()
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	asked := map[string]bool{}
	var found []*tooMany
	for i := range treatments {
		m := treatments[i].Layers
		if bestEffort {
			m = m.BestEffort()
		}
		key := fmt.Sprintln(m.Name, m.CPUs, m.N, m.Include, m.Exclude)
		if asked[key] {
			continue
		}
		asked[key] = true
		for _, f := range isolation.Check(m) {
			if f.Room != nil {
				found = addTooMany(found, f, m.N)
			}
		}
	}
	for _, t := range found {
		t.levels(e)
	}
	return found, nil
}

func addTooMany(found []*tooMany, f *isolation.Unsupported, n int) []*tooMany {
	i := slices.IndexFunc(found, func(t *tooMany) bool { return t.mode == f.Mode })
	if i < 0 {
		i = len(found)
		found = append(found, &tooMany{mode: f.Mode, room: *f.Room, optional: f.Optional})
	}
	found[i].n = append(found[i].n, n)
	return found
}

// levels finds out which n the mode has beside.
func (t *tooMany) levels(e *harness.Experiment) {
	for i := range e.Modes {
		for _, k := range e.Modes[i].Keys {
			if e.Modes[i].Name != t.mode || k.Name != "n" {
				continue
			}
			t.varied = len(k.Levels) > 1
			t.fits = slices.DeleteFunc(slices.Clone(k.Levels), func(level string) bool {
				n, err := strconv.Atoi(level)
				return err != nil || slices.Contains(t.n, n)
			})
		}
	}
}

// String says what is left out, and why.
func (t *tooMany) String() string {
	return fmt.Sprintf("mode %q with n = %s: %s to choose from", t.mode, listed(t.n), counted(t.room, "CPU"))
}

func listed(ns []int) string {
	var texts []string
	for _, n := range ns {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ", ")
}

// setting is what has the mode ask for as many CPUs as there are, as an argument
// for a shell.
func (t *tooMany) setting() string {
	switch len(t.fits) {
	case 0:
		return fmt.Sprintf("-set mode.%s.n=%d", t.mode, max(t.room, 1))
	case 1:
		return fmt.Sprintf("-set mode.%s.n=%s", t.mode, t.fits[0])
	}
	return fmt.Sprintf("-set mode.%s.n='[%s]'", t.mode, strings.Join(t.fits, ", "))
}

// leaveOut gives the settings that leave out the treatments of modes with too
// many CPUs, where that is allowed, and says which those are.
func leaveOut(e *harness.Experiment, bestEffort bool) (settings []harness.Setting, said []string, err error) {
	found, err := modesWithTooMany(e, bestEffort)
	if err != nil {
		return nil, nil, err
	}
	skips := slices.Clone(e.Plan.Skip)
	for _, t := range found {
		if !t.optional {
			continue
		}
		said = append(said, "left out: "+t.String())
		for _, n := range t.n {
			skip := map[string]string{"mode": t.mode}
			if t.varied {
				skip["n"] = strconv.Itoa(n)
			}
			skips = append(skips, skip)
		}
	}
	if len(said) == 0 {
		return nil, nil, nil
	}
	return []harness.Setting{{Key: "plan.skip", Value: harness.SkipText(skips), Origin: strings.Join(said, "; ")}}, said, nil
}

// withoutTooMany is an experiment as a run of it would leave it here.
func withoutTooMany(e *harness.Experiment, prefs *preferences) (*harness.Experiment, []string, error) {
	bestEffort, err := prefs.on("best-effort")
	if err != nil {
		return nil, nil, err
	}
	left, said, err := leaveOut(e, bestEffort)
	if err != nil || len(left) == 0 {
		return e, nil, err
	}
	less, err := harness.Load(e.Name+".toml", e.Text, harness.LoadOptions{Overrides: left})
	if err != nil {
		return nil, nil, &exitError{exitUsage, fmt.Errorf("cannot use experiment:\n%v", err)}
	}
	less.Dir = e.Dir
	return less, said, nil
}

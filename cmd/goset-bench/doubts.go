package main

import (
	"fmt"
	"slices"

	"goset/cpulist"
	"goset/harness"
)

// doubts are what is to be known about an experiment on this machine before it
// runs, and stands in its records as well.
type doubts struct {
	// places say in which cache the data of a kernel lies.
	places []string
	// warnings are what keeps numbers from meaning what they seem to, or from
	// being undisturbed.
	warnings []string
}

// doubtsOf looks at every treatment; what several have in common is said once.
func doubtsOf(e *harness.Experiment, allowed cpulist.Set) (doubts, error) {
	treatments, err := e.Treatments()
	if err != nil {
		return doubts{}, &exitError{exitUsage, err}
	}
	var d doubts
	add := func(to *[]string, text string) {
		if !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	var caches harness.Caches
	if slices.ContainsFunc(treatments, func(t harness.Treatment) bool { return t.DataPlace(caches) != "" }) {
		caches = harness.CachesOf(hostFacts()) // of no use to all others
	}
	asked := map[string]bool{} // which CPUs and how many of them
	for i := range treatments {
		t := &treatments[i]
		if place := t.DataPlace(caches); place != "" {
			add(&d.places, fmt.Sprintf("workload %q: %s", t.Workload, place))
		}
		for _, text := range t.Doubts(caches, allowed.Len()) {
			add(&d.warnings, fmt.Sprintf("workload %q: %s", t.Workload, text))
		}
		m := &t.Layers
		key := fmt.Sprintln(m.Name, m.CPUs, m.N, m.Include, m.Exclude)
		if asked[key] {
			continue
		}
		asked[key] = true
		if note := m.Beside(); note != "" {
			add(&d.warnings, fmt.Sprintf("mode %q with n = %d: %s", t.Mode, m.N, note))
		}
	}
	return d, nil
}

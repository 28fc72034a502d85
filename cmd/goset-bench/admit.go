package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"goset/cpulist"
	"goset/harness"
	"goset/host"
	"goset/isolation"
	"goset/rank"
)

// admit refuses an experiment with a kernel that cannot run or a layer that
// cannot be held here, all of them by name, before anything runs.
func (w *work) admit(e *harness.Experiment) error {
	missing, err := missingFrom(e, w.bestEffort, w.user)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return failed(fmt.Errorf("cannot run experiment %q here:\n%w", e.Name, errors.Join(missing...)))
	}
	findings, err := layerFindings(e, w.bestEffort, w.user)
	if err != nil {
		return err
	}
	for _, f := range findings.Warnings() {
		fmt.Fprintf(w.stderr, "goset-bench: warning: %v; going on without it\n", f)
	}
	if err := refusal(e, findings); err != nil {
		return err
	}
	if faults := loadFaults(e, w.allowed); len(faults) > 0 {
		return failed(fmt.Errorf("cannot run experiment %q here:\n%w", e.Name, errors.Join(faults...)))
	}
	doubts, err := doubtsOf(e, w.allowed)
	if err != nil {
		return err
	}
	for _, text := range doubts.warnings {
		w.say("warning: " + text)
	}
	w.isolation.Share(e.Plan.Sticky)
	return nil
}

// refusal names the layers that an experiment cannot do without and cannot have;
// nil: there are none.
func refusal(e *harness.Experiment, findings isolation.Findings) error {
	err := findings.Err()
	if err == nil {
		return nil
	}
	return failed(fmt.Errorf("cannot run experiment %q here:\n%w%s", e.Name, err, wayOut(e, findings)))
}

// missingFrom says which kernels and commands of an experiment cannot be run
// here.
func missingFrom(e *harness.Experiment, bestEffort bool, user string) ([]error, error) {
	kernels, err := kernelFindings(e)
	if err != nil {
		return nil, err
	}
	treatments, err := e.Treatments()
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	treatments = slices.DeleteFunc(treatments, func(t harness.Treatment) bool {
		return t.Spec.Kernel != "" && len(t.Layers.Wrap) == 0 // this program starts itself
	})
	s := harness.Session{Experiment: e, Self: kernelArgv(), Env: os.Environ(), User: user, BestEffort: bestEffort}
	return append(kernels, harness.MissingCommands(&s, treatments)...), nil
}

// loadFaults asks of every treatment whether its background load has a place
// on these CPUs.
func loadFaults(e *harness.Experiment, allowed cpulist.Set) []error {
	treatments, err := e.Treatments()
	if err != nil {
		return nil // said by layerFindings
	}
	var faults []error
	for i := range treatments {
		err := treatments[i].LoadFits(allowed)
		if err != nil && !slices.ContainsFunc(faults, func(f error) bool { return f.Error() == err.Error() }) {
			faults = append(faults, err)
		}
	}
	return faults
}

// taskUser is who runs the tasks of modes that name nobody, the commands of
// conditions, and git and go where they are built: root is not theirs to have
// when somebody else is known.
func taskUser(prefs *preferences) string {
	return prefs.text("user", isolation.SudoCaller(os.Getenv, os.Geteuid()))
}

// wayOut says how to run without the refused layers; "" when there is no such
// way for any of them.
func wayOut(e *harness.Experiment, findings isolation.Findings) string {
	if len(findings.Waivable()) == 0 {
		return ""
	}
	which, but := "them", ""
	if binding := findings.Binding().Layers(); len(binding) > 0 {
		which, but = "the others", fmt.Sprintf(" (not without %s)", strings.Join(binding, ", "))
	}
	many, err := modesWithTooMany(e, false)
	if err != nil {
		return err.Error()
	}
	effort := "-best-effort"
	var left, settings []string
	for _, t := range many {
		left, settings = append(left, t.String()), append(settings, t.setting())
	}
	if len(left) > 0 {
		effort += " (which leaves out " + strings.Join(left, "; ") + ")"
	}
	settings = append(settings, withoutLayers(findings)...)
	return fmt.Sprintf("\nRun it without %s: %s, or %s%s", which, effort, strings.Join(settings, " "), but)
}

// withoutLayers are the settings that leave out layers that can be left out.
// optional replaces the list of the mode, so that what was optional before stays
// in it. More CPUs than there are cannot be waived: fewer are asked for, or those
// treatments are left out.
func withoutLayers(findings isolation.Findings) []string {
	var modes, settings []string
	for _, f := range findings.Waivable() {
		if f.Room == nil && !slices.Contains(modes, f.Mode) {
			modes = append(modes, f.Mode)
		}
	}
	for _, mode := range modes {
		var layers []string
		for _, f := range findings {
			if layer := strconv.Quote(f.Layer); f.Mode == mode && !f.Binding && f.Room == nil && !slices.Contains(layers, layer) {
				layers = append(layers, layer)
			}
		}
		settings = append(settings, fmt.Sprintf("-set mode.%s.optional='[%s]'", mode, strings.Join(layers, ", ")))
	}
	return settings
}

// layerFindings asks isolation about every mode that the treatments use, and
// drops what another treatment of the same mode has said already.
func layerFindings(e *harness.Experiment, bestEffort bool, user string) (isolation.Findings, error) {
	modes, err := askedModes(e, bestEffort, user)
	if err != nil {
		return nil, err
	}
	var all isolation.Findings
	for _, layers := range modes {
		found := isolation.Check(layers)
		if !slices.ContainsFunc(found, func(f *isolation.Unsupported) bool { return f.Layer == "cpus" }) {
			found = append(found, choiceFinding(layers)...)
		}
		for _, f := range found {
			if !slices.ContainsFunc(all, func(g *isolation.Unsupported) bool { return g.Error() == f.Error() }) {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// askedModes are the modes of the treatments as their runs ask for them.
func askedModes(e *harness.Experiment, bestEffort bool, user string) ([]isolation.Mode, error) {
	treatments, err := e.Treatments()
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	var modes []isolation.Mode
	for _, t := range treatments {
		layers := t.Layers
		if layers.User == "" {
			layers.User = user
		}
		if bestEffort {
			layers = layers.BestEffort()
		}
		modes = append(modes, layers)
	}
	return modes, nil
}

// layerCaveats asks isolation what is worth knowing about the layers that can be
// held, once.
func layerCaveats(modes []isolation.Mode) []isolation.Caveat {
	var all []isolation.Caveat
	for _, m := range modes {
		for _, c := range isolation.Caveats(m) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// choiceFinding asks whether the quietest CPUs can be found here, of a mode
// whose CPUs can be had at all.
func choiceFinding(layers isolation.Mode) isolation.Findings {
	if layers.CPUs != "quietest" {
		return nil
	}
	err := harness.NewChooser(host.Local).Check(layers)
	var refused *rank.Refused
	if err == nil || errors.As(err, &refused) || errors.Is(err, host.ErrUnsupported) {
		return nil
	}
	var included *rank.IncludeError
	if errors.As(err, &included) {
		return isolation.Findings{{Mode: layers.Name, Layer: "cpus", Reason: err.Error(), Hint: "include CPUs that can be had", Binding: true}}
	}
	return isolation.Findings{{
		Mode: layers.Name, Layer: "cpus", Reason: err.Error(), Optional: layers.LetsGo("cpus"),
		Hint: `cpus = "quietest" ranks them by /proc/interrupts; name them, or take "rotate"`,
	}}
}

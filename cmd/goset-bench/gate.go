package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"goset/harness"
	"goset/internal/cli"
	"goset/report"
)

// gateFlags hold comparisons to bounds.
type gateFlags struct {
	failOn []string
	strict bool
}

func (f *gateFlags) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.failOn, "fail-on", nil, "exit with 3 when a metric is worse by more than this for sure, as 'ns/op>3%' or 'ns/op>3%,allocs/op>0'; may be given again")
	fs.BoolVar(&f.strict, "strict", false, "with -fail-on: exit with 4 when that cannot be told")
}

// bounds reads the bounds.
func (f *gateFlags) bounds() ([]report.Bound, error) {
	var out []report.Bound
	for _, text := range f.failOn {
		bounds, err := report.ParseBounds(text)
		if err != nil {
			return nil, usagef("cannot use -fail-on: %v", err)
		}
		out = append(out, bounds...)
	}
	return out, nil
}

// checkBounds refuses before the first run what no metric of the experiment can
// be called, and warns where only the runs can tell.
func (w *work) checkBounds(e *harness.Experiment, f *tableFlags) error {
	bounds, err := f.gate.bounds()
	if err != nil {
		return err
	}
	unknown, known, open := report.CheckBounds(e, bounds)
	for _, name := range unknown {
		text := fmt.Sprintf("-fail-on %q: no metric is known by that name%s; known are %s", name, cli.Nearest(name, known), strings.Join(known, ", "))
		if !open {
			return usagef("cannot use %s", text)
		}
		w.say("warning: " + text + ", and what else the runs print")
	}
	return nil
}

// gateError is what -fail-on found.
type gateError struct{ text string }

func (e *gateError) Error() string { return e.text }

func isGate(err error) bool {
	var g *gateError
	return errors.As(err, &g)
}

// judge turns the judgement of the bounds into an exit code.
func (f *gateFlags) judge(doc *report.Document) error {
	if doc.GateFault != nil {
		return failed(doc.GateFault)
	}
	broken, open := 0, 0
	for i := range doc.Gates {
		switch doc.Gates[i].Status {
		case report.GateFailed:
			broken++
		case report.GateUnresolved:
			open++
		}
	}
	switch {
	case broken > 0:
		return &exitError{exitWorse, &gateError{fmt.Sprintf("%d of %d comparisons are beyond their bound, each by its own 95%% interval", broken, len(doc.Gates))}}
	case open > 0 && f.strict:
		return &exitError{exitUnresolved, &gateError{fmt.Sprintf("%d of %d comparisons cannot be told from their bound: more runs, or a quieter machine", open, len(doc.Gates))}}
	}
	return nil
}

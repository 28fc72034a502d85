package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

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

// gateError is what -fail-on found.
type gateError struct{ text string }

func (e *gateError) Error() string { return e.text }

func isGate(err error) bool {
	var g *gateError
	return errors.As(err, &g)
}

// judge turns the judgement of the bounds into an exit code.
func (f *gateFlags) judge(doc *report.Document) error {
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
		return &exitError{exitWorse, &gateError{fmt.Sprintf("%d of %d comparisons are beyond their bound", broken, len(doc.Gates))}}
	case open > 0 && f.strict:
		return &exitError{exitUnresolved, &gateError{fmt.Sprintf("%d of %d comparisons cannot be told from their bound: more runs, or a quieter machine", open, len(doc.Gates))}}
	}
	return nil
}

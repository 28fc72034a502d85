package main

import (
	"errors"
	"strings"
	"testing"

	"goset/harness"
)

// Tables that could not be written take neither the exit code of the runs nor
// the line that says how to go on.
func TestOutcome(t *testing.T) {
	full := failed(errors.New("no space left"))
	gate := &exitError{exitWorse, &gateError{}}
	sum := harness.Summary{Dir: "out", Total: 3}
	bad := sum
	bad.Measured.Failed = 1
	for _, tc := range []struct {
		name        string
		sum         harness.Summary
		interrupted bool
		tables      error
		code        int
		says        []string
	}{
		{"all well", sum, false, nil, exitDone, nil},
		{"unwritten", sum, false, full, exitFailed, []string{"no space"}},
		{"worse", sum, false, gate, exitWorse, nil},
		{"interrupted", sum, true, nil, exitInterrupted, []string{"resume out"}},
		{"interrupted and unwritten", sum, true, full, exitInterrupted, []string{"no space", "resume out"}},
		{"interrupted and worse", sum, true, gate, exitInterrupted, []string{"resume out"}},
		{"failed", bad, false, nil, exitFailed, []string{"1 of 3 runs failed"}},
		{"failed and unwritten", bad, false, full, exitFailed, []string{"no space", "1 of 3 runs failed"}},
		{"failed and worse", bad, false, gate, exitFailed, []string{"1 of 3 runs failed"}},
	} {
		err := outcome(verdict(tc.sum, tc.interrupted), tc.tables)
		code, text := exitDone, ""
		var e *exitError
		if errors.As(err, &e) {
			code, text = e.code, e.err.Error()
		} else if err != nil {
			t.Errorf("%s: %v carries no exit code", tc.name, err)
		}
		if code != tc.code {
			t.Errorf("%s: exit code %d, want %d", tc.name, code, tc.code)
		}
		for _, want := range tc.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q does not say %q", tc.name, text, want)
			}
		}
	}
}

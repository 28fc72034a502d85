package main

import (
	"bytes"
	"testing"
)

// TestShortRun simulates a little of everything: no test may be wildly off its
// level in the trials that the short mode affords, and the seed decides the
// bytes.
func TestShortRun(t *testing.T) {
	var out, again, errs bytes.Buffer
	if code := run([]string{"-short"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if code := run([]string{"-short"}, &again, &errs); code != 0 || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the same seed gave another table")
	}
}

func TestLevelsRoughly(t *testing.T) {
	results, err := simulate(config{trials: 120, seed: 2, sizes: []int{10}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		// 120 trials at a level of 0.065 exceed 0.15 once in 2,000.
		if !r.check.coverage && r.defined > 0 && r.rate() > 0.15 {
			t.Errorf("%s, %s, τ = %g: rejects %.3f of the time", r.check.name, r.condition.law.name, r.condition.tau, r.rate())
		}
		if tails := r.check.name == "sd (Bonett)"; r.check.coverage && r.defined > 0 && !tails && r.rate() < 0.80 {
			t.Errorf("%s, %s, τ = %g: covers %.3f", r.check.name, r.condition.law.name, r.condition.tau, r.rate())
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-trials", "0"}, {"-nonsense"}, {"-trials", "x"}} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%v: exit code %d, %d bytes out, message %q", args, code, out.Len(), errs.String())
		}
	}
}

package harness_test

import (
	"testing"

	"goset/experiments"
	"goset/harness"
)

// TestShipped loads, validates and plans every experiment that is built in.
func TestShipped(t *testing.T) {
	want := map[string]struct{ treatments, runs int }{
		"published":   {16, 176},
		"quickstart":  {12, 108},
		"sweep-flags": {20, 220},
		"sweep-n":     {24, 264},
		"yield":       {15, 165},

		"three-conditions":           {3, 63},
		"three-conditions-container": {3, 63},
	}
	if n := len(experiments.Names()); n != len(want) {
		t.Errorf("%d experiments, want %d", n, len(want))
	}
	for _, name := range experiments.Names() {
		text, err := experiments.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := harness.Load(name+".toml", text, harness.LoadOptions{})
		if err != nil {
			t.Errorf("%s:\n%v", name, err)
			continue
		}
		p, err := e.Expand(1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := (struct{ treatments, runs int }{len(p.Treatments), len(p.Runs)}); got != want[name] {
			t.Errorf("%s: %+v, want %+v", name, got, want[name])
		}
		est := e.Estimate(p)
		if !est.Known() || est.Total <= 0 {
			t.Errorf("%s: estimate %+v", name, est)
		}
		t.Logf("%s: %v", name, est.Total)
	}
}

package main

import (
	"errors"
	"fmt"
	"testing"

	"goset/isolation"
)

func TestInFlags(t *testing.T) {
	for hint, want := range map[string]string{
		"": "",
		`leave "cpu_quota" out, or name it in optional to run without it`: "leave -cpu-quota out, or name it in -optional to run without it",
		`add cpus = "quietest"`:                                        "add -cpus=quietest",
		`use cgroup = true, and shield = true to keep others off`:      "use -cgroup, and -shield to keep others off",
		`use cgroup = true or "member"`:                                `use -cgroup or "member"`,
		"or ask for nice = -20":                                        "or ask for -nice=-20",
		"or smt = false":                                               "or -smt=false",
		"lower n, or exclude fewer of 0-3":                             "lower -n, or exclude fewer of 0-3",
		`give the name or number of a user of this machine, or "root"`: `give the name or number of a user of this machine, or "root"`,
	} {
		if got := inFlags(hint); got != want {
			t.Errorf("%q is %q, want %q", hint, got, want)
		}
	}
}

func TestLayerName(t *testing.T) {
	for layer, want := range map[string]string{"steer": "-steer", "stable_env": "-stable-env", "irqbalance": "irqbalance", "": ""} {
		if got := layerName(layer); got != want {
			t.Errorf("%q is %q, want %q", layer, got, want)
		}
	}
}

// finding is one that is optional (o), binding (b) or neither.
func finding(layer, how string) *isolation.Unsupported {
	return &isolation.Unsupported{Layer: layer, Reason: "why", Optional: how == "o", Binding: how == "b"}
}

func TestWayOut(t *testing.T) {
	for _, test := range []struct {
		findings isolation.Findings
		want     string
	}{
		{nil, ""},
		{isolation.Findings{finding("user", "b")}, ""},
		{isolation.Findings{finding("user", "b"), finding("steer", "o")}, ""},
		{isolation.Findings{finding("steer", "")}, "\nRun it without them: -best-effort, or -optional steer"},
		{isolation.Findings{finding("frequency", ""), finding("cpu_quota", ""), finding("steer", "o")}, "\nRun it without them: -best-effort, or -optional frequency,cpu-quota,steer"},
		{isolation.Findings{finding("cpus", "b"), finding("steer", ""), finding("user", "b")}, "\nRun it without the others: -best-effort, or -optional steer (not without cpus,user)"},
	} {
		if got := wayOut(test.findings); got != test.want {
			t.Errorf("%v: %q, want %q", test.findings, got, test.want)
		}
	}
}

func TestWorded(t *testing.T) {
	plain := errors.New("plain")
	for _, test := range []struct {
		err  error
		want string
	}{
		{plain, "plain"},
		{finding("env_size", ""), "cannot hold -env-size: why"},
		{errors.Join(finding("steer", ""), plain, errors.Join(finding("turbo", ""))), "cannot hold -steer: why\nplain\ncannot hold -turbo: why"},
		{fmt.Errorf("both %w and %w", plain, finding("steer", "")), `both plain and cannot hold layer "steer": why`},
	} {
		if got := worded(test.err).Error(); got != test.want {
			t.Errorf("%q is %q, want %q", test.err, got, test.want)
		}
	}
}

//go:build linux

package isolation

import (
	"errors"
	"testing"

	"goset/cpulist"
)

// pairs is a machine whose cores have two CPUs each: 0-1, 2-3, ...
func pairs(cpus cpulist.Set) (cpulist.Set, error) {
	all := cpus
	for cpu := range cpus.All() {
		all = all.Union(cpulist.Of(cpu &^ 1).Union(cpulist.Of(cpu | 1)))
	}
	return all, nil
}

func alone(cpus cpulist.Set) (cpulist.Set, error) { return cpus, nil }

func TestFewestCores(t *testing.T) {
	for _, tt := range []struct {
		mode     Mode
		allowed  string
		siblings func(cpulist.Set) (cpulist.Set, error)
		want     string
	}{
		{Mode{CPUs: "3"}, "0-3", pairs, "3"},
		{Mode{CPUs: "rotate"}, "0-3", alone, "0"},
		{Mode{CPUs: "rotate", N: 1}, "0-3", pairs, "0"},
		{Mode{CPUs: "quietest", N: 2}, "0-3", pairs, "0-1"},
		{Mode{CPUs: "quietest", N: 3}, "0-3", pairs, "0-2"},
		{Mode{CPUs: "quietest", N: 4}, "0-3", pairs, "0-3"},
		{Mode{CPUs: "quietest", N: 5}, "0-3", pairs, ""},
		// A core of which one CPU is not allowed is taken last.
		{Mode{CPUs: "quietest", N: 2}, "1-3", pairs, "2-3"},
		{Mode{CPUs: "quietest", N: 2, Exclude: "2"}, "0-3", pairs, "0-1"},
		{Mode{CPUs: "quietest", N: 1, Include: "7"}, "", alone, "7"},
	} {
		got, err := tt.mode.fewestCores(cpus(t, tt.allowed), tt.siblings)
		if err != nil || !got.Equal(cpus(t, tt.want)) {
			t.Errorf("%+v of %s: %s (%v), want %s", tt.mode, tt.allowed, got, err, tt.want)
		}
	}
	if _, err := (Mode{CPUs: "quietest", Exclude: "x"}).fewestCores(cpus(t, "0"), alone); err == nil {
		t.Error("CPUs are chosen without those of a list that cannot be read")
	}
}

// TestBeside: a task that has every CPU shares them, and KeepOff says the same.
func TestBeside(t *testing.T) {
	allowed, err := Allowed()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("unsupported here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode Mode
		want string
	}{
		{Mode{}, ""},
		{Mode{CPUs: allowed.String()}, noteShares},
		{Mode{CPUs: "rotate", N: allowed.Len()}, noteShares},
		{Mode{CPUs: "quietest", N: allowed.Len()}, noteShares},
		{Mode{CPUs: "quietest", N: allowed.Len() + 1}, ""},
		{Mode{CPUs: "quietest", N: 1, Exclude: allowed.String()}, ""},
	} {
		if got := tt.mode.Beside(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.mode, got, tt.want)
		}
	}
	kept, err := KeepOff(allowed)
	if err != nil || kept.Note() != noteShares {
		t.Errorf("KeepOff says %q (%v), want %q", kept.Note(), err, noteShares)
	}
	if err := kept.Restore(); err != nil {
		t.Error(err)
	}
}

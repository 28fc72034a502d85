package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layersOf lists the layers of findings in their order.
func layersOf(f Findings) []string {
	var layers []string
	for _, u := range f {
		layers = append(layers, u.Layer)
	}
	return layers
}

// ptr points to a copy of a value.
func ptr[T any](v T) *T { return &v }

// everything asks for every layer but the CPUs.
func everything() Mode {
	return Mode{
		Name: "all", Cgroup: "true", Shield: true, Fence: true, Steer: true, Nice: ptr(-5), FIFO: 1,
		Governor: "performance", Frequency: "base", Turbo: ptr(false), SMT: ptr(false), ASLR: ptr(false),
		StableEnv: true, EnvSize: 4096, THP: "never", Memory: "512MiB", CPUQuota: "50%", Wrap: []string{"docker", "run"}, User: "nobody",
	}
}

func TestCheckAsksForNothing(t *testing.T) {
	for _, m := range []Mode{{}, {Name: "unpinned"}, {Cgroup: "", Fence: false, FIFO: 0, Optional: []string{"steer"}}} {
		if f := Check(m); len(f) != 0 || f.Err() != nil {
			t.Errorf("%+v: %v", m, f)
		}
	}
}

func TestEveryLayerHasItsStage(t *testing.T) {
	m := everything()
	m.CPUs = "quietest"
	for _, a := range m.asks() {
		if a.layer != layerCPUs && !slices.ContainsFunc(stages(), func(st stage) bool { return st.key == a.layer }) {
			t.Errorf("nothing holds layer %q", a.layer)
		}
	}
	for _, st := range stages() {
		if !slices.ContainsFunc(m.asks(), func(a ask) bool { return a.layer == st.key }) {
			t.Errorf("nobody can ask for stage %q", st.key)
		}
		if l := st.layer(&applied{}); l != nil {
			t.Errorf("the empty mode gets layer %q", l.key())
		}
	}
}

func TestCheckNamesEveryLayer(t *testing.T) {
	m := everything()
	f := Check(m)
	// Without CPUs these cannot be had on any machine.
	for _, layer := range []string{"cgroup", "shield", "fence", "steer"} {
		if !slices.Contains(layersOf(f), layer) {
			t.Errorf("%q without CPUs can be had", layer)
		}
	}
	last := -1
	for _, u := range f {
		if u.Mode != "all" || u.Reason == "" || u.Hint == "" || u.Optional {
			t.Errorf("finding %+v lacks a word", u)
		}
		at := slices.IndexFunc(m.asks(), func(a ask) bool { return a.layer == u.Layer })
		if at < last {
			t.Errorf("%v are not in the order of the mode", layersOf(f))
		}
		last = at
	}
	var u *Unsupported
	if err := f.Err(); !errors.As(err, &u) || strings.Count(err.Error(), "\n") != len(f)-1 {
		t.Errorf("the error does not join %d findings: %v", len(f), err)
	}
}

func TestOptionalLayersAreWarnings(t *testing.T) {
	m := everything()
	m.Optional = []string{"steer", "fence"}
	f := Check(m)
	warned := slices.Compact(layersOf(f.Warnings()))
	if !slices.Equal(warned, []string{"fence", "steer"}) {
		t.Errorf("warnings are %v", warned)
	}
	if len(f.Refused())+len(f.Warnings()) != len(f) || slices.Contains(layersOf(f.Refused()), "steer") || len(f.Refused()) == 0 {
		t.Errorf("refused are %v", layersOf(f.Refused()))
	}
	best := m.BestEffort()
	if f := Check(best); len(f.Waivable()) != 0 || len(f.Warnings())+len(f.Binding()) != len(f) || len(f.Warnings()) == 0 {
		t.Errorf("best effort refuses: %v", f.Err())
	}
	if !slices.Equal(m.Optional, []string{"steer", "fence"}) {
		t.Errorf("BestEffort changed the mode: %v", m.Optional)
	}
}

func TestCheckCPUs(t *testing.T) {
	allowed, err := Allowed()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		mode Mode
		part string // of the reason; "": it can be had
	}{
		{Mode{CPUs: allowed.String()}, ""},
		{Mode{CPUs: "rotate"}, ""},
		{Mode{CPUs: "quietest", N: allowed.Len()}, ""},
		{Mode{CPUs: "quietest", Include: allowed.String()}, ""},
		{Mode{CPUs: "quietest", N: allowed.Len() + 1}, fmt.Sprintf("n is %d, with %s to choose from", allowed.Len()+1, counted(allowed.Len(), "CPU"))},
		{Mode{CPUs: "rotate", Exclude: allowed.String()}, "n is 1, with 0 CPUs to choose from"},
		{Mode{CPUs: "quietest", Include: "8000"}, "include: CPU 8000 is not on this machine"},
		{Mode{CPUs: "quietest", Include: "x"}, "include: "},
		{Mode{CPUs: "quietest", Exclude: "3-1"}, "exclude: "},
		{Mode{CPUs: "8000"}, "CPU 8000 is not on this machine"},
		{Mode{CPUs: "8000-8001"}, "CPUs 8000-8001 are not on this machine"},
		{Mode{CPUs: allowed.String() + ",8000"}, "CPU 8000 is not on this machine"},
		{Mode{CPUs: "fast"}, "fast"},
	} {
		f := Check(test.mode)
		switch {
		case test.part == "" && len(f) != 0:
			t.Errorf("%+v: %v", test.mode, f.Err())
		case test.part != "" && (len(f) != 1 || f[0].Layer != "cpus" || !strings.Contains(f[0].Reason, test.part)):
			t.Errorf("%+v: %v; want a reason with %q", test.mode, f.Err(), test.part)
		}
	}
}

// TestChangesMachine: no layer that needs the journal is forgotten, and none
// that acts on the child alone takes the machine.
func TestChangesMachine(t *testing.T) {
	no, yes := false, true
	for _, test := range []struct {
		mode Mode
		want bool
	}{
		{Mode{}, false}, {Mode{CPUs: "0", Wrap: []string{"env"}}, false}, {Mode{Nice: new(int)}, false}, {Mode{FIFO: 1}, false},
		{Mode{ASLR: &no}, false}, {Mode{StableEnv: true}, false}, {Mode{EnvSize: 4096}, false}, {Mode{THP: "never"}, false}, {Mode{User: "nobody"}, false},
		{Mode{Cgroup: "true"}, true}, {Mode{Shield: true}, true}, {Mode{Fence: true}, true}, {Mode{Steer: true}, true},
		{Mode{Governor: "performance"}, true}, {Mode{Frequency: "base"}, true}, {Mode{Turbo: &no}, true},
		{Mode{SMT: &no}, true}, {Mode{SMT: &yes}, true}, {Mode{Memory: "1GiB"}, true}, {Mode{CPUQuota: "50%"}, true},
	} {
		if got := test.mode.ChangesMachine(); got != test.want {
			t.Errorf("%+v: %t", test.mode, got)
		}
		r := &applied{mode: test.mode}
		for _, st := range stages() {
			if l := st.layer(r); l != nil && changesMachine(l) && !test.want {
				t.Errorf("layer %q of %+v needs the journal", l.key(), test.mode)
			}
		}
	}
}

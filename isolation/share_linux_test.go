package isolation

import (
	"maps"
	"slices"
	"testing"

	"goset/cpulist"
)

func TestSharedKey(t *testing.T) {
	one, two := cpulist.Of(1), cpulist.Of(2)
	same := [][2]Mode{
		{{Nice: ptr(1)}, {}},
		{{Steer: true, Cgroup: "true"}, {Steer: true, FIFO: 1}},
		{{Governor: "performance", Name: "a"}, {Governor: "performance", Name: "b"}},
	}
	for _, m := range same {
		if a, b := sharedKey(m[0], one), sharedKey(m[1], one); a != b {
			t.Errorf("%q and %q", a, b)
		}
	}
	different := [][2]Mode{
		{{Steer: true}, {}},
		{{SMT: ptr(false)}, {SMT: ptr(true)}},
		{{Turbo: ptr(false)}, {Turbo: ptr(true)}},
		{{Frequency: "base"}, {Governor: "base"}},
	}
	for _, m := range different {
		if a, b := sharedKey(m[0], one), sharedKey(m[1], one); a == b {
			t.Errorf("%+v and %+v are %q", m[0], m[1], a)
		}
	}
	if m := (Mode{Frequency: "base"}); sharedKey(m, one) == sharedKey(m, two) {
		t.Error("the frequency of other CPUs is the same")
	}
}

func TestNeighbouringRunsShare(t *testing.T) {
	k, _ := everyKnob()
	before := maps.Clone(k.state())
	r := k.run(t, Mode{}, "")
	s := &Session{kernel: k, journal: r.journal, options: Options{Say: func(text string) { t.Error(text) }}}
	s.Share(true)
	governor := policyFolder + "/policy2/scaling_governor"
	// once runs a mode and returns how much was written.
	once := func(m Mode) int {
		t.Helper()
		writes := k.count
		h, err := s.Apply(m, cpulist.Set{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Governor != "" && k.files[governor] != m.Governor {
			t.Errorf("%s: the governor is %s", m.Name, k.files[governor])
		}
		if err := h.Release(); err != nil {
			t.Error(err)
		}
		for _, st := range h.States() {
			if !st.Held {
				t.Errorf("%s: %+v", m.Name, st)
			}
		}
		var layers []string
		for _, st := range h.States() {
			layers = append(layers, st.Layer)
		}
		for _, a := range m.asks() {
			if !slices.Contains(layers, a.layer) {
				t.Errorf("%s: no state of %q in %v", m.Name, a.layer, layers)
			}
		}
		return k.count - writes
	}
	fast := Mode{Name: "fast", Governor: "performance", Turbo: ptr(false)}
	slow := Mode{Name: "slow", Governor: "conservative"}
	if once(fast) == 0 || k.files[governor] != "performance" {
		t.Errorf("after the first run the governor is %s", k.files[governor])
	}
	if n := once(fast); n != 0 {
		t.Errorf("the second run wrote %d times", n)
	}
	if once(slow) == 0 || k.files[governor] != "conservative" {
		t.Errorf("after another mode the governor is %s", k.files[governor])
	}
	if once(Mode{Name: "plain"}); k.files[governor] != before[governor] {
		t.Errorf("after a mode that asks for nothing the governor is %s", k.files[governor])
	}
	once(fast)
	s.Share(false)
	if once(fast); k.files[governor] != before[governor] {
		t.Errorf("without sharing the governor stays %s", k.files[governor])
	}
	s.Share(true)
	once(fast)
	// Somebody else's change is found, said, and ends the sharing.
	h, err := s.Apply(fast, cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.writeFile(governor, "conservative"); err != nil {
		t.Fatal(err)
	}
	said := ""
	s.options.Say = func(text string) { said = text }
	if err := h.Release(); err != nil || said == "" || s.shared != nil || layerState(t, h, "governor").Held {
		t.Errorf("%v, said %q, %+v", err, said, h.States())
	}
	k.files[governor] = before[governor]
	k.undo(t, r, before)
}

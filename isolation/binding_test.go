package isolation

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestBinding(t *testing.T) {
	for _, test := range []struct {
		mode    Mode
		layer   string
		binding bool
	}{
		{Mode{}, "user", true}, {Mode{User: "nobody"}, "user", true},
		{Mode{}, "cpus", false}, {Mode{CPUs: "quietest"}, "cpus", false}, {Mode{CPUs: "rotate"}, "cpus", false},
		{Mode{CPUs: "0"}, "cpus", true}, {Mode{CPUs: "0-3,8"}, "cpus", true},
		{Mode{CPUs: "0", Steer: true}, "steer", false}, {Mode{}, "wrap", false}, {Mode{}, "", false},
	} {
		if why := test.mode.Binding(test.layer); (why != "") != test.binding {
			t.Errorf("%q of %+v: %q", test.layer, test.mode, why)
		}
		named := test.mode
		named.Optional = []string{test.layer}
		if named.LetsGo(test.layer) == test.binding {
			t.Errorf("%+v lets go of %q: %t", named, test.layer, !test.binding)
		}
		if slices.Contains(test.mode.BestEffort().Optional, test.layer) && test.binding {
			t.Errorf("best effort of %+v lets go of %q", test.mode, test.layer)
		}
	}
	if (Mode{Steer: true}).LetsGo("steer") {
		t.Error("what is not named as optional is let go of")
	}
}

// A user that is not there and CPUs that are named and cannot be had end the run,
// whatever is optional; the rest is told from them.
func TestBindingIsRefused(t *testing.T) {
	allowed, err := Allowed()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Mode{
		{Name: "m", User: "no-such-user"},
		{Name: "m", CPUs: "8000"}, {Name: "m", CPUs: allowed.String() + ",8000"},
		{Name: "m", CPUs: "quietest", Include: "8000"}, {Name: "m", CPUs: "quietest", Exclude: "3-1"},
	} {
		named := m
		named.Optional = []string{"user", "cpus"}
		for _, m := range []Mode{m.BestEffort(), named} {
			f := Check(m)
			if len(f) != 1 || len(f.Refused()) != 1 || len(f.Binding()) != 1 || len(f.Waivable()) != 0 {
				t.Errorf("%+v: refused %v, of them waivable %v", m, f.Refused(), f.Waivable())
			}
			if strings.Contains(f.Err().Error(), "optional") {
				t.Errorf("the way out is one that there is not: %v", f.Err())
			}
		}
	}
	both := Check(Mode{Name: "m", User: "no-such-user", CPUs: "quietest", N: 1 << 20})
	if got := fmt.Sprint(both.Binding().Layers(), both.Waivable().Layers()); got != "[user] [cpus]" {
		t.Errorf("binding and waivable are %s", got)
	}
	if f := Check(Mode{CPUs: "quietest", N: 1 << 20}.BestEffort()); f.Err() != nil || len(f.Warnings()) != 1 {
		t.Errorf("too many quietest CPUs: %v", f.Err())
	}
}

// What Check refuses, Apply refuses, too: CPUs go offline meanwhile.
func TestBindingIsNotWaived(t *testing.T) {
	for _, m := range []Mode{{CPUs: "8000"}, {User: "no-such-user"}} {
		m.Optional = []string{"cpus", "user"}
		h, err := (*Session)(nil).Apply(m, fixedCPUs(m))
		var u *Unsupported
		if h != nil || !errors.As(err, &u) || u.Optional || !u.Binding {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if u := (*Unsupported)(nil); !errors.As((Mode{Optional: []string{"user"}}).asError("user", os.ErrPermission), &u) || u.Optional || strings.Contains(u.Hint, "optional") {
		t.Errorf("a user that is lost on the way: %+v", u)
	}
}

// A mode without a name is not named, and what no layer says has no layer.
func TestUnsupportedText(t *testing.T) {
	for want, u := range map[string]Unsupported{
		`cannot hold layer "steer" of mode "m": why (how)`: {Mode: "m", Layer: "steer", Reason: "why", Hint: "how"},
		`cannot hold layer "steer": why`:                   {Layer: "steer", Reason: "why"},
		"why (how)":                                        {Reason: "why", Hint: "how"},
	} {
		if got := u.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

//go:build linux

package isolation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"goset/cpulist"
)

// cpufreqMachine has one policy for each of its CPUs, as acpi-cpufreq has them:
// limits read as what is in force, rounded to steps, whatever was written.
func cpufreqMachine(cpus int) *knobKernel {
	k := newKnobKernel(map[string]string{cpuFolder + "/online": fmt.Sprintf("0-%d", cpus-1)})
	for cpu := range cpus {
		dir := fmt.Sprintf("%s/policy%d", policyFolder, cpu)
		for name, text := range map[string]string{
			"affected_cpus": strconv.Itoa(cpu), "scaling_governor": "schedutil",
			"scaling_available_governors":   "conservative schedutil performance ",
			"cpuinfo_min_freq":              "1000000",
			"cpuinfo_max_freq":              "3000000",
			"scaling_min_freq":              "1000000",
			"scaling_max_freq":              "3000000",
			"scaling_available_frequencies": "3000000 2500000 2000000 1000000 ",
		} {
			k.files[dir+"/"+name] = text
		}
		least, most := int64(1000000), int64(3000000) // as requested
		settle := func() {
			k.files[dir+"/scaling_max_freq"] = fmt.Sprint(stepBelow(most))
			k.files[dir+"/scaling_min_freq"] = fmt.Sprint(min(stepAbove(least), stepBelow(most)))
		}
		k.writes[dir+"/scaling_min_freq"] = func(v string) error { least, _ = strconv.ParseInt(v, 10, 64); settle(); return nil }
		k.writes[dir+"/scaling_max_freq"] = func(v string) error { most, _ = strconv.ParseInt(v, 10, 64); settle(); return nil }
	}
	return k
}

func stepBelow(khz int64) int64 {
	for _, s := range []int64{3000000, 2500000, 2000000} {
		if khz >= s {
			return s
		}
	}
	return 1000000
}

func stepAbove(khz int64) int64 {
	for _, s := range []int64{1000000, 2000000, 2500000} {
		if khz <= s {
			return s
		}
	}
	return 3000000
}

func TestParseFrequency(t *testing.T) {
	for text, want := range map[string]frequencyAsk{
		"base": {base: true}, "2.4GHz": {khz: 2400000}, "2400 MHz": {khz: 2400000}, "800000kHz": {khz: 800000}, "70%": {percent: 70}, "0.5%": {percent: 0.5},
	} {
		if got, err := parseFrequency(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "GHz", "0%", "101%", "-1GHz", "1e3GHz", "2.4", "2,4GHz", "0GHz", "2.4.1GHz", "99999GHz", "NaN%", "Base", "0.0001kHz"} {
		if got, err := parseFrequency(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func FuzzParseFrequency(f *testing.F) {
	for _, s := range []string{"base", "2.4GHz", "70%", "1e9%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseFrequency(text)
		if err == nil && !a.base && (a.khz <= 0) == (a.percent <= 0) {
			t.Errorf("%q is %+v", text, a)
		}
	})
}

func TestFrequencyTarget(t *testing.T) {
	stepped := policy{dir: "policy0", cpus: cpulist.Of(0), lowest: 1000000, highest: 3000000, steps: []int64{1000000, 2000000, 2500000, 3000000}}
	smooth := policy{dir: "policy1", cpus: cpulist.Of(1), lowest: 800000, highest: 4000000, base: 2300000}
	for _, test := range []struct {
		p    policy
		ask  string
		want int64  // 0: refused
		part string // of the reason
	}{
		{stepped, "2GHz", 2000000, ""},
		{stepped, "2.02GHz", 2000000, ""},
		{stepped, "70%", 2000000, ""},
		{stepped, "100%", 3000000, ""},
		{stepped, "50%", 0, "CPU 0 cannot be held at 1.5GHz: it has the steps 1GHz, 2GHz, 2.5GHz, 3GHz"},
		{stepped, "base", 0, "does not tell the base frequency"},
		{smooth, "base", 2300000, ""},
		{smooth, "50%", 2000000, ""},
		{smooth, "2.3456GHz", 2345600, ""},
		{smooth, "5GHz", 0, "it has 800MHz to 4GHz"},
		{smooth, "10%", 0, "it has 800MHz to 4GHz"},
	} {
		ask, err := parseFrequency(test.ask)
		if err != nil {
			t.Fatal(err)
		}
		got, u := ask.target(&test.p)
		if got != test.want || (u == nil) != (test.part == "") || u != nil && (!strings.Contains(u.Reason, test.part) || u.Hint == "") {
			t.Errorf("%s of %s is %d, %v; want %d, %q", test.ask, test.p.dir, got, u, test.want, test.part)
		}
	}
}

func TestFrequencyIsHeldAndPutBack(t *testing.T) {
	for _, ask := range []string{"2GHz", "3GHz", "1GHz", "70%"} {
		k := cpufreqMachine(4)
		k.files[policyFolder+"/policy2/scaling_max_freq"] = "2500000"
		_ = k.writes[policyFolder+"/policy2/scaling_max_freq"]("2500000")
		k.log = nil
		before := k.state()
		r := k.run(t, Mode{Frequency: ask}, "1-2")
		l := newFrequencyLayer(r)
		enforce(t, r, l)
		s := l.state()
		if !s.Held || s.Asked != ask || strings.Contains(s.Achieved, " to ") {
			t.Errorf("%s: %+v", ask, s)
		}
		if k.files[policyFolder+"/policy0/scaling_max_freq"] != "3000000" {
			t.Errorf("%s: a CPU of nobody's was slowed down", ask)
		}
		k.undo(t, r, before)
	}
}

// From kernel 5.3 on a limit is in force some time after its write. An undo that
// comes before that still reads the old value, and must not believe it.
func TestFrequencyThatLags(t *testing.T) {
	k := cpufreqMachine(1)
	file := policyFolder + "/policy0/scaling_max_freq"
	write := k.writes[file]
	lagging := ""
	k.writes[file] = func(v string) error { lagging = v; return nil }
	r := k.run(t, Mode{Frequency: "2GHz"}, "0")
	l := newFrequencyLayer(r)
	if err := l.enforce(r); err == nil || lagging != "2000000" {
		t.Fatalf("enforced with %q pending: %v", lagging, err)
	}
	k.writes[file] = write
	before := map[string]string{file: "3000000", policyFolder + "/policy0/scaling_min_freq": "1000000"}
	k.log = nil
	k.undo(t, r, before)
	if !slices.Contains(k.log, file+"=3000000") {
		t.Errorf("the pending value was not overwritten: %v", k.log)
	}

	// A worker that comes late is waited for.
	reads := 0
	k.onRead = func(path string) {
		if path == file && lagging != "" {
			if reads++; reads == 3 {
				_ = write(lagging)
				lagging = ""
			}
		}
	}
	k.writes[file] = func(v string) error { lagging, reads = v, 0; return nil }
	r = k.run(t, Mode{Frequency: "2GHz"}, "0")
	l = newFrequencyLayer(r)
	enforce(t, r, l)
	if s := l.state(); !s.Held {
		t.Errorf("%+v", s)
	}
	k.undo(t, r, before)
}

func TestFrequencyThatSomebodyChanges(t *testing.T) {
	k := cpufreqMachine(1)
	r := k.run(t, Mode{Frequency: "2GHz"}, "0")
	l := newFrequencyLayer(r)
	if err := l.enforce(r); err != nil {
		t.Fatal(err)
	}
	if err := k.writeFile(policyFolder+"/policy0/scaling_max_freq", "3000000"); err != nil {
		t.Fatal(err)
	}
	l.check(r, moment{phase: afterRun})
	if s := l.state(); s.Held || !strings.Contains(s.Note, "policy0 was 2GHz to 3GHz") {
		t.Errorf("%+v", s)
	}
	if u := r.journal.UndoTo(0); u.Err != nil || k.files[policyFolder+"/policy0/scaling_min_freq"] != "1000000" {
		t.Errorf("%+v; %s", u, k.files[policyFolder+"/policy0/scaling_min_freq"])
	}
}

// While the limits move, the lower one never passes the upper one.
func TestLimitWrites(t *testing.T) {
	for _, test := range []struct{ least, most, khz int64 }{{1, 3, 2}, {1, 2, 3}, {2, 3, 1}, {2, 2, 1}, {2, 2, 3}, {2, 2, 2}} {
		p := policy{dir: "p", least: test.least, most: test.most}
		least, most := test.least, test.most
		for _, file := range p.limitWrites(test.khz) {
			if file == "p/scaling_min_freq" {
				least = test.khz
			} else {
				most = test.khz
			}
			if least > most {
				t.Errorf("%+v: %d to %d on the way", test, least, most)
			}
		}
		if least != test.khz || most != test.khz {
			t.Errorf("%+v: ends at %d to %d", test, least, most)
		}
	}
}

func TestGovernor(t *testing.T) {
	k := cpufreqMachine(4)
	epp := policyFolder + "/policy2/energy_performance_preference"
	k.files[epp] = "balance_performance"
	k.writes[policyFolder+"/policy2/scaling_governor"] = func(v string) error {
		k.files[policyFolder+"/policy2/scaling_governor"] = v
		if v == "performance" {
			k.files[epp] = "performance" // and it stays so
		}
		return nil
	}
	k.reads[policyFolder+"/policy3/affected_cpus"] = syscall.EBUSY // offline
	before := k.state()
	r := k.run(t, Mode{Governor: "performance"}, "2")
	l := newGovernorLayer(r)
	if u := l.probe(r); u != nil {
		t.Errorf("probe: %v", u)
	}
	enforce(t, r, l)
	if s := l.state(); !s.Held || s.Achieved != "performance" || k.files[policyFolder+"/policy1/scaling_governor"] != "schedutil" {
		t.Errorf("%+v", s)
	}
	k.undo(t, r, before)

	r = k.run(t, Mode{Governor: "powersave"}, "2")
	if u := newGovernorLayer(r).probe(r); u == nil || !strings.Contains(u.Reason, "policy2 has the governors conservative, schedutil, performance") {
		t.Errorf("a governor that is not there: %v", u)
	}
	r = k.run(t, Mode{Governor: "performance"}, "2-3")
	if u := newGovernorLayer(r).probe(r); u == nil || !strings.Contains(u.Reason, "no cpufreq policy covers CPU 3") {
		t.Errorf("an offline CPU: %v", u)
	}
}

func TestNoCpufreq(t *testing.T) {
	k := newKnobKernel(map[string]string{cpuFolder + "/online": "0-1"})
	for key, m := range map[string]Mode{"governor": {Governor: "performance"}, "frequency": {Frequency: "base"}, "turbo": {Turbo: ptr(false)}} {
		r := k.run(t, m, "0")
		for _, l := range []layer{newGovernorLayer(r), newFrequencyLayer(r), newTurboLayer(r)} {
			if isNil(l) {
				continue
			}
			u := l.probe(r)
			if l.key() != key || u == nil || u.Hint == "" || !strings.Contains(u.Reason, "virtual machines have none") {
				t.Errorf("%s: %v", key, u)
			}
			if err := l.enforce(r); err == nil && key != "turbo" {
				t.Errorf("%s is enforced", key)
			}
		}
	}
	if len(k.log) > 0 {
		t.Errorf("written: %v", k.log)
	}
}

// isNil tells a layer that was not asked for.
func isNil(l layer) bool { return l == nil }

func TestTurbo(t *testing.T) {
	noTurbo, floor, boost := cpuFolder+"/intel_pstate/no_turbo", cpuFolder+"/intel_pstate/min_perf_pct", policyFolder+"/boost"
	intel := cpufreqMachine(2)
	intel.files[noTurbo], intel.files[floor] = "0", "90"
	intel.writes[noTurbo] = func(v string) error {
		intel.files[noTurbo] = v
		if v == "1" {
			intel.files[floor] = "70" // squashed, and not raised again
		}
		return nil
	}
	global := cpufreqMachine(2)
	global.files[boost] = "1"
	each := cpufreqMachine(2)
	each.files[policyFolder+"/policy0/boost"], each.files[policyFolder+"/policy1/boost"] = "1", "1"
	for name, k := range map[string]*knobKernel{"intel_pstate": intel, "boost": global, "policies": each} {
		before := maps.Clone(k.state())
		r := k.run(t, Mode{Turbo: ptr(false)}, "0")
		l := newTurboLayer(r)
		enforce(t, r, l)
		if s := l.state(); !s.Held || s.Achieved != "false" || len(k.log) == 0 {
			t.Errorf("%s: %+v after %v", name, s, k.log)
		}
		k.undo(t, r, before)

		r = k.run(t, Mode{Turbo: ptr(true)}, "0")
		k.log = nil
		l = newTurboLayer(r)
		enforce(t, r, l)
		if s := l.state(); !s.Held || s.Achieved != "true" || len(k.log) != 0 {
			t.Errorf("%s, true already: %+v after %v", name, s, k.log)
		}
	}
	for errno, part := range map[syscall.Errno]string{syscall.EPERM: "firmware", syscall.EINVAL: "no turbo to switch"} {
		k := cpufreqMachine(1)
		k.files[boost] = "1"
		k.writes[boost] = func(string) error { return errno }
		r := k.run(t, Mode{Turbo: ptr(false)}, "0")
		if err := newTurboLayer(r).enforce(r); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

func FuzzParseSteps(f *testing.F) {
	f.Add("3000000 2500000 ")
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := parseSteps(text)
		for i := 1; err == nil && i < len(steps); i++ {
			if steps[i] <= steps[i-1] {
				t.Errorf("%q: %v", text, steps)
			}
		}
	})
}

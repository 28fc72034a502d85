//go:build linux

package isolation

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// foreseen are the changes of a forecast as a test compares them, without those of
// the guard, which a run of a test has none of. Threads are listed in no order.
func foreseen(f Forecast) []string {
	var lines []string
	for _, l := range f {
		if l.Layer == "guard" {
			continue
		}
		for _, c := range l.Changes {
			lines = append(lines, fmt.Sprintf("%s %s %s: %q -> %q", c.Kind, c.Object, c.Label, c.Old, c.New))
		}
	}
	for i := 0; i < len(lines); i++ {
		end := i
		for end < len(lines) && !strings.Contains(lines[end], " /") {
			end++
		}
		slices.Sort(lines[i:end])
		i = end
	}
	return lines
}

// done are the entries of a run in the same form.
func done(j *Journal) []string {
	return foreseen(Forecast{{Changes: changesOf(j.entries)}})
}

// A forecast has the very entries that the run has, and nothing is changed for it.
func TestForecastIsTheRun(t *testing.T) {
	for _, test := range []struct {
		v1   bool
		mode Mode
	}{
		{false, Mode{}}, {false, Mode{CPUs: "2"}},
		{false, Mode{CPUs: "2", Cgroup: "true"}}, {false, Mode{CPUs: "2", Cgroup: "true", Fence: true}},
		{false, Mode{CPUs: "2-3", Cgroup: "member"}}, {false, Mode{CPUs: "2-3", Cgroup: "root"}},
		{false, Mode{CPUs: "2", Cgroup: "true", Memory: "64MiB", CPUQuota: "50%"}}, {false, Mode{Memory: "64MiB", CPUQuota: "50%"}},
		{true, Mode{CPUs: "2", Cgroup: "true"}}, {true, Mode{CPUs: "2", Cgroup: "true", Shield: true}},
	} {
		k := newFake(t, test.v1)
		k.fault = func(_ *fakeKernel, what string) error {
			t.Errorf("%+v: a forecast does %s", test.mode, what)
			return syscall.EPERM
		}
		before := k.snapshot()
		run := &applied{mode: test.mode, cpus: cpus(t, test.mode.CPUs), fenced: cpus(t, test.mode.CPUs), kernel: k}
		if test.mode.Fence {
			run.fenced = cpus(t, "2-3")
		}
		f, err := foresee(run)
		if err != nil {
			t.Fatal(err)
		}
		if k.changes != 0 || k.snapshot() != before {
			t.Fatalf("%+v: %d changes", test.mode, k.changes)
		}
		k.fault = nil
		h, err := hold(t, k, test.mode)
		if err != nil {
			t.Fatal(err)
		}
		// The kernel gives this one all CPUs when it makes the cpuset, which is among
		// the doubts.
		want := slices.DeleteFunc(done(h.session.journal), func(line string) bool { return strings.HasPrefix(line, "affinity 30:3 ") })
		if !slices.Equal(foreseen(f), want) {
			t.Errorf("%+v: foreseen\n%s\nand the run did\n%s", test.mode, strings.Join(foreseen(f), "\n"), strings.Join(want, "\n"))
		} else if len(want) == 0 && (test.mode.Cgroup != "" || test.mode.Memory != "") {
			t.Errorf("%+v: a run that changes nothing", test.mode)
		}
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// The same of the layers about interrupts, clocks and hotplug. Steering after CPUs
// went offline is held to guests: the machine in memory keeps their siblings.
func TestForecastOfKnobs(t *testing.T) {
	all := func() Mode { _, m := everyKnob(); return m }()
	for _, change := range []func(m *Mode){
		func(m *Mode) { m.SMT = nil },
		func(m *Mode) { m.Steer = false },
		func(m *Mode) { m.Steer, m.SMT = false, nil },
		func(m *Mode) { *m = Mode{CPUs: "2", SMT: m.SMT} },
	} {
		m := all
		change(&m)
		k, _ := everyKnob()
		before := maps.Clone(k.state())
		f, err := foresee(k.run(t, m, "2"))
		if err != nil {
			t.Fatal(err)
		}
		if k.count != 0 || len(k.log) != 0 || !maps.Equal(before, k.state()) {
			t.Fatalf("%+v: a forecast wrote %q", m, k.log)
		}
		r := k.run(t, m, "2")
		if err := enforceAll(r); err != nil {
			t.Fatal(err)
		}
		if want := done(r.journal); !slices.Equal(foreseen(f), want) {
			t.Errorf("%+v: foreseen\n%s\nand the run did\n%s", m, strings.Join(foreseen(f), "\n"), strings.Join(want, "\n"))
		}
		for _, l := range f {
			if l.Refused != "" {
				t.Errorf("%+v", l)
			}
		}
	}
}

// What is refused on the way is foreseen with its cause, and the rest without it.
func TestForecastOfARefusal(t *testing.T) {
	k := newFake(t, false)
	k.files["/sys/devices/system/cpu/present"] = "0-8" // CPU 8 is offline
	run := &applied{mode: Mode{CPUs: "2", Cgroup: "true", Memory: "64MiB"}, cpus: cpus(t, "2"), fenced: cpus(t, "2"), kernel: k}
	f, err := foresee(run)
	if err != nil {
		t.Fatal(err)
	}
	if len(f) != 3 || !strings.Contains(f[1].Refused, "CPU 8 is offline") || len(f[1].Changes) != 0 || len(f[2].Changes) == 0 {
		t.Errorf("%+v", f)
	}
	for _, c := range f[2].Changes {
		if strings.Contains(c.Object, "cpuset") {
			t.Errorf("of a layer that is undone: %+v", c)
		}
	}
}

// What only a try can tell is said by name.
func TestDoubts(t *testing.T) {
	for _, test := range []struct {
		change Change
		word   string
	}{
		{Change{Kind: KindPartition}, "partition"}, {Change{Kind: KindIRQ}, "managed"}, {Change{Kind: KindClock}, "rounds"}, {Change{Kind: KindBystander}, "masks"},
		{Change{Kind: KindMember}, "refuse to leave"}, {Change{Kind: KindWords, Object: onlineFile(3), New: "0"}, "lets go of the CPUs"},
		{Change{Kind: KindWords, Object: policyFolder + "/boost", New: "0"}, ""}, {Change{Kind: KindCgroup}, ""},
	} {
		if got := doubt(test.change); (got == "") != (test.word == "") || !strings.Contains(got, test.word) {
			t.Errorf("%+v: %q", test.change, got)
		}
	}
	if all := doubts([]Change{{Kind: KindIRQ}, {Kind: KindCgroup}, {Kind: KindIRQ}}); len(all) != 1 {
		t.Errorf("%q", all)
	}
}

// A rehearsal refuses what would reach the machine.
func TestRehearsalStaysOne(t *testing.T) {
	k := newRehearsal(newFake(t, false))
	if err := k.rmdir("/sys/fs/cgroup"); !errors.Is(err, syscall.EPERM) {
		t.Error(err)
	}
	if err := k.signal(100, 900, syscall.SIGKILL); !errors.Is(err, syscall.EPERM) {
		t.Error(err)
	}
	if err := k.signal(100, 901, syscall.SIGSTOP); !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
	if err := k.writeFile("/proc/nowhere", "1"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := k.setAffinity(20, cpus(t, "1")); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a thread that belongs to its CPU: %v", err)
	}
	if err := k.signal(100, 900, syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
	if state, err := readStopped(k, taskObject(100, 900)); state != valueStopped || err != nil {
		t.Errorf("stopped it is %q, %v", state, err)
	}
	if err := k.setAffinity(100, cpus(t, "1")); err != nil {
		t.Error(err)
	}
	if mask, err := k.affinity(100); mask.String() != "1" || err != nil {
		t.Errorf("moved it has %v, %v", mask, err)
	}
	if _, err := k.systemctl("stop", irqbalanceUnit); err != nil {
		t.Error(err)
	}
	if state, err := readUnit(k, irqbalanceUnit); state != valueInactive || err != nil {
		t.Errorf("the unit is %q, %v", state, err)
	}
}

// A CPU that is off is nobody's sibling until it is on again.
func TestRehearsalSwitchesCPUs(t *testing.T) {
	k := newRehearsal(smtMachine())
	siblings := func(cpu int) string {
		set, err := siblingsOf(k, cpus(t, fmt.Sprint(cpu)))
		if err != nil {
			t.Fatal(err)
		}
		return set.String()
	}
	for _, step := range []struct{ value, online, siblings string }{{"0", "0-2,4,6-7", "2"}, {"1", "0-4,6-7", "2-3"}} {
		if err := k.writeFile(onlineFile(3), step.value); err != nil {
			t.Fatal(err)
		}
		online, err := everyone(k)
		if err != nil || online.String() != step.online || siblings(2) != step.siblings {
			t.Errorf("CPU 3 switched to %s: online %s, siblings of 2 %s, %v", step.value, online, siblings(2), err)
		}
	}
}

// This machine is as its forecast says.
func TestForecastHere(t *testing.T) {
	needRoot(t)
	allowed := twoCPUs(t)
	task := fmt.Sprint(allowed.Last())
	m := Mode{Name: "m", CPUs: task, Cgroup: "true", Memory: "64MiB"}
	m.Optional = m.BestEffort().Optional
	before := ownCgroups(t)
	f, err := Foresee(t.TempDir(), m, cpus(t, task))
	if err != nil {
		t.Fatal(err)
	}
	if now := ownCgroups(t); len(now) > len(before) {
		t.Errorf("a forecast made %q", now)
	}
	s, err := Open(t.Context(), testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := s.Apply(m, cpus(t, task))
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, e := range s.journal.entries[s.sheltered:] {
		// Threads come and go; files do not.
		if strings.HasPrefix(e.Object, "/") {
			c := changesOf([]Entry{e})[0]
			made = append(made, fmt.Sprintf("%s %s -> %s", c.Kind, c.Object, c.New))
		}
	}
	var want []string
	for _, l := range f {
		for _, c := range l.Changes {
			if l.Layer != "guard" && strings.HasPrefix(c.Object, "/") {
				want = append(want, fmt.Sprintf("%s %s -> %s", c.Kind, c.Object, c.New))
			}
		}
	}
	if !slices.Equal(made, want) {
		t.Errorf("foreseen\n%s\nand done\n%s", strings.Join(want, "\n"), strings.Join(made, "\n"))
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
}

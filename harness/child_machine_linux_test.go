package harness

import (
	"os"
	"testing"
	"time"

	"goset/cpulist"
	"goset/host"
)

func TestParseDelay(t *testing.T) {
	for text, want := range map[string]float64{"1000 2000000000 3\n": 2, "5 0 1\n": 0} {
		if got, ok := parseDelay([]byte(text)); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	// Absent is not zero: three zeros are of a kernel that does not account.
	for _, text := range []string{"", "\n", "0 0 0\n", "1 2\n", "1 x 3\n", "1 -2 3\n"} {
		if got, ok := parseDelay([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParseMigrations(t *testing.T) {
	const text = "cat (1, #threads: 1)\n---\nse.exec_start    :  1.5\nse.nr_migrations      :       12\nnr_switches : 3\n"
	if got, ok := parseMigrations([]byte(text)); !ok || got != 12 {
		t.Errorf("%v, %v", got, ok)
	}
	for _, text := range []string{"", "se.nr_migrations : 1\n", "\nse.nr_migrations", "\nse.nr_migrations : \n", "\nse.nr_migrations : x\n"} {
		if got, ok := parseMigrations([]byte(text)); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzTaskFiles(f *testing.F) {
	f.Add([]byte("1 2 3\n"))
	f.Add([]byte("x\nse.nr_migrations : 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if v, ok := parseDelay(text); ok && v < 0 {
			t.Errorf("%q: delay %v", text, v)
		}
		if v, ok := parseMigrations(text); ok && v < 0 {
			t.Errorf("%q: migrations %v", text, v)
		}
	})
}

func cpuTimes(user, soft, steal time.Duration) host.CPUTime {
	return host.CPUTime{User: user, SoftIRQ: soft, Steal: &steal}
}

func TestMachineTimes(t *testing.T) {
	m := newMachine()
	m.stat = &host.Stat{CPUs: map[int]host.CPUTime{0: cpuTimes(0, 0, 0), 1: cpuTimes(0, 0, 0), 2: {}}}
	m.after = &host.Stat{CPUs: map[int]host.CPUTime{0: cpuTimes(3*time.Second, time.Second, 2*time.Second), 1: cpuTimes(5*time.Second, 0, 0), 2: {User: time.Second}}}
	m.siblings["0"], m.siblings["2"] = cpulist.Of(1), cpulist.Set{}
	count := func(cpus cpulist.Set, user time.Duration) map[string]float64 {
		res := Result{User: user}
		m.count(Job{CPUs: cpus}, &res, &interrupts{})
		return res.Counters
	}
	got := count(cpulist.Of(0), time.Second)
	for name, want := range map[string]float64{CounterForeign: 3, CounterSoftirq: 1, CounterSteal: 2, CounterSiblings: 5} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
	if v, ok := got[CounterSiblingInterrupts]; ok {
		t.Errorf("interrupts of siblings that nobody read: %v", v)
	}
	// A CPU whose kernel does not tell steal has none; the task's own time is
	// not foreign; without pinning all CPUs count.
	got = count(cpulist.Of(2), 2*time.Second)
	if _, ok := got[CounterSteal]; ok || got[CounterForeign] != 0 {
		t.Errorf("CPU 2: %v", got)
	}
	if got = count(cpulist.Set{}, 0); got[CounterForeign] != 10 {
		t.Errorf("all CPUs: %v", got)
	}
	// One reading is none.
	m.after = nil
	if got := count(cpulist.Of(0), 0); len(got) != 0 {
		t.Errorf("with one reading: %v", got)
	}
}

// TestCountersOfALongRun: the second run of a command that is known to be long
// has what this kernel counts.
func TestCountersOfALongRun(t *testing.T) {
	r := newRunner(t)
	job := Job{Argv: []string{"sleep", "0.03"}, Env: os.Environ(), OutputLimit: 1 << 10, Timeout: time.Minute}
	first := execute(t, r, job)
	if v, ok := first.Counters[CounterForeign]; ok {
		t.Errorf("everything was read beside a run of unknown length: %v", v)
	}
	second := execute(t, r, job)
	if _, err := host.Local.Stat(); err == nil {
		for _, name := range []string{CounterSoftirq, CounterForeign} {
			if v, ok := second.Counters[name]; !ok || v < 0 {
				t.Errorf("%s: %v, %v", name, v, ok)
			}
		}
	}
	if _, ok := parseDelay(readInto("/proc/self/schedstat", make([]byte, 64))); ok {
		for i, res := range []Result{first, second} {
			if v, ok := res.Counters[CounterDelay]; !ok || v < 0 {
				t.Errorf("run %d: %s: %v, %v", i, CounterDelay, v, ok)
			}
		}
	}
	if all, ok := second.Counters[CounterInterrupts]; !ok && r.irqs.file != nil || all < second.Counters[CounterDevice] {
		t.Errorf("interrupts %v (%v) of which devices %v", all, ok, second.Counters[CounterDevice])
	}
}

func TestMachineReadsOnlyBesideLongRuns(t *testing.T) {
	m := newMachine()
	job := Job{Argv: []string{"a", "b"}}
	for i, tc := range []struct {
		wall         time.Duration
		pinned, want bool
	}{{longRun, false, false}, {longRun, false, true}, {longRun - 1, false, true}, {time.Hour, true, true}} {
		if got := m.begin(job, tc.pinned); got != tc.want {
			t.Errorf("run %d: interrupts %v", i, got)
		}
		if full := i == 1 || i == 2; m.full != full {
			t.Errorf("run %d: everything %v", i, m.full)
		}
		m.ended(job, os.Getpid(), tc.wall)
	}
	if m.begin(Job{Argv: []string{"a"}}, false) || m.full {
		t.Error("another command takes the length of the first")
	}
}

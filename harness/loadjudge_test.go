package harness

import (
	"strings"
	"testing"
	"time"
)

// spun is a spinner that was on a CPU and waited for that long.
func spun(state byte, run, wait time.Duration, on string) procSample {
	set, err := parseCPUs(on)
	if err != nil {
		panic(err)
	}
	return procSample{told: true, there: true, state: state, run: run, wait: wait, precise: true, allowed: set, on: set}
}

func ticked(p procSample) procSample { p.precise = false; return p }

func woken(n uint64) procSample {
	p := spun('S', 0, 0, "0")
	p.wakeups = &n
	return p
}

// slumbered gave up its CPU that often.
func slumbered(p procSample, n uint64) procSample { p.sleeps = &n; return p }

func spunLate(n uint64) procSample { p := woken(n); p.state = 'R'; return p }

func late(p procSample, wait time.Duration) procSample { p.wait = wait; return p }

func TestJudgeOfOneProcess(t *testing.T) {
	const s = time.Second
	spinner := LoadProcess{Kind: LoadSpinners, CPUs: "0"}
	hog := LoadProcess{Kind: LoadMemory, CPUs: "0"}
	timer := LoadProcess{Kind: LoadInterrupts, CPUs: "0", Rate: 1000}
	command := LoadProcess{Kind: LoadCommand, CPUs: "0", Argv: []string{"x"}}
	free := LoadProcess{Kind: LoadSpinners}
	for _, tt := range []struct {
		name     string
		process  LoadProcess
		after    procSample
		window   time.Duration
		outrank  bool
		starting bool
		want     string // the beginning of the fault
	}{
		{"alone", spinner, spun('R', s, 0, "0"), s, false, false, ""},
		{"half of its CPU", spinner, spun('R', s/2, s/2, "0"), s, false, false, ""},
		{"hardly any of a crowded CPU", spinner, spun('R', s/100, 98*s/100, "0"), s, false, false, ""},
		{"a last turn of waiting is not counted yet", spinner, spun('R', 50*time.Millisecond, 0, "0"), 100 * time.Millisecond, false, false, ""},
		{"asleep for half of the run", spinner, spun('R', s/2, 0, "0"), s, false, false, "a spinner slept: in 1s it was on a CPU or waiting for one for 500ms"},
		{"a long turn of waiting", spinner, slumbered(spun('R', s/10, 0, "0"), 0), s, false, false, ""},
		{"asleep in between", spinner, slumbered(spun('R', s/2, 0, "0"), 1), s, false, false, "a spinner slept"},
		{"asleep for a moment", spinner, slumbered(spun('R', 9*s/10, 0, "0"), 1), s, false, false, ""},
		{"its loop is gone", spinner, spun('S', -s/2, 0, "0"), s, false, false, "a spinner has ended"},
		{"asleep at the end", spinner, spun('S', s, 0, "0"), s, false, false, "a spinner was asleep"},
		{"a hog that waits for a disk", hog, spun('D', s, 0, "0"), s, false, false, "a memory hog was asleep"},
		{"stopped", spinner, spun('T', s, 0, "0"), s, false, false, "a spinner was stopped"},
		{"traced", command, spun('t', s, 0, "0"), s, false, false, `a command "x" was stopped`},
		{"ended", spinner, procSample{told: true}, s, false, false, "a spinner has ended"},
		{"strayed by its mask", spinner, spun('R', s, 0, "0-1"), s, false, false, "a spinner strayed: it was to run on CPU 0, and was on CPUs 0-1"},
		{"strayed whole", spinner, spun('R', s, 0, "3"), s, false, false, "a spinner strayed: it was to run on CPU 0, and was on CPU 3"},
		{"strayed for a moment", spinner, func() procSample { p := spun('R', s, 0, "0"); p.on = spun('R', 0, 0, "1").on; return p }(), s, false, false,
			"a spinner strayed: it was to run on CPU 0, and was on CPU 1"},
		{"free to move", free, spun('R', s, 0, "5"), s, false, false, ""},
		{"a preferred task", spinner, spun('R', s/100, 0, "0"), s, true, false, ""},
		{"a preferred task, and asleep", spinner, spun('S', s/100, 0, "0"), s, true, false, "a spinner was asleep"},

		// Where the scheduler does not say how long a task waits.
		{"ticks", spinner, ticked(spun('R', s/2, 0, "0")), s, false, false, ""},
		{"ticks, a quarter", spinner, ticked(spun('R', s/4, 0, "0")), s, false, false, ""},
		{"ticks, less", spinner, ticked(spun('R', s/5, 0, "0")), s, false, false, "a spinner got 0.200 of a CPU, less than a quarter of the 1.000 that are its share"},
		{"ticks, a run too short to tell", spinner, ticked(spun('R', 0, 0, "0")), 99 * time.Millisecond, false, false, ""},

		// Before the run it is what it got that counts.
		{"up", spinner, spun('R', s/4, 3*s/4, "0"), s, false, true, ""},
		{"not up yet", spinner, spun('R', s/5, 4*s/5, "0"), s, false, true, "a spinner got 0.200 of a CPU"},
		{"not up beside nobody", spinner, spun('R', s/5, 4*s/5, "0"), s, true, true, "a spinner got 0.200 of a CPU"},
		{"never started", spinner, procSample{told: true}, s, false, true, "a spinner has ended"},
		{"a system that tells nothing", free, procSample{}, s, false, true, ""},

		{"all turns", timer, woken(1000), s, false, false, ""},
		{"half of the turns", timer, woken(485), s, false, false, ""},
		{"fewer", timer, woken(484), s, false, false, "a timer woke 484 times in 970ms of sleep instead of 970"},
		{"half of the turns on a busy CPU", timer, late(woken(250), s/2), s, false, false, ""},
		{"fewer on a busy CPU", timer, late(woken(200), s/2), s, false, false, "a timer woke 200 times in 470ms of sleep instead of 470"},
		{"no turns yet due", timer, woken(0), 9 * time.Millisecond, false, false, ""},
		{"late right now", timer, spunLate(1), s, false, false, ""},
		{"kept from its turns by a preferred task", timer, woken(1), s, true, false, ""},

		{"a command at work", command, spun('S', time.Millisecond, 0, "0"), s, false, false, ""},
		{"a command that did nothing", command, spun('S', 0, 0, "0"), s, false, false, `the command "x" got no CPU time in 1s`},
		{"a command that waits for a CPU", command, spun('R', 0, 0, "0"), s, false, false, ""},
		{"a short run of a command", command, spun('S', 0, 0, "0"), s - 1, false, false, ""},
	} {
		before := spun('R', 0, 0, "0")
		if tt.after.wakeups != nil {
			before = woken(0)
		}
		if tt.after.sleeps != nil {
			before.sleeps = new(uint64)
		}
		before.precise, before.told = tt.after.precise || !tt.after.there, tt.after.told
		at := time.Unix(1700000000, 0)
		before.to, tt.after.from, tt.after.to = at, at.Add(tt.window), at.Add(tt.window)
		j := judge{outranked: tt.outrank}
		states := j.states(&LoadSpec{}, []LoadProcess{tt.process}, &loadSample{at, []procSample{before}}, &loadSample{at.Add(tt.window), []procSample{tt.after}}, tt.starting)
		if len(states) != 1 || !strings.HasPrefix(states[0].Fault, tt.want) || tt.want == "" && states[0].Fault != "" {
			t.Errorf("%s: %+v, want fault %q", tt.name, states, tt.want)
		}
	}
}

// The states sum up the processes of each kind, and one bad process is enough.
func TestJudgeSumsUp(t *testing.T) {
	const s = time.Second
	placed := []LoadProcess{{Kind: LoadSpinners, CPUs: "0-1"}, {Kind: LoadSpinners, CPUs: "0-1"}, {Kind: LoadSpinners, CPUs: "0-1"}, {Kind: LoadInterrupts, CPUs: "0", Rate: 10}, {Kind: LoadInterrupts, CPUs: "1", Rate: 10}}
	at := time.Unix(1700000000, 0)
	sample := func(at time.Time, procs ...procSample) *loadSample { return &loadSample{at, procs} }
	before := sample(at, spun('R', s, s, "0-1"), spun('R', s, 0, "0-1"), spun('R', 0, 0, "0-1"), woken(5), woken(7))
	second := woken(27)
	second.allowed, second.on = spun('S', 0, 0, "1").on, spun('S', 0, 0, "1").on
	after := sample(at.Add(2*s), spun('R', 2*s, 2*s, "0-1"), spun('R', 5*s/2, s/2, "0-1"), spun('R', s/2, 3*s/2, "0-1"), woken(26), second)
	for i := range placed {
		before.procs[i].to, after.procs[i].from, after.procs[i].to = before.at, after.at, after.at
	}
	j := judge{}
	states := j.states(&LoadSpec{Spinners: "3", Interrupts: 10}, placed, before, after, false)
	if len(states) != 2 {
		t.Fatalf("%+v", states)
	}
	a, b := states[0], states[1]
	if a.Kind != LoadSpinners || a.Asked != "3" || a.Processes != 3 || a.CPUs != "0-1" || a.RanOn != "0-1" || a.Window != 2*s || a.Time != 3*s || a.Least != 0.25 || a.Fault != "" || a.Wakeups != nil {
		t.Errorf("spinners %+v", a)
	}
	if b.Kind != LoadInterrupts || b.Asked != "10" || b.Processes != 2 || b.CPUs != "0-1" || b.Wakeups == nil || *b.Wakeups != 41 || b.Fault != "" {
		t.Errorf("timers %+v", b)
	}
	after.procs[1].state = 'T'
	if states := j.states(&LoadSpec{}, placed, before, after, false); states[0].Fault != "a spinner was stopped" || states[1].Fault != "" {
		t.Errorf("%+v", states)
	}
	// More spinners than CPUs share them.
	if f := j.fair(placed); f != 2.0/3 {
		t.Errorf("fair share %v, want 2/3", f)
	}
	if f := j.fair(placed[3:]); f != 1 {
		t.Errorf("fair share without spinners %v", f)
	}
}

// A task that the scheduler prefers leaves the load little; that is said.
func TestJudgeNotesAPreferredTask(t *testing.T) {
	at := time.Unix(1700000000, 0)
	before, after := spun('R', 0, 0, "0"), spun('R', time.Millisecond, 0, "0")
	before.to, after.from, after.to = at, at.Add(time.Second), at.Add(time.Second)
	j := judge{outranked: true}
	states := j.states(&LoadSpec{}, []LoadProcess{{Kind: LoadSpinners, CPUs: "0"}}, &loadSample{at, []procSample{before}}, &loadSample{at.Add(time.Second), []procSample{after}}, false)
	if states[0].Fault != "" || !strings.Contains(states[0].Note, "prefers the task") {
		t.Errorf("%+v", states[0])
	}
}

// Where nothing is told while processes run, their whole life is judged.
func TestWholeLife(t *testing.T) {
	placed := []LoadProcess{{Kind: LoadSpinners}, {Kind: LoadCommand, Argv: []string{"x"}}}
	first := &loadSample{at: time.Unix(1700000000, 0), procs: make([]procSample, 2)}
	if first.known() {
		t.Fatal("an empty sample tells something")
	}
	for _, tt := range []struct {
		used []time.Duration
		want string
	}{
		{[]time.Duration{time.Second, time.Second}, ""},
		{[]time.Duration{0, time.Second}, "a spinner got 0.000 of a CPU"},
		{[]time.Duration{2 * time.Second, 0}, `the command "x" got no CPU time`},
	} {
		before, after := wholeLife(first, 2*time.Second, tt.used)
		j := judge{}
		states := j.states(&LoadSpec{}, placed, before, after, false)
		fault := states[0].Fault + states[1].Fault
		if !strings.HasPrefix(fault, tt.want) || tt.want == "" && fault != "" || states[0].Window != 2*time.Second || states[0].Time != tt.used[0] {
			t.Errorf("%v: %+v", tt.used, states)
		}
	}
}

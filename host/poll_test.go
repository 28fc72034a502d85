package host

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goset/cpulist"
)

// change rewrites files below a root; an empty text removes one.
func change(t *testing.T, f FS, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(string(f), name)
		err := os.RemoveAll(path)
		if err == nil && text != "" {
			if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
				err = os.WriteFile(path, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// rewrite puts a new text into a file that is held open.
func rewrite(t *testing.T, f FS, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(f), name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const audited61 = "6.1.0-57-cloud-amd64\n"

func pollerFor(t *testing.T, f FS, task, siblings string) *Poller {
	t.Helper()
	parse := func(text string) cpulist.Set {
		set, err := cpulist.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	all := []string{}
	for _, s := range Sources() {
		all = append(all, s.Name)
	}
	p, err := f.NewPoller(PollOptions{Task: parse(task), Siblings: parse(siblings), Interval: time.Nanosecond, Proven: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// pollNow polls without regard to the pace.
func pollNow(p *Poller, pid int) {
	p.machine.due, p.task.due = time.Time{}, time.Time{}
	p.Poll(pid)
}

func TestPollerAddsUp(t *testing.T) {
	const cpu1 = "sys/devices/system/cpu/cpu1/"
	f := writeTree(t, map[string]string{
		"proc/sys/kernel/osrelease":                   audited61,
		"proc/interrupts":                             "CPU0 CPU1 CPU3\n 7: 0 4294967290 1 IO-APIC 7-edge eth0\n 9: 5 5 5 IO-APIC 9-edge gone\nLOC: 100 200 300 Local timer interrupts\nERR: 4\n",
		"proc/irq/7/smp_affinity_list":                "0\n",
		"proc/irq/7/effective_affinity_list":          "0\n",
		"proc/irq/9/smp_affinity_list":                "0-3\n",
		"proc/stat":                                   "cpu1 10 0 0 100 0 0 0 3 0 0\ncpu3 0 0 0 50 0 0 0 0 0 0\n",
		"proc/schedstat":                              "version 15\ncpu1 0 0 0 0 0 0 10 1000000 3\n",
		"proc/pressure/cpu":                           "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n",
		cpu1 + "thermal_throttle/core_throttle_count": "7\n",
		cpu1 + "cpufreq/scaling_cur_freq":             "2000000\n",
		"sys/class/hwmon/hwmon0/name":                 "k10temp\n",
		"sys/class/hwmon/hwmon0/temp1_input":          "40000\n",
	})
	p := pollerFor(t, f, "1", "3")
	p.Begin()
	writeThread(t, f, 50, 50, 1_000_000, 2, "51 60")
	writeThread(t, f, 50, 52, 500_000, 0, "")
	writeThread(t, f, 60, 60, 300_000, 1, "")
	// IRQ 7 wraps and comes to CPU 1, CPU 3 goes offline, a row goes, a row appears.
	rewrite(t, f, "proc/interrupts", "CPU0 CPU1\n 7: 0 4 IO-APIC 7-edge eth0\nLOC: 110 250 Local timer interrupts\nSPU: 0 2 Spurious interrupts\nERR: 9\n")
	rewrite(t, f, "proc/stat", "cpu1 11 0 0 101 0 0 0 4 0 0\n")
	pollNow(p, 50)
	// A thread ends, its number comes back for another one, a process vanishes.
	change(t, f, map[string]string{"proc/60": "", "proc/50/task/52": ""})
	writeThread(t, f, 50, 52, 100_000, 5, "")
	rewrite(t, f, "proc/interrupts", "CPU0 CPU1 CPU3\n 7: 0 5 9 IO-APIC 7-edge eth0\nLOC: 110 260 900 Local timer interrupts\nSPU: 0 2 0 Spurious interrupts\nERR: 9\n")
	rewrite(t, f, cpu1+"cpufreq/scaling_cur_freq", "3000000\n")
	change(t, f, map[string]string{cpu1 + "thermal_throttle/core_throttle_count": "9\n", "sys/class/hwmon/hwmon0/temp1_input": "60000\n",
		"proc/irq/7/effective_affinity_list": "1\n"})
	rewrite(t, f, "proc/schedstat", "version 15\ncpu1 0 0 0 0 0 0 10 3000000 3\n")
	pollNow(p, 50)
	rewrite(t, f, "proc/interrupts", "CPU0 CPU1 CPU3\n 7: 0 5 10 IO-APIC 7-edge eth0\nLOC: 110 260 901 Local timer interrupts\nSPU: 0 2 0 Spurious interrupts\nERR: 9\n")
	change(t, f, map[string]string{"proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=3500\n"})
	got := p.End(50)

	c1, c3 := got.CPUs[0], got.CPUs[1]
	if *c1.Steerable != 11 || *c1.Fixed != 62 || *c3.Steerable != 1 || *c3.Fixed != 1 || c1.Sibling || !c3.Sibling {
		t.Errorf("interrupts %d %d %d %d", *c1.Steerable, *c1.Fixed, *c3.Steerable, *c3.Fixed)
	}
	want := []RowTelemetry{
		{Row: "LOC", Device: "Local timer interrupts", Steering: PerCPU, Task: 60, Siblings: 1},
		{Row: "7", Device: "eth0", Steering: Steerable, Task: 11, Siblings: 1},
		{Row: "SPU", Device: "Spurious interrupts", Steering: PerCPU, Task: 2},
	}
	if !slices.Equal(got.Rows, want) {
		t.Errorf("rows %+v", got.Rows)
	}
	if *c1.Throttled != 2 || c3.Throttled != nil || *c1.Waited != 0.002 || c3.Waited != nil || *c1.Steal != 0.01 {
		t.Errorf("CPU 1: %+v", c1)
	}
	if fr := c1.Frequency; fr == nil || fr.Min != 2e9 || fr.Max != 3e9 || fr.Mean != 2.5e9 || c3.Frequency != nil {
		t.Errorf("frequency %+v, %+v", c1.Frequency, c3.Frequency)
	}
	if got.Temp.Min != 40 || got.Temp.Max != 60 || *got.Pressure != 0.0025 || got.Polls != 2 {
		t.Errorf("temperature %+v, pressure %v, %d polls", got.Temp, *got.Pressure, got.Polls)
	}
	if len(got.Drift) != 1 || got.Drift[0].IRQ != 7 || got.Drift[0].Count != 11 || got.Drift[0].From.String() != "0" || got.Drift[0].To.String() != "1" {
		t.Errorf("drift %+v", got.Drift)
	}
	task := got.Task
	if *task.Threads != 3 || *task.Processes != 2 || *task.Migrations != 8 || math.Abs(*task.Delay-0.0019) > 1e-12 || *task.Voluntary != 9 {
		t.Errorf("task: %d threads, %d processes, %d migrations, %g s, %d switches", *task.Threads, *task.Processes, *task.Migrations, *task.Delay, *task.Voluntary)
	}
	if len(got.Failed) > 0 {
		t.Errorf("failed: %v", got.Failed)
	}
}

func writeThread(t *testing.T, f FS, pid, tid int, waited, migrations int, children string) {
	t.Helper()
	dir := fmt.Sprintf("proc/%d/task/%d/", pid, tid)
	change(t, f, map[string]string{
		dir + "schedstat": fmt.Sprintf("100 %d %d\n", waited, waited),
		dir + "sched":     fmt.Sprintf("x (%d, #threads: 1)\n----\nse.nr_migrations    :   %d\nnr_switches : 9\nnr_voluntary_switches  :   3\nnr_involuntary_switches:  1\n", tid, migrations),
		dir + "children":  children + " ",
	})
}

// TestAbsentIsNotZero: a machine that says nothing gives nothing.
func TestAbsentIsNotZero(t *testing.T) {
	p := pollerFor(t, writeTree(t, map[string]string{"proc/sys/kernel/osrelease": audited61}), "0", "")
	p.Begin()
	pollNow(p, 1)
	got, err := json.Marshal(p.End(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"steerable", "fixed", "busy_seconds", "steal_seconds", "waited_seconds", "throttle_events", "frequency_hz",
		"threads", "run_queue_delay_seconds", "migrations", "cpu_pressure_seconds", "temperature_celsius", "drift"} {
		if !strings.Contains(string(got), fmt.Sprintf("%q:null", name)) {
			t.Errorf("%s is not null: %s", name, got)
		}
	}
}

func TestPaceBoundsTheCost(t *testing.T) {
	start := time.Now()
	p := pace{}
	p.spent(start, 50*time.Microsecond, 100*time.Millisecond)
	if p.stretched || !p.ready(start.Add(95*time.Millisecond)) || p.ready(start.Add(50*time.Millisecond)) {
		t.Error("a cheap reading is not made at every interval")
	}
	for range 2 {
		p.spent(start, 10*time.Millisecond, 100*time.Millisecond)
	}
	if !p.stretched || p.ready(start.Add(9*time.Second)) || !p.ready(start.Add(10*time.Second)) {
		t.Error("a dear reading is not made more rarely")
	}
}

func TestSilent(t *testing.T) {
	for _, c := range []struct {
		release, off string
		proven       []string
	}{
		{"6.1.0-57-cloud-amd64", "", nil},
		{"7.3.4", "", nil},
		{"5.10.0", "interrupts", nil},
		{"5.10.0", "frequency", []string{"interrupts"}},
		{"8.0.1", "task sched", nil},
		{"nonsense", "stat", nil},
	} {
		f := writeTree(t, map[string]string{"proc/sys/kernel/osrelease": c.release + "\n"})
		on, off := f.Silent(c.proven)
		if c.off == "" && len(off) > 0 && Kernel.String(Kernel{}) != "" && off[0].Reason != "not audited on arm64" {
			t.Errorf("%s: off %v", c.release, off)
		}
		if c.off != "" && (on[c.off] || !slices.ContainsFunc(off, func(o Off) bool { return o.Source == c.off && o.Reason != "" })) {
			t.Errorf("%s: %s is on", c.release, c.off)
		}
		for _, name := range c.proven {
			if !on[name] {
				t.Errorf("%s: %s is off though proven", c.release, name)
			}
		}
	}
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]string{"6.12.95+deb12": "6.12", "5.10-rc3": "5.10", "7.3": "7.3", "": "", "6": "", "a.b": "", "6.x": ""} {
		k, err := parseRelease(text)
		if got := fmt.Sprintf("%d.%d", k.Major, k.Minor); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParseSched(f *testing.F) {
	f.Add("a (1, #threads: 1)\nse.nr_migrations : 4\nnr_voluntary_switches:x\n")
	f.Fuzz(func(t *testing.T, text string) {
		w := newTaskWatch("/nowhere")
		thread := threadWatch{}
		w.parseSched([]byte(text), &thread)
		if !w.sched && thread != (threadWatch{}) {
			t.Error("counted without a counter")
		}
		if n, err := parsePressure([]byte(text)); err != nil && n != 0 {
			t.Error("a number beside an error")
		}
	})
}

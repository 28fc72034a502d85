package harness

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"goset/cpulist"
)

func cpus(t testing.TB, list string) cpulist.Set {
	t.Helper()
	set, err := parseCPUs(list)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// placedText is "spinners@0-1 spinners@0-1".
func placedText(ps []LoadProcess) string {
	var parts []string
	for _, p := range ps {
		parts = append(parts, p.Kind+"@"+p.CPUs)
	}
	return strings.Join(parts, " ")
}

func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		name          string
		spec          LoadSpec
		allowed, task string
		want, fault   string
	}{
		{"none", LoadSpec{}, "0-1", "0-1", "", ""},
		{"one", LoadSpec{Spinners: "1"}, "0-3", "", "spinners@0-3", ""},
		{"two beside a task", LoadSpec{Spinners: "2"}, "0-3", "1", "spinners@0,2-3 spinners@0,2-3", ""},
		{"all", LoadSpec{Spinners: "all"}, "0-1", "", "spinners@0-1 spinners@0-1", ""},
		{"all beside a task", LoadSpec{Spinners: "all"}, "0-2", "2", "spinners@0-1 spinners@0-1", ""},
		{"all on a task", LoadSpec{Memory: "all", Everywhere: true}, "0-1", "1", "memory@0-1 memory@0-1", ""},
		{"a list", LoadSpec{Spinners: "1-3"}, "0-3", "", "spinners@1 spinners@2 spinners@3", ""},
		{"a list with the task's", LoadSpec{Spinners: "1-3"}, "0-3", "2", "spinners@1 spinners@3", ""},
		{"a list of the task's", LoadSpec{Spinners: "2-2"}, "0-3", "2", "", `spinners = "2-2": all of them are the task's (everywhere = true lets the load share them)`},
		{"a list of the task's, everywhere", LoadSpec{Spinners: "2-2", Everywhere: true}, "0-3", "2", "spinners@2", ""},
		{"not here", LoadSpec{Memory: "2-5"}, "0-3", "", "", `memory = "2-5": CPUs 4-5 cannot be used here (choose among 0-3)`},
		{"nothing left", LoadSpec{Spinners: "1"}, "0-1", "0-1", "", "no CPU is left beside those of the task, 0-1 (everywhere = true lets the load share them)"},
		{"timers", LoadSpec{Interrupts: 50}, "0-2", "1", "interrupts@0 interrupts@2", ""},
		{"a command", LoadSpec{Command: []string{"x"}}, "0-2", "1", "command@0,2", ""},
		{"several", LoadSpec{Spinners: "1", Memory: "1", Interrupts: 1, Command: []string{"x"}}, "0", "", "spinners@0 memory@0 interrupts@0 command@0", ""},
		{"no affinity", LoadSpec{Spinners: "2", Command: []string{"x"}}, "", "", "spinners@ spinners@ command@", ""},
		{"no affinity and a list", LoadSpec{Spinners: "0-1"}, "", "", "", `spinners = "0-1": ` + runtime.GOOS + " has no CPU affinity for processes: unsupported operation"},
	} {
		ps, err := tt.spec.Place(cpus(t, tt.allowed), cpus(t, tt.task))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.fault || err == nil && placedText(ps) != tt.want {
			t.Errorf("%s: %q, %q, want %q, %q", tt.name, placedText(ps), got, tt.want, tt.fault)
		}
	}
}

// Where the CPUs are not known there is one for each that the machine has.
func TestPlaceAllWithoutAffinity(t *testing.T) {
	for _, spec := range []LoadSpec{{Spinners: "all"}, {Interrupts: 5}} {
		ps, err := spec.Place(cpulist.Set{}, cpulist.Set{})
		if err != nil || len(ps) != runtime.NumCPU() {
			t.Errorf("%+v: %d processes, %v, want %d", spec, len(ps), err, runtime.NumCPU())
		}
	}
}

func FuzzPlace(f *testing.F) {
	for _, seed := range []string{"all", "16", "2-5", "2-5:1/2", "99999999999", "-1", "0-99999999"} {
		f.Add(seed, "1")
	}
	f.Fuzz(func(t *testing.T, asked, task string) {
		taken, err := cpulist.Parse(task)
		if err != nil {
			return
		}
		allowed := cpus(t, "0-7")
		spec := LoadSpec{Spinners: asked}
		ps, err := spec.Place(allowed, taken)
		if err != nil {
			return
		}
		if len(ps) > maxLoad {
			t.Fatalf("%d processes", len(ps))
		}
		for _, p := range ps {
			if set := cpus(t, p.CPUs); set.Empty() || !set.SubsetOf(allowed) || set.Intersects(taken) {
				t.Fatalf("%q beside %q: %+v", asked, task, p)
			}
		}
	})
}

func TestLoadWords(t *testing.T) {
	for _, tt := range []struct {
		spec          LoadSpec
		allowed, want string
	}{
		{LoadSpec{}, "0-1", "no load"},
		{LoadSpec{Spinners: "1"}, "0", "1 spinner on CPU 0, never on the CPUs of the task"},
		{LoadSpec{Spinners: "all", Everywhere: true}, "0-1", "2 spinners on CPUs 0-1, the CPUs of the task included"},
		{LoadSpec{Memory: "0-1"}, "0-3", "2 memory hogs of 64 MiB, one each on CPUs 0-1, never on the CPUs of the task"},
		{LoadSpec{Interrupts: 100, Command: []string{"a", "b c"}}, "0-1", `2 timers of 100 wake-ups a second, one each on CPUs 0-1; ["a" "b c"] on CPUs 0-1, never on the CPUs of the task`},
		{LoadSpec{Spinners: "3"}, "", "3 spinners, wherever the system puts them"},
		{LoadSpec{Spinners: "7-8"}, "0-1", `cannot be started here: spinners = "7-8": CPUs 7-8 cannot be used here (choose among 0-1)`},
	} {
		if got := tt.spec.Words(cpus(t, tt.allowed)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.spec, got, tt.want)
		}
	}
}

func TestLoadFits(t *testing.T) {
	for _, tt := range []struct {
		cpus, spinners string
		n              int
		everywhere     bool
		want           string
	}{
		{"", "all", 0, false, ""},
		{"0", "1-1", 0, false, ""},
		{"1", "1-1", 0, false, `condition "c" beside mode "m": spinners = "1-1": all of them are the task's (everywhere = true lets the load share them)`},
		{"quietest", "all", 1, false, ""},
		{"rotate", "all", 2, false, `condition "c" beside mode "m": the task takes all 2 CPUs (everywhere = true lets the load share them)`},
		{"rotate", "all", 2, true, ""},
		{"0-1", "all", 2, false, `condition "c" beside mode "m": no CPU is left beside those of the task, 0-1 (everywhere = true lets the load share them)`},
		{"0-1", "", 2, false, ""},
	} {
		tr := Treatment{Mode: "m", Condition: "c", Load: LoadSpec{Spinners: tt.spinners, Everywhere: tt.everywhere}}
		tr.Layers.CPUs, tr.Layers.N = tt.cpus, tt.n
		got := ""
		if err := tr.LoadFits(cpus(t, "0-1")); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt, got, tt.want)
		}
	}
}

const threeConditions = `[workload.w]
command = ["x", "{n}"]
[mode.a]
[mode.b]
cpus = "rotate"
n = [1, 2]
memory = "512MiB"
[condition.idle]
[condition.loaded]
spinners = [1, "all", "2-5"]
memory = 2
command = ["y", "{spinners}", "{mode}"]
`

// Conditions are crossed with the modes, and their lists are factors.
func TestConditionIsAFactor(t *testing.T) {
	e, err := Load("x.toml", []byte("plan.skip = [{ condition = \"idle\", mode = \"b\" }, { spinners = \"2-5\", n = 2 }]\n"+threeConditions), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ts, err := e.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tr := range ts {
		got = append(got, fmt.Sprintf("%s|%s %s %v", tr.Label(), tr.Condition, tr.Load.Spinners, tr.Load.Command))
	}
	want := []string{
		"w a|idle  []",
		"w a loaded spinners=1|loaded 1 [y 1 a]",
		"w a loaded spinners=all|loaded all [y all a]",
		"w a loaded spinners=2-5|loaded 2-5 [y 2-5 a]",
		"w b loaded n=1 spinners=1|loaded 1 [y 1 b]",
		"w b loaded n=1 spinners=all|loaded all [y all b]",
		"w b loaded n=1 spinners=2-5|loaded 2-5 [y 2-5 b]",
		"w b loaded n=2 spinners=1|loaded 1 [y 1 b]",
		"w b loaded n=2 spinners=all|loaded all [y all b]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Keys of one name in two tables are each its own.
	if last := ts[len(ts)-1]; last.Layers.Memory != "512MiB" || last.Load.Memory != "2" {
		t.Errorf("memory of the mode %q and of the condition %q", last.Layers.Memory, last.Load.Memory)
	}
	p, err := e.Expand(1)
	if err != nil {
		t.Fatal(err)
	}
	var csv, text strings.Builder
	if err := p.WriteCSV(&csv); err != nil || !strings.HasPrefix(csv.String(), "run,block,position,workload,mode,condition,") {
		t.Errorf("%.60s, %v", csv.String(), err)
	}
	if err := p.WriteText(&text); err != nil || !strings.Contains(text.String(), "workload  mode  condition  levels") {
		t.Errorf("%.200s, %v", text.String(), err)
	}
}

package harness

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func loadGo(t *testing.T, text string) (*Experiment, []Treatment) {
	t.Helper()
	e, err := Load("x.toml", []byte(text), LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ts, err := e.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	return e, ts
}

// Every key may be a list, which makes it a factor; what is left out has its
// default.
func TestGoFactors(t *testing.T) {
	_, ts := loadGo(t, `[workload.w]
go = { package = ["./a", "./b"], bench = ["X", "Y"], benchtime = ["1s", "10x"], cpu = [1, 2], benchmem = [true, false], tags = ["", "x,y"],
  gcflags = ["", "-N -l"], ldflags = ["", "-s"], dir = ["", "m"], ref = ["main", "."], toolchain = ["go1.26.0", "local"], randlayout = [false, true], procs = [4, "same"] }
[mode.m]
`)
	if len(ts) != 1<<13 || len(ts[0].Levels) != 13 {
		t.Fatalf("%d treatments with %d levels", len(ts), len(ts[0].Levels))
	}
	first, last := ts[0].Spec.Go, ts[len(ts)-1].Spec.Go
	if want := (GoSpec{Package: "./a", Bench: "X", Benchtime: "1s", CPU: 1, Benchmem: true, Ref: "main", Toolchain: "go1.26.0", Procs: "4"}); *first != want {
		t.Errorf("got %+v, want %+v", *first, want)
	}
	if want := (GoSpec{Package: "./b", Bench: "Y", Benchtime: "10x", CPU: 2, Tags: "x,y", GCFlags: "-N -l", LDFlags: "-s", Dir: "m", Ref: ".", Toolchain: "local", RandLayout: true, Procs: "same"}); *last != want {
		t.Errorf("got %+v, want %+v", *last, want)
	}
	_, ts = loadGo(t, "[workload.w]\ngo = { procs = \"{n}\" }\n[mode.m]\ncpus = \"rotate\"\nn = [1, 2]\n")
	if want := (GoSpec{Package: ".", Bench: ".", Benchmem: true, Ref: ".", Procs: "2"}); len(ts) != 2 || *ts[1].Spec.Go != want {
		t.Errorf("got %+v, want %+v", *ts[1].Spec.Go, want)
	}
}

func TestGoFaults(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{`package = ""`, "x.toml:2:18: workload.w.go.package: must be a package or a pattern"},
		{`package = "-x"`, "must be a package"},
		{`bench = "a("`, "go.bench: must be a regular expression"},
		{`bench = "A/("`, "go.bench"},
		{`benchtime = "soon"`, "go.benchtime: must be a duration"},
		{`benchtime = "0x"`, "go.benchtime"},
		{`cpu = 0`, "go.cpu: must be a whole number"},
		{`cpu = [1, 1]`, "a level may stand in a list once"},
		{`benchmem = 1`, "go.benchmem: must be true or false"},
		{`tags = "a b"`, "go.tags"},
		{`ref = "--all"`, "go.ref: must be a commit"},
		{`toolchain = "go 1"`, "go.toolchain"},
		{`procs = "some"`, "go.procs: must be a whole number"},
		{`procs = "{x}"`, "go.procs: names no key"},
		{`reff = "main"`, `did you mean "ref"?`},
		{`ref = []`, "must not be empty"},
	} {
		_, err := Load("x.toml", []byte("[workload.w]\ngo = { "+c.keys+" }\n[mode.m]\n"), LoadOptions{})
		var faults Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %q", c.keys, err, c.want)
		}
	}
	for _, key := range []string{"format = \"gobench\"", "dir = \"x\"", "extract = true", "metric.a.json = \"$.a\"", "env = { GOMAXPROCS = \"3\" }"} {
		_, err := Load("x.toml", []byte("[workload.w]\ngo = {}\n"+key+"\n[mode.m]\n"), LoadOptions{})
		if err == nil {
			t.Errorf("%s beside go: no fault", key)
		}
	}
}

func TestGoText(t *testing.T) {
	text, err := GoText(GoOptions{Packages: []string{"./..."}, Refs: []string{"main", "."}, Toolchains: []string{"local"}, Bench: `X"\d`, Benchtime: "10x", CPU: []int{1, 4},
		NoBenchmem: true, Tags: "a,b", GCFlags: "-N", LDFlags: "-s", Dir: "m", RandLayout: true, Procs: "3", Modes: []string{"unpinned", "taskset"}, N: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, ts := loadGo(t, string(text))
	want := GoSpec{Package: "./...", Bench: `X"\d`, Benchtime: "10x", CPU: 4, Tags: "a,b", GCFlags: "-N", LDFlags: "-s", Dir: "m", Ref: ".", Toolchain: "local", RandLayout: true, Procs: "3"}
	if len(ts) != 8 || len(e.Modes) != 2 || *ts[7].Spec.Go != want {
		t.Errorf("%d treatments, last %+v, want %+v", len(ts), *ts[7].Spec.Go, want)
	}
	if text, err = GoText(GoOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, ts = loadGo(t, string(text)); len(ts) != 1 || ts[0].Spec.Go.Package != "." {
		t.Errorf("no options: %+v", ts)
	}
	if _, err = GoText(GoOptions{Modes: []string{"sunny"}}); err == nil {
		t.Error("an unknown mode is no fault")
	}
}

// Patterns become the packages that there are, and a package that a ref lacks
// is skipped there.
func TestPackageSettings(t *testing.T) {
	e, _ := loadGo(t, "plan.skip = [{ mode = \"m\", ref = \"c\" }]\n[workload.\"w.x\"]\ngo = { package = [\"./...\", \"./p\"], ref = [\"a\", \"b\", \"c\"] }\n[mode.m]\n[workload.plain]\ngo = { package = \"./q\" }\n")
	settings, err := PackageSettings(e, func(task GoTask, bench string) ([]string, error) {
		if bench != "." || task.Package != "./..." {
			t.Errorf("asked for %+v, %q", task, bench)
		}
		return map[string][]string{"a": {"./p"}, "b": {"./p", "./new"}, "c": {"./p"}}[task.Ref], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e2, err := Load("x.toml", e.Text, LoadOptions{Overrides: settings})
	if err != nil {
		t.Fatal(err)
	}
	ts, err := e2.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tr := range ts {
		got = append(got, tr.Label())
	}
	want := []string{"w.x m package=./p ref=a", "w.x m package=./p ref=b", "w.x m package=./new ref=b", "plain m"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if _, err := PackageSettings(e, func(GoTask, string) ([]string, error) { return nil, nil }); err != nil {
		t.Errorf("./p is named: %v", err)
	}
	e, _ = loadGo(t, "[workload.w]\ngo = { package = \"./...\", bench = \"None\" }\n[mode.m]\n")
	if _, err := PackageSettings(e, func(GoTask, string) ([]string, error) { return nil, nil }); err == nil || !strings.Contains(err.Error(), `"None"`) {
		t.Errorf("no package: %v", err)
	}
}

// What a "-4" at the end of a name means is known from -test.cpu.
func TestGoReader(t *testing.T) {
	const text = "pkg: e.org/p\nBenchmarkX/size=10-8 \t 1000\t 1.5 ns/op\nBenchmarkX/workers-4-4 \t 2000\t 2.5 ns/op\t 3 hits/op\t NaN ratio\nBenchmarkOnly-4 1 7 widgets\n"
	for _, c := range []struct {
		procs int
		want  map[string]float64
	}{
		{1, map[string]float64{"e.org/p.X/size=10-8 ns/op": 1.5e-9, "e.org/p.X/size=10-8 b.N": 1000, "e.org/p.X/workers-4-4 ns/op": 2.5e-9, "e.org/p.X/workers-4-4 hits/op": 3, "e.org/p.X/workers-4-4 b.N": 2000, "e.org/p.Only-4 widgets": 7, "e.org/p.Only-4 b.N": 1}},
		{4, map[string]float64{"e.org/p.X/size=10-8 ns/op": 1.5e-9, "e.org/p.X/size=10-8 b.N": 1000, "e.org/p.X/workers-4 ns/op": 2.5e-9, "e.org/p.X/workers-4 hits/op": 3, "e.org/p.X/workers-4 b.N": 2000, "e.org/p.Only widgets": 7, "e.org/p.Only b.N": 1}},
	} {
		e := extract(t, Workload{Go: &GoSpec{CPU: c.procs}}, output(text))
		if got := own(e); len(got) != len(c.want) {
			t.Errorf("procs %d: %v", c.procs, got)
		}
		for name, v := range c.want {
			if e.Values[name] != v {
				t.Errorf("procs %d: %q = %v, want %v", c.procs, name, e.Values[name], v)
			}
		}
		if e.Void != "" || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "NaN") {
			t.Errorf("procs %d: void %q, warnings %q", c.procs, e.Void, e.Warnings)
		}
	}
	if e := extract(t, Workload{Go: &GoSpec{CPU: 1}}, output("PASS\n")); e.Void == "" {
		t.Error("no benchmark is no fault")
	}
	if e := extract(t, Workload{Go: &GoSpec{CPU: 1}}, output("BenchmarkX 1 2 ns/op\nBenchmarkX 1 3 ns/op\n")); e.Void == "" {
		t.Error("a benchmark that ended twice is no fault")
	}
	m := find(t, extract(t, Workload{Go: &GoSpec{CPU: 4}}, output(text)), "e.org/p.X/workers-4 ns/op")
	if m.Package != "e.org/p" || m.Benchmark != "X/workers-4" || m.Line != "ns/op" || !m.Shown {
		t.Errorf("metric %+v", m)
	}
}

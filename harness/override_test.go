package harness

import (
	"reflect"
	"strings"
	"testing"
)

func TestOverrideText(t *testing.T) {
	const w = "[workload.w]\nkernel = \"jitter\"\n"
	for _, tt := range []struct{ name, text, key, value, want string }{
		{"replace", "[plan]\nruns = 1 # few\n" + minimal, "plan.runs", "3", "[plan]\nruns = 3 # few\n" + minimal},
		{"replace a bare word", "[plan]\norder = 'sequential'\n" + minimal, "plan.order", "shuffled", "[plan]\norder = \"shuffled\"\n" + minimal},
		{"replace a list", w + "[mode.m]\nn = [1,\n 2]\n", "mode.m.n", "[1,4]", w + "[mode.m]\nn = [1,4]\n"},
		{"add at the end of the table", "[plan]\nruns = 1 # few\n# more\n" + minimal, "plan.idle", "0s", "[plan]\nruns = 1 # few\nidle = \"0s\"\n# more\n" + minimal},
		{"add to an empty table", w + "[mode.m] # none\n", "mode.m.n", "2", w + "[mode.m] # none\nn = 2\n"},
		{"add at the end of the file", w + "[mode.m]", "mode.m.n", "2", w + "[mode.m]\nn = 2"},
		{"keep CRLF", "[plan]\r\nruns = 1\r\n" + minimal, "plan.idle", "1s", "[plan]\r\nruns = 1\nidle = \"1s\"\r\n" + minimal},
		{"add a table", minimal, "plan.runs", "3", minimal + "[plan]\nruns = 3\n"},
		{"add a table after an open line", w + "[mode.m]", "plan.runs", "3", w + "[mode.m]\n[plan]\nruns = 3\n"},
		{"add to the file", minimal, "title", "x y", "title = \"x y\"\n" + minimal},
		{"add beside a root key", "title = \"a\" # b\n" + minimal, "plan.runs", "3", "title = \"a\" # b\n" + minimal + "[plan]\nruns = 3\n"},
		{"add to dots in the file", "plan.runs = 1\n" + minimal, "plan.idle", "1s", "plan.runs = 1\nplan.idle = \"1s\"\n" + minimal},
		{"add to dots in a table", w + "env.A = 1\n[mode.m]\n", "workload.w.env.B", "2", w + "env.A = 1\nenv.B = 2\n[mode.m]\n"},
		{"add to braces", w + "env = { A = 1 } # x\n[mode.m]\n", "workload.w.env.B", "2", w + "env = { A = 1, B = 2 } # x\n[mode.m]\n"},
		{"add to empty braces", w + "env = {}\n[mode.m]\n", "workload.w.env.B", "2", w + "env = {B = 2}\n[mode.m]\n"},
		{"add below a table", w + "[mode.m]\n", "workload.w.env.B", "2", w + "env.B = 2\n[mode.m]\n"},
		{"add to dots within braces", "plan = { runs = 1 }\nworkload = { w.kernel = \"jitter\" }\nmode.m = {}\n", "workload.w.steps", "5", "plan = { runs = 1 }\nworkload = { w.kernel = \"jitter\", w.steps = 5 }\nmode.m = {}\n"},
		{"add to an implied table", w + "[workload.w.env]\nA = 1\n[mode.m]\n", "workload.w.threads", "2", w + "threads = 2\n[workload.w.env]\nA = 1\n[mode.m]\n"},
		{"a comment in the value", "plan = { runs = 1 }\n" + minimal, "plan.runs", "3 # x }", "plan = { runs = 3 }\n" + minimal},
		{"replace braces whole", w + "env = { A = 1 }\n[mode.m]\n", "workload.w.env", "{ B = 2 }", w + "env = { B = 2 }\n[mode.m]\n"},
		{"quoted key", w + "[mode.m]\n", `"mode" . "m".n`, "2", w + "[mode.m]\nn = 2\n"},
	} {
		e, err := Load("x.toml", []byte(tt.text), LoadOptions{Overrides: []Setting{{tt.key, tt.value, ""}}})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if string(e.Text) != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, e.Text, tt.want)
		}
		again, err := Load("x.toml", e.Text, LoadOptions{})
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("%s: the text as run loads as\n%+v, %v, not as\n%+v", tt.name, again, err, e)
		}
	}
}

func TestOverrideImplied(t *testing.T) {
	text := "[workload.w.env]\nA = 1\n[mode.m]\n"
	e := mustLoad(t, text, Setting{"workload.w.kernel", "jitter", ""})
	if want := text + "[workload.w]\nkernel = \"jitter\"\n"; string(e.Text) != want {
		t.Errorf("got %q, want %q", e.Text, want)
	}
}

func TestOverrideOrder(t *testing.T) {
	opt := LoadOptions{
		Defaults:  []Setting{{"plan.runs", "7", ""}, {"plan.idle", "7s", ""}, {"plan.warmup", "7", ""}, {"mode.other.n", "2", ""}},
		Overrides: []Setting{{"plan.runs", "2", ""}, {"plan.runs", "3", ""}},
	}
	e, err := Load("x.toml", []byte("[plan]\nidle = \"1s\"\n"+minimal), opt)
	if err != nil {
		t.Fatal(err)
	}
	if e.Plan.Runs != 3 || e.Plan.Idle.String() != "1s" || e.Plan.Warmup != 7 || len(e.Modes) != 1 {
		t.Errorf("plan %+v, modes %+v", e.Plan, e.Modes)
	}
}

func TestOverrideFaults(t *testing.T) {
	set := func(key, value string) Setting { return Setting{key, value, "-set " + key + "=" + value} }
	for _, tt := range []struct {
		name string
		set  Setting
		want string
	}{
		{"bad value", set("plan.runs", "0"), `-set plan.runs=0: plan.runs: must be a whole number from 1 to 10000000, got 0`},
		{"unknown key", set("plan.rums", "3"), `-set plan.rums=3: plan.rums: is no key of this table (did you mean "runs"?)`},
		{"unknown table", set("plam.runs", "3"), `-set plam.runs=3: plam: is no key of this table (did you mean "plan"?)`},
		{"no such mode", set("mode.n.n", "3"), `-set mode.n.n=3: mode.n.n: the experiment has no mode of that name, got "n" (it has m)`},
		{"no such workload", set("workload.jiter.steps", "3"), `-set workload.jiter.steps=3: workload.jiter.steps: the experiment has no workload of that name, got "jiter" (did you mean "jitter"?)`},
		{"into a value", set("workload.jitter.kernel.x", "3"), `-set workload.jitter.kernel.x=3: workload.jitter.kernel.x: cannot be set, for workload.jitter.kernel is no table`},
		{"a table", set("mode.m", "3"), `-set mode.m=3: mode.m: is a table of the file and cannot be replaced whole (set its keys, as mode.m.KEY)`},
		{"open bracket", set("mode.m.n", "[1"), `-set mode.m.n=[1: mode.m.n: must be one TOML value: expected a comma (',') or array terminator (']'), but got end of file, got "[1"`},
		{"two lines", set("plan.runs", "3\n[mode.x]"), "\"-set plan.runs=3\\n[mode.x]\": plan.runs: must be one TOML value, got \"3\\n[mode.x]\""},
		{"no value", set("plan.runs", ""), `-set plan.runs=: plan.runs: must be one TOML value: expected value but found '\n' instead, got ""`},
		{"not UTF-8", set("title", "\xff"), `-set title=` + "\xff" + `: title: must be UTF-8 text, got "\xff"`},
		{"no key", set("", "3"), `-set =3: must be a dotted key, got "" (as "plan.runs" or "mode.goset.n")`},
		{"bad key", set("plan..runs", "3"), `-set plan..runs=3: must be a dotted key, got "plan..runs" (as "plan.runs" or "mode.goset.n")`},
		{"key with a value", set("a = 1\nb", "3"), "\"-set a = 1\\nb=3\": must be a dotted key, got \"a = 1\\nb\" (as \"plan.runs\" or \"mode.goset.n\")"},
	} {
		_, err := Load("x.toml", []byte("[workload.jitter]\nkernel = \"jitter\"\n[mode.m]\n"), LoadOptions{Overrides: []Setting{tt.set}})
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		if err.Error() != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, err, tt.want)
		}
	}
}

// TestOverrideKeepsLines: faults of the file keep the file's lines, whatever
// was added above them, and stand before those of the settings.
func TestOverrideKeepsLines(t *testing.T) {
	got := faultsOf(t, "[plan]\nrums = 1\n[workload.w]\nkernel = \"jitter\"\n[mode.m]\nfifo = 0\n", LoadOptions{
		Overrides: []Setting{{"title", "x", "-set title=x"}, {"plan.idle", "5", "-set plan.idle=5"}},
		Defaults:  []Setting{{"plan.runs", "no", "config.toml: plan.runs"}},
	})
	want := []string{
		`x.toml:2:1: plan.rums: is no key of this table (did you mean "runs"?)`,
		`x.toml:6:8: mode.m.fifo: must be a whole number from 1 to 99, got 0`,
		`-set plan.idle=5: plan.idle: must be a duration from 0s to 168h, as "500ms" or "2m", got 5`,
		`config.toml: plan.runs: plan.runs: must be a whole number from 1 to 10000000, got "no"`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// FuzzOverride: a setting either is a fault or gives a text that loads to the
// same experiment without it.
func FuzzOverride(f *testing.F) {
	f.Add(minimal, "plan.runs", "3")
	f.Add("plan = {runs = 1}\n"+minimal, "plan.idle", "0s")
	f.Add("[workload.w.env]\nA=1\n"+minimal, "workload.w.env.B", "[1,2]")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		e, err := Load("x.toml", []byte(text), LoadOptions{Overrides: []Setting{{key, value, ""}}})
		if err != nil {
			if e != nil {
				t.Fatal("an experiment beside an error")
			}
			return
		}
		again, err := Load("x.toml", e.Text, LoadOptions{})
		if err != nil || !reflect.DeepEqual(e, again) {
			t.Fatalf("%q with %q = %q is %q, which loads as %+v, %v", text, key, value, e.Text, again, err)
		}
	})
}

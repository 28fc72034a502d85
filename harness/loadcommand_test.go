package harness

import (
	"reflect"
	"strings"
	"testing"
)

func TestCommandText(t *testing.T) {
	argv := []string{"/opt/a b/täsk.sh", "--n={n}", "a\"b\\c\n\t", "${HOME}", "{}", "é"}
	text, err := CommandText(argv, CommandOptions{N: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Load("command", text, LoadOptions{Overrides: []Setting{{"plan.runs", "3", ""}}})
	if err != nil {
		t.Fatalf("%v\nof\n%s", err, text)
	}
	if p := e.Plan; p.Runs != 3 || p.Baseline != "unpinned" {
		t.Errorf("plan %+v", p)
	}
	w := e.Workloads[0]
	if w.Name != "t-sk.sh" || !w.Extract || !reflect.DeepEqual(w.Command, argv) {
		t.Errorf("workload %+v", w)
	}
	ts, err := e.Treatments()
	if err != nil || len(ts) != 3 {
		t.Fatalf("%+v, %v", ts, err)
	}
	if got := ts[2]; got.Mode != "goset" || got.Layers.CPUs != "quietest" || got.Layers.N != 2 || got.Args[1] != "--n=2" {
		t.Errorf("goset %+v", got)
	}
	if e.Dir != "" || e.Name != "command" {
		t.Errorf("dir %q, name %q", e.Dir, e.Name)
	}
}

func TestCommandTextLeast(t *testing.T) {
	text, err := CommandText([]string{"true"}, CommandOptions{Modes: []string{"goset"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "title = \"true\"\n\n[plan]\n\n[workload.\"true\"]\ncommand = [\"true\"]\nextract = true\n\n[mode.goset]\ncpus = \"quietest\"\n"
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if e := mustLoad(t, string(text)); e.Plan.Runs != 10 || e.Plan.Baseline != "goset" {
		t.Errorf("plan %+v", e.Plan)
	}
}

func TestCommandFaults(t *testing.T) {
	for _, tt := range []struct {
		argv  []string
		modes []string
		want  string
	}{
		{nil, nil, "run: a command must follow -- (as run -- ./task -size 10)"},
		{[]string{"x", "\xff"}, nil, `run: command: words must be UTF-8, which experiment files are, got "\xff" (put the command into a script)`},
		{[]string{"x"}, []string{"tasket", "goset", "goset"}, "-modes: must be \"unpinned\", \"taskset\" or \"goset\", got \"tasket\" (did you mean \"taskset\"?)\n-modes: a mode may be named once, got \"goset\""},
	} {
		text, err := CommandText(tt.argv, CommandOptions{Modes: tt.modes})
		if err == nil || err.Error() != tt.want || text != nil {
			t.Errorf("%q, %q:\ngot  %v\nwant %s", tt.argv, tt.modes, err, tt.want)
		}
	}
}

// FuzzCommandText: every UTF-8 command comes back from its own text.
func FuzzCommandText(f *testing.F) {
	f.Add("true", "-x")
	f.Add("/a/{n}", "\"\\\n\u0085{{x}}")
	f.Fuzz(func(t *testing.T, program, word string) {
		text, err := CommandText([]string{program, word}, CommandOptions{})
		if err != nil || strings.Contains(program+word, "\x00") {
			return
		}
		e, err := Load("command", text, LoadOptions{})
		if err != nil {
			if !strings.Contains(err.Error(), "names no key") && !strings.Contains(err.Error(), "cannot hold {cpus}") &&
				!strings.Contains(err.Error(), "a line has at most") && !strings.Contains(err.Error(), "nested at most") {
				t.Fatalf("%q, %q: %v", program, word, err)
			}
			return
		}
		if got := e.Workloads[0].Command; !reflect.DeepEqual(got, []string{program, word}) {
			t.Fatalf("%q, want %q", got, []string{program, word})
		}
	})
}

package harness

import (
	"reflect"
	"testing"
)

func labels(t *testing.T, e *Experiment) []string {
	t.Helper()
	ts, err := e.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range ts {
		if ts[i].Index != i {
			t.Errorf("treatment %d has index %d", i, ts[i].Index)
		}
		out = append(out, ts[i].Label())
	}
	return out
}

func TestTreatments(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"one", minimal, []string{"w m"}},
		{"a list of one is no factor", minimal + "n = [2]\n", []string{"w m"}},
		{"workloads, then modes", "[workload.b]\nkernel = \"jitter\"\n[workload.a]\nkernel = \"chase\"\n[mode.z]\n[mode.y]\n",
			[]string{"b z", "b y", "a z", "a y"}},
		{"all factors cross, the last one fastest",
			"[workload.w]\nkernel = \"jitter\"\nthreads = [2, 1]\nenv = { A = [\"x\", \"y\"] }\n[mode.m]\ncpus = \"quietest\"\nfence = [false, true]\n",
			[]string{"w m threads=2 A=x fence=false", "w m threads=2 A=x fence=true", "w m threads=2 A=y fence=false", "w m threads=2 A=y fence=true",
				"w m threads=1 A=x fence=false", "w m threads=1 A=x fence=true", "w m threads=1 A=y fence=false", "w m threads=1 A=y fence=true"}},
		{"factors of one mode are not another's", minimal + "n = [1, 2]\n[mode.o]\n", []string{"w m n=1", "w m n=2", "w o"}},
		{"skip", "plan.skip = [{ mode = \"m\", n = 2 }, { n = 3 }]\n" + minimal + "n = [1, 2, 3]\n[mode.o]\nn = [2, 3]\n",
			[]string{"w m n=1", "w o n=2"}},
		{"skip fits no mode without the key", "plan.skip = [{ n = 1 }]\n" + minimal + "n = [1, 2]\n[mode.o]\ncpus = [\"0\", \"1\"]\n",
			[]string{"w m n=2", "w o cpus=0", "w o cpus=1"}},
	} {
		if got := labels(t, mustLoad(t, tt.text)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// TestKernelArgs: every parameter is given, by default or not, in the order
// of the kernel's own list.
func TestKernelArgs(t *testing.T) {
	e := mustLoad(t, "[workload.w]\nkernel = \"chase\"\nthreads = \"{n}\"\nkib = [16, 8_192]\nenv.K = \"{kib}/{workload}/{mode}/{loads}\"\n[mode.m]\ncpus = \"2-3\"\n")
	ts, err := e.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-kib=8192", "-loads=2000000", "-iterations=300", "-threads=2", "-hugepages=false", "-seed=1"}
	if got := ts[1].Args; !reflect.DeepEqual(got, want) {
		t.Errorf("args %q, want %q", got, want)
	}
	if got, want := ts[1].Env, []string{"K=8192/w/m/2000000"}; !reflect.DeepEqual(got, want) {
		t.Errorf("env %q, want %q", got, want)
	}
	if len(ts[1].Spec.Params) != 6 || !reflect.DeepEqual(ts[1].Spec.Params[3], Param{"threads", []string{"2"}}) {
		t.Errorf("params %+v", ts[1].Spec.Params)
	}
	if got := e.Workloads[0].Params[0]; !reflect.DeepEqual(got, Param{"threads", []string{"{n}"}}) {
		t.Errorf("the experiment's own params were changed: %+v", got)
	}
}

// TestN: every mode has an n.
func TestN(t *testing.T) {
	e := mustLoad(t, "[workload.w]\ncommand = [\"x\", \"{n}\"]\n[mode.a]\n[mode.b]\ncpus = \"rotate\"\n[mode.c]\ncpus = [\"0-3\", \"5\"]\n[mode.d]\ncpus = \"0-3\"\nn = 2\n[mode.e]\nn = 8\n")
	ts, err := e.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tr := range ts {
		got = append(got, tr.Mode+tr.Args[1])
	}
	if want := []string{"a1", "b1", "c4", "c1", "d2", "e8"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if ts[2].Layers.N != 4 || ts[3].Layers.N != 1 || ts[3].Layers.CPUs != "5" {
		t.Errorf("layers %+v, %+v", ts[2].Layers, ts[3].Layers)
	}
}

func TestPlaceholders(t *testing.T) {
	values := map[string]string{"n": "4", "a_B": "x"}
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {"{n}", "4"}, {"--t={n},{a_B}", "--t=4,x"}, {"{{n}}", "{n}"}, {"${n}", "${n}"}, {"$n{n}", "$n4"},
		{"{}", "{}"}, {"{print $1}", "{print $1}"}, {"{1}", "{1}"}, {`{"n":1}`, `{"n":1}`}, {"{{n}", "{4"}, {"{n}}", "4}"}, {"{other}", "{other}"},
	} {
		if got := fill(tt.text, values); got != tt.want {
			t.Errorf("fill(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

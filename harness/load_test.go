package harness

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// minimal is the least experiment; tests add to it.
const minimal = "[workload.w]\nkernel = \"jitter\"\n[mode.m]\n"

func mustLoad(t *testing.T, text string, sets ...Setting) *Experiment {
	t.Helper()
	e, err := Load("x.toml", []byte(text), LoadOptions{Overrides: sets})
	if err != nil {
		t.Fatalf("Load:\n%v\nof:\n%s", err, text)
	}
	return e
}

// faultsOf are the lines of the error.
func faultsOf(t *testing.T, text string, opt LoadOptions) []string {
	t.Helper()
	e, err := Load("x.toml", []byte(text), opt)
	if err == nil {
		return nil
	}
	if e != nil {
		t.Errorf("an experiment beside the error %v", err)
	}
	var fs Faults
	if !errors.As(err, &fs) || len(fs) == 0 {
		t.Fatalf("the error is no Faults: %#v", err)
	}
	return strings.Split(err.Error(), "\n")
}

func TestLoadDefaults(t *testing.T) {
	e := mustLoad(t, minimal)
	want := PlanSpec{Runs: 10, Warmup: 1, Order: OrderShuffled, Output: 16 << 20, Baseline: "m"}
	if !reflect.DeepEqual(e.Plan, want) {
		t.Errorf("plan %+v, want %+v", e.Plan, want)
	}
	if e.Name != "x" || e.Dir != "" || string(e.Text) != minimal {
		t.Errorf("name %q, dir %q, text %q", e.Name, e.Dir, e.Text)
	}
	if e, err := Load("a/b/y.toml", []byte(minimal), LoadOptions{}); err != nil || e.Dir != "a/b" || e.Name != "y" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestLoadWhole(t *testing.T) {
	e := mustLoad(t, "\ufeff"+`title = "T"
[plan]
runs = 3
warmup = 0
idle = "5s"
order = "sequential"
seed = 7
timeout = "2m"
retries = 2
output = "1KiB"
baseline = "B"
skip = [{ workload = "task", mode = "A", n = 2 }]

[workload.task]
command = ["./t", "--threads", "{n}", "${HOME}", "{{n}}"]
env = { OMP = "{n}", Z = [1, "b"] }
dir = "d/{mode}"
expect = "3s"
[workload.task.metric."p99 latency"]
pattern = 'p99 = ([\d.]+) us'
unit = "us"
better = "lower"
take = "all"
[workload.task.metric.rate]
json = "$.rate"
shown = false

[workload.out]
command = ["x"]
format = "gobench"

[mode.A]
cpus = "quietest"
n = [1, 2]
[mode.B]
[condition.idle]
`)
	seed := uint64(7)
	want := PlanSpec{Runs: 3, Idle: 5 * time.Second, Order: OrderSequential, Seed: &seed, Timeout: 2 * time.Minute,
		Retries: 2, Output: 1024, Baseline: "B", Skip: []map[string]string{{"workload": "task", "mode": "A", "n": "2"}}}
	if !reflect.DeepEqual(e.Plan, want) {
		t.Errorf("plan %+v, want %+v", e.Plan, want)
	}
	w := e.Workloads[0]
	if w.Name != "task" || w.Expect != 3*time.Second || len(w.Metrics) != 2 || w.Metrics[0].Name != "p99 latency" ||
		w.Metrics[0].Take != "all" || !w.Metrics[0].Shown || w.Metrics[1].Shown || w.Metrics[1].JSON != "$.rate" {
		t.Errorf("workload %+v", w)
	}
	ts, err := e.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for i, tr := range ts {
		if tr.Index != i || tr.Condition != "idle" {
			t.Errorf("treatment %d: %+v", i, tr)
		}
		labels = append(labels, tr.Label())
	}
	if want := []string{"task A Z=1 n=1", "task A Z=b n=1", "task B Z=1", "task B Z=b", "out A n=1", "out A n=2", "out B"}; !reflect.DeepEqual(labels, want) {
		t.Errorf("treatments %q, want %q", labels, want)
	}
	if want := []string{"./t", "--threads", "1", "${HOME}", "{n}"}; !reflect.DeepEqual(ts[0].Args, want) {
		t.Errorf("args %q, want %q", ts[0].Args, want)
	}
	if want := []string{"OMP=1", "Z=1"}; !reflect.DeepEqual(ts[0].Env, want) || ts[0].Spec.Dir != "d/A" {
		t.Errorf("env %q, want %q; dir %q", ts[0].Env, want, ts[0].Spec.Dir)
	}
}

func TestLoadEveryLayer(t *testing.T) {
	e := mustLoad(t, `[workload.w]
kernel = "jitter"
[mode.a]
cpus = "quietest"
n = 2
include = "0-7"
exclude = 3
numa = "auto"
sample = "1s"
rank = "all"
choose = "block"
cgroup = true
shield = true
fence = true
steer = true
nice = -5
governor = "performance"
frequency = "2.4GHz"
turbo = false
smt = false
aslr = false
stable_env = true
env_size = 4096
thp = "never"
memory = "512MiB"
cpu_quota = "1.5"
wrap = ["docker", "--cpuset-cpus={cpus}", "-n={n}", "{mode}"]
user = "nobody"
optional = ["steer", "governor"]
[mode.b]
cpus = "0-3"
fifo = 50
cgroup = false
turbo = true
`)
	ts, err := e.Treatments()
	if err != nil {
		t.Fatal(err)
	}
	a := ts[0].Layers
	nice, off := -5, false
	want := a
	want.Name, want.CPUs, want.N, want.Include, want.Exclude, want.NUMA = "a", "quietest", 2, "0-7", "3", "auto"
	want.Sample, want.Rank, want.Choose, want.Cgroup = time.Second, "all", "block", "true"
	want.Shield, want.Fence, want.Steer, want.Nice, want.Governor = true, true, true, &nice, "performance"
	want.Frequency, want.Turbo, want.SMT, want.ASLR, want.StableEnv = "2.4GHz", &off, &off, &off, true
	want.EnvSize, want.THP, want.Memory, want.CPUQuota, want.User = 4096, "never", "512MiB", "1.5", "nobody"
	want.Wrap = []string{"docker", "--cpuset-cpus={cpus}", "-n=2", "a"}
	want.Optional = []string{"steer", "governor"}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("mode a %+v\nwant %+v", a, want)
	}
	b := ts[1].Layers
	if b.CPUs != "0-3" || b.N != 4 || b.FIFO != 50 || b.Cgroup != "" || b.Turbo == nil || !*b.Turbo || b.Sample != 0 || b.SMT != nil || b.Nice != nil {
		t.Errorf("mode b %+v", b)
	}
	if reflect.ValueOf(a).NumField() != 1+len(layerKeys())+2 {
		t.Errorf("isolation.Mode has %d fields, %d are read here", reflect.ValueOf(a).NumField(), 1+len(layerKeys())+2)
	}
}

func TestFaults(t *testing.T) {
	const w, m = "[workload.w]\nkernel = \"jitter\"\n", "[mode.m]\n"
	for _, tt := range []struct{ name, text, want string }{
		// Syntax.
		{"open string", "title = \"x\n" + minimal, `x.toml:1:11: title: is no TOML: strings cannot contain newlines`},
		{"bare word", "[plan]\norder = shuffled\n" + minimal, `x.toml:2:9: plan.order: is no TOML: expected value but found "shuffled" instead (quote it: "shuffled")`},
		{"twice", "title = \"x\"\ntitle = \"y\"\n" + minimal, `x.toml:2:1: title: is no TOML: key 'title' has already been defined`},
		{"lost by the library", "a.b = 1\na = 2\n" + minimal, `x.toml:2:1: this key was defined before as something else`},
		{"line ends of old", "[plan]\rruns = 1\r" + minimal, `x.toml:1:6: plan: is no TOML: TOML files cannot contain control characters: '0x0d'`},
		{"neighbours changed places", "[plan]\nrusn = 1\n" + minimal, `x.toml:2:1: plan.rusn: is no key of this table (did you mean "runs"?)`},
		{"not UTF-8", "# é\n\"\xff\" = 1", `x.toml:2:2: an experiment is UTF-8 text, got byte 0xff`},
		{"NUL", "a\x00", `x.toml:1:2: an experiment is UTF-8 text, got byte 0x00`},
		{"deep", strings.Repeat("[", 200), `x.toml:1:101: brackets are nested at most 100 deep`},
		{"dots", strings.Repeat("a.", 400), `x.toml:1:514: a line has at most 256 dots`},

		// Keys and types.
		{"empty", "", "x.toml:1:1: workload: an experiment must have a workload (as [workload.jitter] with kernel = \"jitter\")\nx.toml:1:1: mode: an experiment must have a mode ([mode.unpinned] asks for nothing)"},
		{"misspelt table", "[plam]\nruns = 1\n" + minimal, `x.toml:1:2: plam: is no key of this table (did you mean "plan"?)`},
		{"misspelt key", "[plan]\n  rums = 1\n" + minimal, `x.toml:2:3: plan.rums: is no key of this table (did you mean "runs"?)`},
		{"case", "[plan]\nRuns = 1\n" + minimal, `x.toml:2:1: plan.Runs: is no key of this table (did you mean "runs"?)`},
		{"string for a number", "[plan]\nruns = \"7\"\n" + minimal, `x.toml:2:8: plan.runs: must be a whole number from 1 to 10000000, got "7"`},
		{"none", "[plan]\nruns = 0\n" + minimal, `x.toml:2:8: plan.runs: must be a whole number from 1 to 10000000, got 0`},
		{"list in the plan", "[plan]\nruns = [1, 2]\n" + minimal, `x.toml:2:8: plan.runs: must be a whole number from 1 to 10000000, got [1, 2] (it cannot vary: factors are keys of modes, of kernels and of env)`},
		{"order", "[plan]\norder = \"shufled\"\n" + minimal, `x.toml:2:9: plan.order: must be "shuffled", "interleaved" or "sequential", got "shufled" (did you mean "shuffled"?)`},
		{"idle", "[plan]\nidle = \"5\"\n" + minimal, `x.toml:2:8: plan.idle: must be a duration from 0s to 168h, as "500ms" or "2m", got "5"`},
		{"idle below zero", "[plan]\nidle = \"-5s\"\n" + minimal, `x.toml:2:8: plan.idle: must be a duration from 0s to 168h, as "500ms" or "2m", got "-5s"`},
		{"cool", "[plan]\nidle = { until = \"cool\" }\n" + minimal, `x.toml:2:1: plan.idle: is not available in this version`},
		{"seed", "[plan]\nseed = -1\n" + minimal, `x.toml:2:8: plan.seed: must be a whole number from 0 to 9223372036854775807, got -1`},
		{"retries", "[plan]\nretries = 11\n" + minimal, `x.toml:2:11: plan.retries: must be a whole number from 0 to 10, got 11`},
		{"output", "[plan]\noutput = \"16Mib\"\n" + minimal, `x.toml:2:10: plan.output: must be a size from 1KiB to 1GiB, as "16MiB", got "16Mib"`},
		{"plan is no table", "plan = 3\n" + minimal, `x.toml:1:8: plan: must be a table, got 3`},
		{"title", "title = 3\n" + minimal, `x.toml:1:9: title: must be a string, got 3`},
		{"baseline", "[plan]\nbaseline = \"n\"\n" + minimal, `x.toml:2:12: plan.baseline: must be the name of a mode, got "n"`},
		{"baseline near", "[plan]\nbaseline = \"unpined\"\n" + w + "[mode.unpinned]\n", `x.toml:2:12: plan.baseline: must be the name of a mode, got "unpined" (did you mean "unpinned"?)`},

		// Names.
		{"name", "[workload.\"a/b\"]\nkernel = \"jitter\"\n" + m, `x.toml:1:11: workload."a/b": ` + nameRule + `, got "a/b"`},
		{"key without a name", "[mode]\ncpus = \"0\"\n" + w, `x.toml:2:8: mode.cpus: must be a table, got "0" (the keys of a mode stand below [mode.NAME])`},

		// Workloads.
		{"kernel", "[workload.w]\nkernel = \"jiter\"\nsteps = 5\n" + m, `x.toml:2:10: workload.w.kernel: must be "jitter", "chase", "matmul", "stream" or "yield", got "jiter" (did you mean "jitter"?)`},
		{"nothing to run", "[workload.w]\n" + m, `x.toml:1:11: workload.w: must have a kernel, a command or Go benchmarks (as kernel = "jitter", command = ["./task"] or go = { package = "." })`},
		{"both", w + "command = [\"x\"]\n" + m, `x.toml:3:1: workload.w.command: a workload is a kernel or a command, not both (make two workloads of it)`},
		{"command is a string", "[workload.w]\ncommand = \"a b\"\n" + m, `x.toml:2:11: workload.w.command: must be a list of strings: one string would need a shell to split it, and the shell's start would be timed with the task, got "a b"`},
		{"command has a number", "[workload.w]\ncommand = [\"a\", 1]\n" + m, `x.toml:2:17: workload.w.command[1]: must be a string, got 1 (an element cannot vary: put {factor} in it)`},
		{"placeholder beside another fault", "[workload.w]\ncommand = [\"a\", \"{k}\", \"{x}\", \"{y}\"]\ndri = \"d\"\nevn = { x = \"1\" }\n[mode.m]\nstee = { y = 1 }\n", "x.toml:2:17: workload.w.command: names no key of workload \"w\" or of mode \"m\", got {k} ({{k}} stands for {k} itself)\n" +
			"x.toml:3:1: workload.w.dri: is no key of this table (did you mean \"dir\"?)\nx.toml:4:1: workload.w.evn: is no key of this table (did you mean \"env\"?)\nx.toml:6:1: mode.m.stee: is no key of this table (did you mean \"steer\"?)"},
		{"metric of every run", "[workload.w]\ncommand = [\"a\"]\nmetric.wall = { pattern = \"(a)\" }\n" + m, `x.toml:3:8: workload.w.metric.wall: is the name of a metric that comes with every run (give it another name)`},
		{"no program", "[workload.w]\ncommand = []\n" + m, `x.toml:2:11: workload.w.command: must name a program first, got []`},
		{"param of another kernel", w + "kib = 3\n" + m, `x.toml:3:1: workload.w.kib: is no key of this table (known here: kernel, command, env, dir, expect, go, steps, iterations, threads, format, extract, metric)`},
		{"param misspelt", w + "step = 3\n" + m, `x.toml:3:1: workload.w.step: is no key of this table (did you mean "steps"?)`},
		{"param out of range", w + "steps = [1, 0]\n" + m, `x.toml:3:13: workload.w.steps[1]: must be a whole number from 1 to 1099511627776, or a factor as "{n}", got 0`},
		{"a duration", "[workload.w]\nkernel = \"yield\"\nevery = [\"0s\", \"100µs\", \"2s\", 5]\n" + m, "x.toml:3:25: workload.w.every[2]: must be a duration from 0s to 1s, as \"500ms\" or \"2m\", got \"2s\"\nx.toml:3:31: workload.w.every[3]: must be a duration from 0s to 1s, as \"500ms\" or \"2m\", got 5"},
		{"metric of a kernel", w + "format = \"gobench\"\n" + m, `x.toml:3:1: workload.w.format: is for commands: a kernel has metrics of its own`},
		{"go and kernel", w + "go = { package = \".\" }\n" + m, `x.toml:3:1: workload.w.go: a workload is a kernel or a package of Go benchmarks, not both (make two workloads of it)`},
		{"env", w + "env = { \"A-B\" = \"1\", C = 1.5, mode = 1 }\n" + m, "x.toml:3:9: workload.w.env.A-B: names of environment variables have letters, digits and '_', and start with no digit, got \"A-B\"\nx.toml:3:26: workload.w.env.C: must be a string or a whole number, got 1.5\nx.toml:3:31: workload.w.env.mode: \"mode\" is the name of a column of every table (use another name, or set it in the command with env(1))"},
		{"extract and format", "[workload.w]\ncommand = [\"x\"]\nformat = \"gobench\"\nextract = true\n" + m, `x.toml:4:11: workload.w.extract: takes every number of the output, which leaves nothing to format and metric, got true (leave one of them out)`},
		{"pattern", "[workload.w]\ncommand = [\"x\"]\nmetric.a.pattern = 'a('\n" + m, "x.toml:3:20: workload.w.metric.a.pattern: must be a regular expression (RE2): missing closing ): `a(`, got 'a('"},
		{"groups", "[workload.w]\ncommand = [\"x\"]\nmetric.a.pattern = 'a'\n" + m, "x.toml:3:20: workload.w.metric.a.pattern: must have one group, around the number; this one has 0, got 'a' ((?:...) groups without capturing)"},
		{"no way to read", "[workload.w]\ncommand = [\"x\"]\n[workload.w.metric.a]\nunit = \"s\"\n" + m, "x.toml:3:20: workload.w.metric.a: must have a pattern or a json path, and not both"},
		{"expect", "plan.timeout = \"1s\"\n" + w + "expect = \"2s\"\n" + m, `x.toml:4:10: workload.w.expect: must be at most plan.timeout, 1s, or every run would be ended, got "2s"`},

		// Modes.
		{"layer misspelt", w + "[mode.m]\ncpu = \"0\"\n", `x.toml:4:1: mode.m.cpu: is no key of this table (did you mean "cpus"?)`},
		{"cpus", w + "[mode.m]\ncpus = \"quitest\"\n", `x.toml:4:8: mode.m.cpus: must be a CPU list as "2" or "0-3,8", "rotate" or "quietest", got "quitest" (did you mean "quietest"?)`},
		{"cpus backwards", w + "[mode.m]\ncpus = \"3-1\"\n", `x.toml:4:8: mode.m.cpus: must be a CPU list as "2" or "0-3,8", "rotate" or "quietest", got "3-1"`},
		{"no cpus", w + "[mode.m]\ncpus = \"\"\n", `x.toml:4:8: mode.m.cpus: must be a CPU list as "2" or "0-3,8", "rotate" or "quietest", got ""`},
		{"fence", w + "[mode.m]\nfence = true\n", `x.toml:4:1: mode.m.fence: needs cpus: it keeps others off the CPUs of the task, got true (as cpus = "quietest")`},
		{"sample", w + "[mode.m]\ncpus = \"rotate\"\nsample = \"1s\"\n", `x.toml:5:1: mode.m.sample: is for cpus = "quietest": it binds that choice, got "1s"`},
		{"fifo", w + "[mode.m]\nfifo = 100\n", `x.toml:4:8: mode.m.fifo: must be a whole number from 1 to 99, got 100`},
		{"fifo and nice", w + "[mode.m]\nfifo = 1\nnice = 1\n", `x.toml:5:1: mode.m.nice: has no meaning with fifo: the kernel ignores the nice of a FIFO task, got 1`},
		{"word for a switch", w + "[mode.m]\naslr = \"off\"\n", `x.toml:4:8: mode.m.aslr: must be true or false, got "off"`},
		{"frequency", w + "[mode.m]\nfrequency = \"0GHz\"\n", `x.toml:4:13: mode.m.frequency: must be "base", a frequency as "2.4GHz" or a part of the highest as "70%", got "0GHz"`},
		{"part above the whole", w + "[mode.m]\nfrequency = \"101%\"\n", `x.toml:4:13: mode.m.frequency: must be "base", a frequency as "2.4GHz" or a part of the highest as "70%", got "101%"`},
		{"memory", w + "[mode.m]\nmemory = \"0\"\n", `x.toml:4:10: mode.m.memory: must be a size above 0, as "512MiB", got "0"`},
		{"n above the list", w + "[mode.m]\ncpus = \"0-1\"\nn = [1, 3]\n", `x.toml:5:5: mode.m.n: must be at most the 2 CPUs of cpus = "0-1", got 3 (skip that combination, or name more CPUs)`},
		{"include", w + "[mode.m]\ncpus = \"quietest\"\nn = 2\ninclude = \"0-1\"\nexclude = 1\n", `x.toml:6:11: mode.m.include: must leave n = 2 CPUs to choose from, and with exclude = "1" leaves 1, got 0-1`},
		{"optional", w + "[mode.m]\ncpus = \"0\"\nsteer = true\noptional = [\"ster\"]\n", `x.toml:6:13: mode.m.optional[0]: must name a layer that this mode asks for, got "ster" (did you mean "steer"?)`},
		{"optional user", w + "[mode.m]\nuser = \"nobody\"\noptional = [\"user\"]\n", `x.toml:5:13: mode.m.optional[0]: must not name a layer that no run goes on without: whom the task runs as is not optional, got "user"`},
		{"optional CPUs that are named", w + "[mode.m]\ncpus = [\"0\", \"1\"]\noptional = [\"cpus\"]\n", `x.toml:5:13: mode.m.optional[0]: must not name a layer that no run goes on without: CPUs that are named are not optional, got "cpus"`},

		// Conditions.
		{"load", minimal + "[condition.c]\nspiners = 1\n", `x.toml:5:1: condition.c.spiners: is no key of this table (did you mean "spinners"?)`},
		{"a word of a load", minimal + "[condition.c]\nspinners = \"al\"\n", `x.toml:5:12: condition.c.spinners: must be "all" (one for each CPU), a number of processes from 1 to 1024, or a CPU list as "2-5", got "al" (did you mean "all"?)`},
		{"no processes", minimal + "[condition.c]\nmemory = [1, 0]\n", `x.toml:5:14: condition.c.memory[1]: must be "all" (one for each CPU), a number of processes from 1 to 1024, or a CPU list as "2-5", got 0`},
		{"a number or a CPU", minimal + "[condition.c]\nspinners = [1, \"3\"]\n", `x.toml:5:16: condition.c.spinners[1]: must be "all" (one for each CPU), a number of processes from 1 to 1024, or a CPU list as "2-5", got "3" (without quotes it is a number of processes; "3-3" is CPU 3 alone)`},
		{"wake-ups", minimal + "[condition.c]\ninterrupts = 0\n", `x.toml:5:14: condition.c.interrupts: must be wake-ups per second on each CPU, a whole number from 1 to 1000000, got 0`},
		{"load command", minimal + "[condition.c]\ncommand = \"stress\"\n", `x.toml:5:11: condition.c.command: must be a list of strings, the words of one command, got "stress"`},
		{"empty load command", minimal + "[condition.c]\ncommand = []\n", `x.toml:5:11: condition.c.command: must name a program first, got []`},
		{"everywhere without a load", minimal + "[condition.c]\neverywhere = true\n", `x.toml:5:1: condition.c.everywhere: says where a load may run, and this condition has none, got true (as spinners = "all")`},
		{"placeholder of a load", minimal + "[condition.c]\ncommand = [\"x\", \"{spiners}\"]\nspinners = 1\n", `x.toml:5:17: condition.c.command: names no key of workload "w", of mode "m" or of condition "c", got {spiners} (did you mean "spinners"?)`},
		{"factor of a mode too", w + "[mode.m]\ncpus = \"0\"\nmemory = [\"1MiB\", \"2MiB\"]\n[condition.c]\nmemory = [1, 2]\n", `x.toml:7:1: condition.c.memory: "memory" is a factor of mode "m" too, and two factors need two names (vary one of them and write "{memory}" for the other, or rename it)`},
		{"skip a condition", "plan.skip = [{ condition = \"nosy\" }]\n" + minimal + "[condition.noisy]\n[condition.idle]\n", `x.toml:1:28: plan.skip[0].condition: is no level of condition, got "nosy" (did you mean "noisy"?)`},

		// Factors.
		{"no levels", w + "[mode.m]\nn = []\n", `x.toml:4:5: mode.m.n: a list of levels must not be empty, got []`},
		{"a level twice", w + "[mode.m]\nn = [1, 1]\n", `x.toml:4:9: mode.m.n[1]: a level may stand in a list once, got 1`},
		{"unknown factor", "[workload.w]\ncommand = [\"x\", \"{m}\", \"{threds}\"]\nenv.threads = 1\n" + m, "x.toml:2:17: workload.w.command: names no key of workload \"w\" or of mode \"m\", got {m} ({{m}} stands for {m} itself)\nx.toml:2:24: workload.w.command: names no key of workload \"w\" or of mode \"m\", got {threds} (did you mean \"threads\"?)"},
		{"factor of one mode only", "[workload.w]\ncommand = [\"x\", \"{nice}\"]\n[mode.m]\nnice = 1\n[mode.o]\n", `x.toml:2:17: workload.w.command: names no key of workload "w" or of mode "o", got {nice} ({{nice}} stands for {nice} itself)`},
		{"cpus in a command", "[workload.w]\ncommand = [\"x\", \"{cpus}\"]\n[mode.m]\ncpus = \"0\"\n", `x.toml:2:17: workload.w.command: cannot hold {cpus}: which CPUs they are is known only when the run starts, got {cpus} (wrap can hold it; {n} is their number)`},
		{"param of a word", w + "threads = \"{user}\"\n[mode.m]\nuser = \"me\"\n", `x.toml:3:11: workload.w.threads: must be a whole number from 1 to 4096, or a factor as "{n}", got {user} = me`},
		{"chain", w + "threads = \"{n}\"\nenv.A = \"{threads}\"\n[mode.m]\n", `x.toml:4:9: workload.w.env.A: names a key whose own value is "{n}", got {threads} (name the factor itself)`},
		{"in both", w + "env.n = [1, 2]\n[mode.m]\nn = [1, 2]\n", `x.toml:3:5: workload.w.env.n: "n" is a factor of mode "m" too, and two factors need two names (vary one of them and write "{n}" for the other, or rename it)`},
		{"ambiguous", w + "env.n = 1\nthreads = \"{n}\"\n[mode.m]\nn = 2\n", `x.toml:4:11: workload.w.threads: names two keys at once, of workload "w" or of mode "m", got {n} (rename the variable in env)`},

		// Skips.
		{"skip a factor", "plan.skip = [{ m = 4 }]\n" + minimal, `x.toml:1:16: plan.skip[0].m: names no factor of this experiment, got "m" (factors here: workload, mode)`},
		{"skip a level", "plan.skip = [{ n = 4 }]\n" + w + "[mode.m]\nn = [1, 2]\n", `x.toml:1:20: plan.skip[0].n: is no level of n, got 4 (levels: 1, 2)`},
		{"skip a workload", "plan.skip = [{ workload = \"jiter\" }]\n[workload.jitter]\nkernel = \"jitter\"\n" + m, `x.toml:1:27: plan.skip[0].workload: is no level of workload, got "jiter" (did you mean "jitter"?)`},
		{"skip all", "plan.skip = [{ mode = \"m\" }]\n" + minimal, `x.toml:1:13: plan.skip: leaves nothing to run`},
		{"skip nothing", "plan.skip = [{}]\n" + minimal, `x.toml:1:14: plan.skip[0]: must name a workload, a mode or a level; an empty one would skip everything, got {}`},

		// Bounds.
		{"too many runs", "plan.runs = 6_000_000\n" + w + "[mode.m]\nn = [1, 2]\n", `x.toml:1:13: plan.runs: 2 treatments × (6000000 runs + 1 warm-up runs) are 12000002, at most 10000000 are allowed`},
		{"too many treatments", "plan.runs = 1\n" + w + "[mode.m]\n" + bigFactors(4, 20), `x.toml:1:13: plan: the levels multiply to 160000 treatments, at most 100000 are allowed`},
		{"overflow", "plan.runs = 1\n" + w + "env = { " + bigEnv(20, 100) + " }\n" + m, `x.toml:1:13: plan: the levels multiply to more than 10^18 treatments, at most 100000 are allowed`},

		// Several at once, by position.
		{"all at once", "[plan]\nrums = 1\nidle = 5\n[workload.w]\nkernel = \"x\"\n[mode.m]\nfence = 1\nnice = 99\n", `x.toml:2:1: plan.rums: is no key of this table (did you mean "runs"?)
x.toml:3:8: plan.idle: must be a duration from 0s to 168h, as "500ms" or "2m", got 5
x.toml:5:10: workload.w.kernel: must be "jitter", "chase", "matmul", "stream" or "yield", got "x"
x.toml:7:1: mode.m.fence: needs cpus: it keeps others off the CPUs of the task, got 1 (as cpus = "quietest")
x.toml:7:9: mode.m.fence: must be true or false, got 1
x.toml:8:8: mode.m.nice: must be a whole number from -20 to 19, got 99`},
	} {
		if got := strings.Join(faultsOf(t, tt.text, LoadOptions{}), "\n"); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// bigFactors are integer keys of a mode with so many levels each.
func bigFactors(keys, levels int) string {
	var b strings.Builder
	for _, key := range []string{"n", "env_size", "fifo", "memory"}[:keys] {
		b.WriteString(key + " = [" + numbers(levels) + "]\n")
	}
	return b.String()
}

func bigEnv(keys, levels int) string {
	var parts []string
	for i := range keys {
		parts = append(parts, string(rune('A'+i))+" = ["+numbers(levels)+"]")
	}
	return strings.Join(parts, ", ")
}

func numbers(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, strconv.Itoa(i+1))
	}
	return strings.Join(parts, ",")
}

func TestUnavailableIsTyped(t *testing.T) {
	_, err := Load("x.toml", []byte("[plan]\nidle = { until = \"cool\" }\n"+minimal), LoadOptions{})
	var f Fault
	if !errors.As(err, &f) || !f.Unavailable || f.Key != "plan.idle" || f.Line != 2 || f.Col != 1 || f.File != "x.toml" {
		t.Errorf("%+v", f)
	}
}

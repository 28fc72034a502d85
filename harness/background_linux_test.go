package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"goset/cpulist"
	"goset/host"
	"goset/isolation"
)

// loadRole makes the test binary a keeper, a process of a load, or, with
// "harness", a process that has a load and waits.
const loadRole = "load-role"

func playLoad(args []string) {
	var err error
	switch {
	case len(args) == 0:
		err = KeepLoad([]string{os.Args[0], loadRole}, os.Stdin, os.Stdout)
	case args[0] == "harness":
		err = holdLoad(args[1])
	default:
		err = RunLoad(args[0], args[1], os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// holdLoad starts a load, tells its processes, and waits for its own end.
func holdLoad(script string) error {
	allowed, err := isolation.Allowed()
	if err != nil {
		return err
	}
	b := testBackground(allowed)
	l, err := b.Start(context.Background(), &LoadSpec{Spinners: "1", Command: []string{"sh", "-c", script}}, LoadTask{})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(append(l.(*runningLoad).pids, l.(*runningLoad).cmd.Process.Pid)); err != nil {
		return err
	}
	select {}
}

func testBackground(allowed cpulist.Set) *Background {
	return &Background{Keeper: []string{os.Args[0], loadRole}, Allowed: allowed, Env: os.Environ(), Host: host.Local}
}

func startLoad(t *testing.T, spec LoadSpec, beside LoadTask) *runningLoad {
	t.Helper()
	allowed, err := isolation.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	l, err := testBackground(allowed).Start(t.Context(), &spec, beside)
	if err != nil {
		t.Fatal(err)
	}
	r := l.(*runningLoad)
	t.Cleanup(func() { _, _ = r.Stop() })
	return r
}

// gone waits until a process is no more, or only waits to be waited for.
func gone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			s, ok := readStat(pid)
			if !ok || s.ended() {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d is alive after 30 s", pid)
			}
		}
	}
}

// aRun is what stands between Begin and End of a real run: long enough that every
// part of the load did something, which on a busy machine takes a while.
func aRun(r *runningLoad) ([]LoadState, error) {
	r.Begin()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		idle := false
		for _, s := range r.judge.states(r.spec, r.placed, r.before, r.sample(), false) {
			idle = idle || s.Time == 0 || s.Wakeups != nil && *s.Wakeups == 0
		}
		if !idle {
			break
		}
	}
	r.End()
	return r.Stop()
}

func TestBackgroundRunsWhereItShould(t *testing.T) {
	allowed, err := isolation.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	first := cpulist.Of(allowed.First())
	r := startLoad(t, LoadSpec{Spinners: first.String() + "-" + first.String(), Interrupts: 200, Command: []string{"sh", "-c", "while :; do :; done"}, Everywhere: true}, LoadTask{CPUs: first})
	pids := append([]int{r.cmd.Process.Pid}, r.pids...)
	if len(r.pids) != 2+allowed.Len() {
		t.Errorf("%d processes, want 2 and a timer on each of %s", len(r.pids), allowed)
	}
	// It is in this process's session, or it would be another scheduling group.
	for _, pid := range pids {
		if sid, _, e := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0); e != 0 || int(sid) != ownSession(t) {
			t.Errorf("process %d is in session %d, %v", pid, sid, e)
		}
	}
	states, err := aRun(r)
	if err != nil || len(states) != 3 {
		t.Fatalf("%+v, %v", states, err)
	}
	for _, s := range states {
		if s.Fault != "" || s.CPUs == "" || s.RanOn == "" || s.Window <= 0 {
			t.Errorf("%+v", s)
		}
		if s.Kind == LoadSpinners && (s.CPUs != first.String() || s.RanOn != first.String() || s.Time <= 0 || s.Processes != 1) {
			t.Errorf("spinner on CPU %s: %+v", first, s)
		}
		if s.Kind == LoadInterrupts && (s.Wakeups == nil || *s.Wakeups == 0) {
			t.Errorf("%+v", s)
		}
	}
	gone(t, pids...)
}

func ownSession(t *testing.T) int {
	t.Helper()
	sid, _, e := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	if e != 0 {
		t.Fatal(e)
	}
	return int(sid)
}

// A load keeps off the task's CPUs, and is refused where nothing else is left.
func TestBackgroundKeepsOffTheTask(t *testing.T) {
	allowed, err := isolation.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testBackground(allowed).Start(t.Context(), &LoadSpec{Spinners: "1"}, LoadTask{CPUs: allowed}); err == nil || !strings.Contains(err.Error(), "no CPU is left") {
		t.Errorf("beside a task on %s: %v", allowed, err)
	}
	if allowed.Len() < 2 {
		t.Skip("unsupported here: one CPU is not enough for a task and a load")
	}
	task := cpulist.Of(allowed.First())
	states, err := aRun(startLoad(t, LoadSpec{Spinners: "all", Memory: "1"}, LoadTask{CPUs: task}))
	if err != nil || len(states) != 2 {
		t.Fatalf("%+v, %v", states, err)
	}
	for _, s := range states {
		if ran := cpus(t, s.RanOn); s.Fault != "" || ran.Empty() || ran.Intersects(task) || s.CPUs != allowed.Minus(task).String() {
			t.Errorf("beside a task on %s: %+v", task, s)
		}
	}
}

// What happens to a load during the run makes the run void.
func TestBackgroundNoticesWhatBefalls(t *testing.T) {
	allowed, err := isolation.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	stray := func(r *runningLoad) error {
		return exec.Command("taskset", "-pc", allowed.String(), strconv.Itoa(r.pids[0])).Run()
	}
	list := fmt.Sprintf("%d-%d", allowed.First(), allowed.First())
	for _, tt := range []struct {
		name  string
		spec  LoadSpec
		befal func(r *runningLoad) error
		want  string
	}{
		{"stopped", LoadSpec{Spinners: "1"}, func(r *runningLoad) error { return syscall.Kill(r.pids[0], syscall.SIGSTOP) }, "a spinner was stopped"},
		{"killed", LoadSpec{Spinners: "2"}, func(r *runningLoad) error { return syscall.Kill(r.pids[1], syscall.SIGKILL) }, "a spinner has ended"},
		{"a command that ends", LoadSpec{Command: []string{"sleep", "1000"}}, func(r *runningLoad) error { return syscall.Kill(r.pids[0], syscall.SIGTERM) }, `a command "sleep" has ended`},
		{"strayed", LoadSpec{Spinners: list}, stray, "a spinner strayed"},
	} {
		if tt.name == "strayed" && allowed.Len() < 2 {
			continue
		}
		r := startLoad(t, tt.spec, LoadTask{})
		r.Begin()
		if err := tt.befal(r); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		// Signals and masks come into force when the process next runs.
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			now := r.sample()
			states := r.judge.states(r.spec, r.placed, r.before, now, false)
			if strings.HasPrefix(states[0].Fault, tt.want) || time.Now().After(deadline) {
				break
			}
		}
		r.End()
		states, err := r.Stop()
		if err != nil || len(states) != 1 || !strings.HasPrefix(states[0].Fault, tt.want) {
			t.Errorf("%s: %+v, %v, want %q", tt.name, states, err, tt.want)
		}
		gone(t, r.pids...)
	}
}

// A keeper that is killed takes the load with it, and that is said.
func TestKeeperIsKilled(t *testing.T) {
	r := startLoad(t, LoadSpec{Spinners: "1", Command: []string{"sleep", "1000"}}, LoadTask{})
	r.Begin()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, r.pids...)
	r.End()
	states, err := r.Stop()
	if err == nil || !strings.Contains(err.Error(), "cannot end the load: ") {
		t.Errorf("error %v", err)
	}
	if len(states) != 2 || states[0].Fault == "" || states[1].Fault == "" {
		t.Errorf("%+v", states)
	}
}

// A load that cannot come up leaves nothing.
func TestBackgroundThatDoesNotComeUp(t *testing.T) {
	allowed, err := isolation.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	_, err = testBackground(allowed).Start(t.Context(), &LoadSpec{Spinners: "1", Command: []string{"./no-such-command"}}, LoadTask{})
	if err == nil || !strings.Contains(err.Error(), `cannot start command "./no-such-command"`) {
		t.Errorf("%v", err)
	}
	// What ended by itself is not waited for.
	_, err = testBackground(allowed).Start(t.Context(), &LoadSpec{Command: []string{"true"}}, LoadTask{})
	if err == nil || !strings.HasPrefix(err.Error(), `the load did not come up: a command "true" has ended`) {
		t.Errorf("%v", err)
	}
	b := testBackground(allowed)
	b.Keeper = []string{"false"}
	if _, err = b.Start(t.Context(), &LoadSpec{Spinners: "1"}, LoadTask{}); err == nil {
		t.Error("a keeper that ends at once is none")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = testBackground(allowed).Start(ctx, &LoadSpec{Spinners: "1"}, LoadTask{}); err == nil {
		t.Error("an ended context brings up a load")
	}
	if left := descendants(os.Getpid()); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// SIGKILL of the harness ends the keeper and all of the load, also what a
// command put into a session of its own and left.
func TestLoadDiesWithTheHarness(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	script := fmt.Sprintf(`setsid sh -c 'echo $$ > %[1]s.new; mv %[1]s.new %[1]s; exec sleep 1000' & exit 0`, file)
	// The command ends, and what it left is its own: the load is its orphan
	// too, so a loop keeps it.
	script = strings.Replace(script, "exit 0", "while :; do sleep 1; done", 1)
	cmd := exec.Command(os.Args[0], loadRole, "harness", script)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	if err := json.NewDecoder(out).Decode(&pids); err != nil || len(pids) != 3 {
		_ = cmd.Process.Kill()
		t.Fatalf("%v, %v", pids, err)
	}
	var text []byte
	for deadline := time.Now().Add(30 * time.Second); len(text) == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ = os.ReadFile(file)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Error(err)
	} else {
		pids = append(pids, orphan)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(t, pids...)
}

// The load is not taken for a part of the run's tree, whatever its command
// starts meanwhile: nothing is left over, and it lives on.
func TestRunSparesTheLoad(t *testing.T) {
	load := startLoad(t, LoadSpec{Spinners: "1", Command: []string{"sh", "-c", "while :; do (sleep 0.01 &) ; sleep 0.01; done"}}, LoadTask{})
	r := newRunner(t)
	load.Begin()
	res, err := r.Execute(t.Context(), Job{Argv: []string{"sh", "-c", "sleep 1000 & exec sleep 0.2"}, Env: os.Environ()})
	if err != nil || res.Leftover != 1 {
		t.Errorf("%+v, %v, want its own sleep left over alone", res.Leftover, err)
	}
	states, err := aRun(load)
	if err != nil || len(states) != 2 || states[0].Fault+states[1].Fault != "" {
		t.Errorf("%+v, %v", states, err)
	}
}

// The fence around a task is the siblings of its CPUs.
func TestLoadKeepsOutOfTheFence(t *testing.T) {
	root := t.TempDir()
	for cpu, siblings := range []string{"0,2", "1,3", "0,2", "1,3"} {
		dir := filepath.Join(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology", cpu))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "thread_siblings_list"), []byte(siblings+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := Background{Allowed: cpulist.Of(0, 1, 2, 3), Host: host.FS(root)}
	for _, tt := range []struct {
		cpus       string
		fence, all bool
		want       string
	}{{"", true, false, "0-3"}, {"0", false, false, "1-3"}, {"0", true, false, "1,3"}, {"0", true, true, "0-3"}} {
		task, err := b.taken(LoadTask{CPUs: cpus(t, tt.cpus), Fence: tt.fence})
		if err != nil {
			t.Fatal(err)
		}
		ps, err := (&LoadSpec{Spinners: "1", Everywhere: tt.all}).Place(b.Allowed, task)
		if err != nil || len(ps) != 1 || ps[0].CPUs != tt.want {
			t.Errorf("beside %+v: %+v, %v, want CPUs %s", tt, ps, err, tt.want)
		}
	}
	bad := filepath.Join(root, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
	if err := os.WriteFile(bad, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.taken(LoadTask{CPUs: cpulist.Of(0), Fence: true}); err == nil || !strings.Contains(err.Error(), "cannot keep the load out of the fence") {
		t.Errorf("an unreadable topology: %v", err)
	}
}

// Root is not a command's to have when somebody else is known; the loops are
// this program's own.
func TestLoadCommandRunsAsTheUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("unsupported here: only root can become somebody else")
	}
	r := startLoad(t, LoadSpec{Spinners: "1", Command: []string{"sh", "-c", "while :; do :; done"}}, LoadTask{User: "65534"})
	for i, want := range []string{"Uid:\t0\t", "Uid:\t65534\t65534\t65534\t65534"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.pids[i]))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("process %d: %v, want %q in\n%s", i, err, want, text)
		}
	}
	home := "/" // of a user who is only a number
	if u, err := user.LookupId("65534"); err == nil {
		home = u.HomeDir
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.pids[1]))
	if err != nil || !strings.Contains("\x00"+string(env), "\x00HOME="+home+"\x00") {
		t.Errorf("the command's environment, %v: %q, want HOME=%s", err, env, home)
	}
}

// A system that tells nothing of processes, as one without /proc: the load is
// judged by what its keeper says that it used.
func TestBackgroundWithoutProc(t *testing.T) {
	b := Background{Keeper: []string{os.Args[0], loadRole}, Env: os.Environ(), Host: host.FS(t.TempDir())}
	l, err := b.Start(t.Context(), &LoadSpec{Spinners: "2"}, LoadTask{})
	if err != nil {
		t.Fatal(err)
	}
	l.Begin()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		a, aerr := host.Local.Process(l.(*runningLoad).pids[0])
		if aerr != nil || a.User > 0 {
			break
		}
	}
	l.End()
	states, err := l.Stop()
	if err != nil || len(states) != 1 || states[0].Processes != 2 || states[0].CPUs != "" || states[0].RanOn != "" || states[0].Time <= 0 || states[0].Window <= 0 {
		t.Errorf("%+v, %v", states, err)
	}
	if _, err := b.Start(t.Context(), &LoadSpec{Spinners: "0-1"}, LoadTask{}); err == nil || !strings.Contains(err.Error(), "has no CPU affinity") {
		t.Errorf("a list of CPUs: %v", err)
	}
}

package isolation

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"goset/cpulist"
)

// startHeld starts a child that ends with its stdin, as a Held wants it. The
// calls of the birth are made on a thread that ends after the fork: what they
// change about a thread, its child inherits.
func startHeld(t *testing.T, h *Held, words ...string) (cmd *exec.Cmd, in io.WriteCloser) {
	t.Helper()
	c, err := h.Command(Command{Argv: words, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = c.Env
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		_, err := h.Start(func(b Birth) (int, error) {
			for _, c := range b.Calls {
				if _, _, e := unix.RawSyscall6(c.Nr, c.Args[0], c.Args[1], c.Args[2], c.Args[3], c.Args[4], 0); e != 0 {
					return 0, errors.Join(errors.New(c.What), e)
				}
			}
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			return cmd.Process.Pid, nil
		})
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return cmd, in
}

// layerState finds the state of a layer.
func layerState(t *testing.T, h *Held, layer string) LayerState {
	t.Helper()
	states := h.States()
	i := slices.IndexFunc(states, func(s LayerState) bool { return s.Layer == layer })
	if i < 0 {
		t.Fatalf("no state of %q in %+v", layer, states)
	}
	return states[i]
}

// needs skips a test of layers that this machine or user cannot have.
func needs(t *testing.T, m Mode) {
	t.Helper()
	if f := Check(m); len(f) > 0 {
		t.Skipf("unsupported here: %v", f.Err())
	}
}

func TestLayersOfTheChild(t *testing.T) {
	for _, test := range []struct {
		mode     Mode
		layer    string
		achieved string
	}{
		{Mode{Nice: ptr(5)}, "nice", "5"},
		{Mode{Nice: ptr(-5)}, "nice", "-5"},
		{Mode{Nice: ptr(0)}, "nice", "0"},
		{Mode{FIFO: 1}, "fifo", "1"},
		{Mode{ASLR: ptr(false)}, "aslr", "false"},
		{Mode{ASLR: ptr(true)}, "aslr", "true"},
		{Mode{THP: "never"}, "thp", "never"},
		{Mode{THP: "madvise"}, "thp", "madvise"},
		{Mode{THP: "always"}, "thp", "always"},
		{Mode{StableEnv: true}, "stable_env", "true"},
		{Mode{EnvSize: 8192, StableEnv: true}, "env_size", "8192"},
		{Mode{User: "nobody", FIFO: 1}, "user", "nobody (65534)"},
		{Mode{Wrap: []string{"env", "-u", "NOTHING"}}, "wrap", ""},
	} {
		t.Run(test.layer+"="+test.achieved, func(t *testing.T) {
			needs(t, test.mode)
			h, err := applyAlone(test.mode, cpulist.Set{})
			if err != nil {
				t.Fatal(err)
			}
			cmd, in := startHeld(t, h, "cat")
			for range 2 {
				h.Check(cmd.Process.Pid)
			}
			end(t, cmd, in)
			if err := h.Release(); err != nil {
				t.Error(err)
			}
			s := layerState(t, h, test.layer)
			if !s.Held || test.achieved != "" && s.Achieved != test.achieved {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Where autogroups are on, the nice value of a task counts against other
// sessions only when its autogroup has it too.
func TestNiceReachesTheAutogroup(t *testing.T) {
	switch text, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled"); {
	case errors.Is(err, fs.ErrNotExist), err == nil && string(text) == "0\n":
		t.Skipf("unsupported here: no autogroups (%q, %v)", text, err)
	case err != nil:
		t.Fatal(err)
	}
	m := Mode{Nice: ptr(-7)}
	needs(t, m)
	h, err := applyAlone(m, cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	cmd, in := startHeld(t, h, "setsid", "cat")
	// setsid makes the session in its own process: it leads no group.
	group := func() (string, error) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/autogroup")
		return strings.TrimSpace(string(text)), err
	}
	own, err := os.ReadFile("/proc/self/autogroup")
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { text, err := group(); return err == nil && groupName(text) != groupName(string(own)) })
	h.Check(cmd.Process.Pid)
	text, err := group()
	end(t, cmd, in)
	if got, perr := parseAutogroup(text); err != nil || perr != nil || got != -7 {
		t.Errorf("%q, %v, %v", text, err, perr)
	}
	if s := layerState(t, h, "nice"); !s.Held || s.Note != "" {
		t.Errorf("%+v", s)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile("/proc/self/autogroup"); err != nil || string(after) != string(own) {
		t.Errorf("this process's autogroup was %q and is %q, %v", own, after, err)
	}
}

// What a child does to itself is found.
func TestLayersOfTheChildThatDoNotHold(t *testing.T) {
	for _, test := range []struct {
		mode   Mode
		layer  string
		words  []string
		change func(pid int) error
	}{
		{Mode{Nice: ptr(5)}, "nice", []string{"cat"}, func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 7) }},
		{Mode{Wrap: []string{"taskset", "-c", "0"}, CPUs: "1"}, "wrap", []string{"cat"}, nil},
	} {
		needs(t, test.mode)
		cpus, err := cpulist.Parse(test.mode.CPUs)
		if err != nil {
			t.Fatal(err)
		}
		h, err := applyAlone(test.mode, cpus)
		if err != nil {
			t.Fatal(err)
		}
		cmd, in := startHeld(t, h, test.words...)
		if test.change != nil {
			if err := test.change(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
		} else {
			// The wrapper has done its work once the task answers.
			waitFor(t, func() bool {
				text, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/comm")
				return string(text) == "cat\n"
			})
		}
		h.Check(cmd.Process.Pid)
		end(t, cmd, in)
		if err := h.Release(); err != nil {
			t.Error(err)
		}
		if s := layerState(t, h, test.layer); s.Held || s.Note == "" {
			t.Errorf("%+v", s)
		}
	}
}

// A child that runs as somebody else has that user's home and nothing of
// root's, and this process stays as it was.
func TestUser(t *testing.T) {
	needs(t, Mode{User: "nobody"})
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := applyAlone(Mode{User: "nobody"}, cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Command(Command{Argv: []string{"x"}, Env: []string{"HOME=/root", "USER=root", "A=1"}})
	home, _ := getEnv(c.Env, "HOME")
	name, _ := getEnv(c.Env, "USER")
	if err != nil || home == "/root" || home == "" || name != "nobody" || !slices.Contains(c.Env, "A=1") {
		t.Errorf("%q, %v", c.Env, err)
	}
	cmd, in := startHeld(t, h, "cat")
	text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status")
	end(t, cmd, in)
	if caps, ok := statusField(string(text), "CapEff"); err != nil || !ok || strings.Trim(caps, "0") != "" {
		t.Errorf("capabilities %q, %v", caps, err)
	}
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || now != dumpable {
		t.Errorf("this process was dumpable %d and is %d, %v", dumpable, now, err)
	}
	if unix.Geteuid() != 0 {
		t.Errorf("this process became user %d", unix.Geteuid())
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}

func TestUserThatIsNotThere(t *testing.T) {
	for _, name := range []string{"no-such-user", "-1", "4294967295"} {
		f := Check(Mode{User: name})
		if len(f) != 1 || f[0].Layer != "user" || !strings.Contains(f[0].Reason, name) || f[0].Hint == "" {
			t.Errorf("%q: %v", name, f.Err())
		}
	}
	own := strconv.Itoa(unix.Getuid())
	if f := Check(Mode{User: own}); len(f) != 0 {
		t.Errorf("the own user: %v", f.Err())
	}
}

// The huge pages of this process are its own again after the fork.
func TestTHPIsPutBack(t *testing.T) {
	needs(t, Mode{THP: "never"})
	before := thpDisabled(t)
	h, err := applyAlone(Mode{THP: "never"}, cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	during := before
	if _, err := h.Start(func(Birth) (int, error) { during = thpDisabled(t); return 0, syscall.EAGAIN }); !errors.Is(err, syscall.EAGAIN) {
		t.Error(err)
	}
	if during != 1 || thpDisabled(t) != before {
		t.Errorf("before %d, during the fork %d, after %d", before, during, thpDisabled(t))
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}

func thpDisabled(t *testing.T) int {
	t.Helper()
	v, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A size that cannot be reached refuses the run, and a mode that lets go of it
// goes on without.
func TestCommandRefuses(t *testing.T) {
	for _, optional := range []bool{false, true} {
		m := Mode{Name: "m", EnvSize: 1}
		if optional {
			m = m.BestEffort()
		}
		h, err := applyAlone(m, cpulist.Set{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.Command(Command{Argv: []string{"true"}, Env: []string{"A=1"}})
		var u *Unsupported
		if optional && (err != nil || !slices.Equal(c.Env, []string{"A=1"}) || !layerState(t, h, "env_size").Optional) {
			t.Errorf("optional: %q, %v, %+v", c.Env, err, h.States())
		}
		if !optional && (!errors.As(err, &u) || u.Layer != "env_size" || u.Mode != "m") {
			t.Error(err)
		}
		if err := h.Release(); err != nil {
			t.Error(err)
		}
	}
}

// waitFor polls for what has no other sign.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not happen")
}

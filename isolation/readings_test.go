//go:build linux

package isolation

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"goset/cpulist"
)

// execHeld is a run on a fake machine whose child, process 50, was given an
// environment of 8 bytes.
func execHeld(t *testing.T, k *knobKernel) *Held {
	t.Helper()
	r := k.run(t, Mode{EnvSize: 8}, "")
	return &Held{run: r, layers: []layer{newEnvSizeLayer(r)}}
}

// A child is read only once it is past its exec and its program is loaded, and
// not when it has ended.
func TestExecIsAwaited(t *testing.T) {
	const own, given = "GOSET=own\x00", "A=12345\x00"
	k := newKnobKernel(map[string]string{})
	read := false
	k.onRead = func(path string) { read = read || strings.HasSuffix(path, "environ") }
	h := execHeld(t, k)
	for _, step := range []struct {
		what    string
		flags   uint64
		state   string
		environ string
		refuses syscall.Errno
		read    bool
		unread  bool
	}{
		{what: "not there", unread: true},
		{what: "before its exec", state: "R", flags: flagForkNoExec, environ: own, unread: true},
		{what: "its program is being loaded", state: "R", read: true, unread: true},
		{what: "of another user", state: "S", refuses: syscall.EACCES, read: true, unread: true},
		{what: "has ended", state: "Z", environ: own, unread: true},
		{what: "loaded", state: "R", environ: given, read: true},
		{what: "has changed it since", state: "R", environ: own},
	} {
		delete(k.files, "/proc/50/stat")
		if step.state != "" {
			k.addTask(50, "x", "0", step.flags)
			k.files["/proc/50/stat"] = strings.Replace(k.files["/proc/50/stat"], ") S", ") "+step.state, 1)
		}
		k.files["/proc/50/environ"], k.reads["/proc/50/environ"] = step.environ, nil
		if step.refuses != 0 {
			k.reads["/proc/50/environ"] = step.refuses
		}
		h.execed, read = false, false
		h.CheckExec(50)
		if h.Unread() != step.unread || read != step.read {
			t.Errorf("%s: unread %t, its environment was asked for %t", step.what, h.Unread(), read)
		}
	}
	if s := h.States(); len(s) != 1 || !s[0].Held || s[0].Unread || s[0].Achieved != "8" || s[0].Note != "" {
		t.Errorf("states %+v", s)
	}
}

func TestExecReadings(t *testing.T) {
	for _, test := range []struct {
		environ string
		refuses syscall.Errno
		want    LayerState
	}{
		{"", 0, LayerState{Achieved: "8", Held: true, Unread: true, Note: "not read back (the process had ended before it could be): it is what its exec was given"}},
		{"", syscall.EPERM, LayerState{Achieved: "8", Held: true, Unread: true, Note: "not read back (read /proc/50/environ: operation not permitted): it is what its exec was given"}},
		{"A=12345\x00", 0, LayerState{Achieved: "8", Held: true}},
		{"A=1234\x00", 0, LayerState{Achieved: "7", Note: "the environment of process 50 was 7"}},
		{"A=123456\x00", 0, LayerState{Achieved: "more than 8", Note: "the environment of process 50 was more than 8"}},
		{"A=" + strings.Repeat("1", 5000), 0, LayerState{Achieved: "more than 8", Note: "the environment of process 50 was more than 8"}},
	} {
		k := newKnobKernel(map[string]string{"/proc/50/environ": test.environ})
		k.addTask(50, "x", "0", 0)
		if test.refuses != 0 {
			k.reads["/proc/50/environ"] = test.refuses
		}
		h := execHeld(t, k)
		for range 2 {
			h.Check(50)
		}
		test.want.Layer, test.want.Asked = "env_size", "8"
		if s := h.States(); len(s) != 1 || s[0] != test.want {
			t.Errorf("%.20q: %+v, want %+v", test.environ, s, test.want)
		}
	}
}

// A process that has ended and is not waited for still tells its personality, to
// root alone, and nothing of its memory. What it was given counts, and is said
// not to be read.
func TestLayersOfAChildThatHasEnded(t *testing.T) {
	m := Mode{ASLR: ptr(false), THP: "never", StableEnv: true, EnvSize: 4096}
	needs(t, m)
	h, err := applyAlone(m, cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	cmd, in := startHeld(t, h, "true")
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	h.Check(cmd.Process.Pid)
	end(t, cmd, in)
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	for layer, achieved := range map[string]string{"aslr": "false", "thp": "never", "stable_env": "true", "env_size": "4096"} {
		s := layerState(t, h, layer)
		told := layer == "aslr" && unix.Geteuid() == 0
		if !s.Held || s.Achieved != achieved || s.Unread == told || (s.Note == "") != told {
			t.Errorf("%+v", s)
		}
	}
}

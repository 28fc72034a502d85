//go:build linux

package isolation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"goset/host"
)

// readOnly answers as a mount that is read-only does, below it and at it.
func readOnly(mount, path string) error {
	if mount != "" && (path == mount || strings.HasPrefix(path, mount+"/")) {
		return &fs.PathError{Op: "write", Path: path, Err: unix.EROFS}
	}
	return nil
}

func (k *fakeKernel) writable(path string) error { return readOnly(k.closed, path) }
func (k *knobKernel) writable(path string) error { return readOnly(k.closed, path) }

// refusedBy admits a mode on a machine that would hold it, but for what is
// read-only there.
func refusedBy(t *testing.T, k kernel, m Mode) Findings {
	t.Helper()
	r := &applied{mode: m, cpus: fixedCPUs(m), fenced: fixedCPUs(m), kernel: k}
	_, f := r.admit()
	return f
}

// Every layer that writes says before it does so that it cannot, with the name of
// the file and a way out; what is not written to on that mount goes on.
func TestReadOnlyMounts(t *testing.T) {
	knobs := func(closed string) kernel { k, _ := everyKnob(); k.closed = closed; return k }
	v2 := func(closed string) kernel { k := newFake(t, false); k.closed = closed; return k }
	v1 := func(closed string) kernel { k := newFake(t, true); k.closed = closed; return k }
	no := false
	for _, test := range []struct {
		machine func(closed string) kernel
		mode    Mode
		closed  string
		layers  string // that are refused
		file    string // that the first of them names
	}{
		{knobs, Mode{CPUs: "2", Steer: true}, "", "", ""},
		{knobs, Mode{CPUs: "2", Steer: true}, "/proc/irq", "steer", defaultMaskFile},
		{knobs, Mode{CPUs: "2", Steer: true}, "/proc/irq/1", "steer", "/proc/irq/1/smp_affinity_list"},
		{knobs, Mode{CPUs: "2", Steer: true}, "/sys", "", ""},
		{knobs, Mode{CPUs: "2", SMT: &no}, "/sys", "smt", cpuFolder + "/cpu1/online"},
		{knobs, Mode{CPUs: "2", SMT: &no}, "/proc/irq/2", "smt", "/proc/irq/2/smp_affinity_list"}, // bound to CPU 3 alone
		{knobs, Mode{CPUs: "2", SMT: &no}, "/proc/irq/3", "", ""},                                 // not alone
		{knobs, Mode{CPUs: "2", Governor: "performance"}, "/sys", "governor", policyFolder + "/policy2/scaling_governor"},
		{knobs, Mode{CPUs: "2", Governor: "performance"}, "/proc", "", ""},
		{knobs, Mode{CPUs: "2", Frequency: "2GHz"}, "/sys", "frequency", policyFolder + "/policy2/scaling_min_freq"},
		{knobs, Mode{Turbo: &no}, "/sys", "turbo", policyFolder + "/boost"},
		{knobs, Mode{Turbo: ptr(true)}, "/sys", "", ""}, // it is on already
		{v2, Mode{CPUs: "2", Cgroup: "true"}, "", "", ""},
		{v2, Mode{CPUs: "2", Cgroup: "true", Memory: "1GiB", CPUQuota: "50%"}, fakeRoot, "cgroup,memory,cpu_quota", fakeRoot},
		{v2, Mode{CPUs: "2", Cgroup: "true"}, fakeRoot + "/cgroup.subtree_control", "cgroup", fakeRoot + "/cgroup.subtree_control"},
		{v2, Mode{Memory: "1GiB"}, fakeRoot + "/cgroup.subtree_control", "", ""}, // the controller is on
		{v2, Mode{CPUQuota: "1"}, fakeRoot + "/cgroup.subtree_control", "cpu_quota", fakeRoot + "/cgroup.subtree_control"},
		{v2, Mode{CPUs: "2", Cgroup: "true"}, "/sys/devices", "cgroup", workqueueMask},
		{v2, Mode{CPUs: "0-7", Cgroup: "member"}, "/sys/devices", "", ""}, // no CPU would be left for the workers
		{v1, Mode{CPUs: "2", Cgroup: "true", Shield: true}, fakeRootV1, "cgroup,shield", fakeRootV1},
		{v1, Mode{CPUs: "2", Cgroup: "true", Shield: true}, fakeRootV1 + "/cpuset.sched_load_balance", "shield", fakeRootV1 + "/cpuset.sched_load_balance"},
		{v1, Mode{CPUs: "2", Cgroup: "true"}, "/sys/devices", "cgroup", workqueueMask},
	} {
		f := refusedBy(t, test.machine(test.closed), test.mode)
		if got := strings.Join(f.Layers(), ","); got != test.layers {
			t.Errorf("%+v with %q read-only: refused %q, want %q: %v", test.mode, test.closed, got, test.layers, f.Err())
			continue
		}
		if test.layers != "" && !strings.HasPrefix(f[0].Reason, "cannot write "+test.file+": read-only file system") {
			t.Errorf("%+v with %q read-only: %v", test.mode, test.closed, f[0])
		}
		for _, u := range f {
			if !strings.Contains(u.Hint, u.Layer) && u.Layer != "shield" || u.Hint == "" {
				t.Errorf("the way out of %v", u)
			}
		}
	}
}

// Kernels that take their workers along need no mask for an isolated partition.
func TestReadOnlyWorkersOfNewKernels(t *testing.T) {
	for asked, want := range map[string]string{"true": "", "isolated": "", "root": "cgroup", "member": "cgroup"} {
		k := newFake(t, false)
		k.files[workqueueRequested], k.closed = "ff", "/sys/devices"
		if got := strings.Join(refusedBy(t, k, Mode{CPUs: "2", Cgroup: asked}).Layers(), ","); got != want {
			t.Errorf("%s: refused %q, want %q", asked, got, want)
		}
	}
}

// A shield without the task's cpuset would move the task out of the way, too.
func TestShieldNeedsTheCpuset(t *testing.T) {
	k := newFake(t, true)
	k.closed = "/sys/devices"
	for _, optional := range [][]string{nil, {"cgroup"}} {
		m := Mode{CPUs: "2", Cgroup: "true", Shield: true, Optional: optional}
		if got := strings.Join(refusedBy(t, k, m).Layers(), ","); got != "cgroup,shield" {
			t.Errorf("refused %q", got)
		}
	}
	k.closed = ""
	k.fault = func(_ *fakeKernel, what string) error {
		if strings.HasPrefix(what, "mkdir") {
			return unix.ENOSPC
		}
		return nil
	}
	h, err := hold(t, k, Mode{CPUs: "2", Cgroup: "true", Shield: true, Optional: []string{"cgroup"}})
	var u *Unsupported
	if h != nil || !errors.As(err, &u) || u.Layer != "shield" {
		t.Errorf("held %v, %v", h, err)
	}
}

// The kernel's own answer: a folder that is read-only to its superuser, one that is
// not, and one that is not there.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "knob"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := machine{root: host.FS(dir)}
	if err := m.writable("/knob"); err != nil {
		t.Error(err)
	}
	if err := m.writable("/nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if os.Geteuid() != 0 {
		if err := (machine{}).writable("/proc/irq"); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		return
	}
	inMountNamespace(t, func() {
		if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Error(err)
			return
		}
		if err := m.writable("/knob"); !errors.Is(err, unix.EROFS) {
			t.Errorf("a read-only mount: %v", err)
		}
	})
	if text, err := os.ReadFile(filepath.Join(dir, "knob")); err != nil || string(text) != "1" {
		t.Errorf("asking wrote %q, %v", text, err)
	}
}

// inMountNamespace runs do on a thread with mounts of its own, which end with it.
func inMountNamespace(t *testing.T, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; errors.Is(err, unix.EPERM) {
		t.Skipf("no mount namespaces here: %v", err)
	} else if err != nil {
		t.Error(err)
	}
}

// What may be known about a layer before it is held is told with its state, too.
func TestCpusetThatIsOpenToOthers(t *testing.T) {
	const v1, member = "version 1 keeps nobody off without -shield", "a member keeps nobody off"
	for _, test := range []struct {
		v1   bool
		mode Mode
		text string
	}{
		{true, Mode{CPUs: "2", Cgroup: "true"}, v1}, {true, Mode{CPUs: "2", Cgroup: "member"}, v1},
		{true, Mode{CPUs: "2", Cgroup: "true", Shield: true}, ""},
		{false, Mode{CPUs: "2", Cgroup: "true"}, ""}, {false, Mode{CPUs: "2", Cgroup: "member"}, member},
	} {
		k := newFake(t, test.v1)
		h, err := hold(t, k, test.mode)
		if err != nil {
			t.Fatal(err)
		}
		h.Check(child(t, k, h))
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		s := stateOf(t, h, "cgroup")
		if !s.Held || !strings.Contains(s.Note, test.text) || !strings.Contains(s.Warning, test.text) {
			t.Errorf("%+v: %+v", test.mode, s)
		}
		if open := strings.Contains(s.Note, "others may run there"); open != (test.text != "") || test.v1 && open != strings.Contains(s.Achieved, "open to others") {
			t.Errorf("%+v: %+v", test.mode, s)
		}
		l := slices.IndexFunc(h.layers, func(l layer) bool { return l.key() == "cgroup" })
		if got := h.layers[l].(*cgroupLayer).caveat(h.run); !strings.Contains(got, test.text) || (got == "") != (test.text == "") {
			t.Errorf("%+v: caveat %q", test.mode, got)
		}
	}
	// A shield that is let go of is none.
	k := newFake(t, true)
	k.fault = func(_ *fakeKernel, what string) error {
		if strings.Contains(what, "sched_load_balance") {
			return unix.EIO
		}
		return nil
	}
	h, err := hold(t, k, Mode{CPUs: "2", Cgroup: "true", Shield: true, Optional: []string{"shield"}})
	if err != nil {
		t.Fatal(err)
	}
	h.Check(child(t, k, h))
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(t, h, "cgroup"); !strings.Contains(s.Note, v1) {
		t.Errorf("without its shield: %+v", s)
	}
}

// Caveats are of modes that can be held here.
func TestCaveats(t *testing.T) {
	if c := Caveats(Mode{Name: "m"}); len(c) != 0 {
		t.Errorf("of nothing: %v", c)
	}
	m := Mode{Name: "m", CPUs: "quietest", Cgroup: "true"}
	needs(t, m)
	sets, err := findCpusets(machine{})
	if err != nil {
		t.Fatal(err)
	}
	want := 1
	if sets.unified {
		want = 0
	}
	c := Caveats(m)
	if len(c) != want || want == 1 && (c[0].Mode != "m" || c[0].Layer != "cgroup" || !strings.Contains(c[0].Text, "keeps nobody off")) {
		t.Errorf("%+v", c)
	}
	m.Shield = true
	if c := Caveats(m); len(c) != 0 {
		t.Errorf("with a shield: %+v", c)
	}
}

// A journal needs a folder that can be written, or made.
func TestStateFault(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		path string
		good bool
	}{{dir, true}, {filepath.Join(dir, "new"), true}, {filepath.Join(dir, "no", "where"), false}, {"/proc/self/x", false}} {
		if err := stateFault(test.path); (err == nil) != test.good || err != nil && !strings.Contains(err.Error(), test.path) {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("asking made %v, %v", names, err)
	}
}

//go:build linux

package isolation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// irqMachine has 4 CPUs in 2 cores and these interrupts: 24 on CPU 2, alone;
// 25 on CPU 3, allowed on all; 26 idle on CPU 2, so that it moves later; 27 a
// managed queue on CPU 2; 28 elsewhere; 29 without a handler.
func irqMachine() *knobKernel {
	k := newKnobKernel(map[string]string{cpuFolder + "/online": "0-3", defaultMaskFile: "f"})
	for cpu := range 4 {
		first := cpu &^ 1
		k.files[fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuFolder, cpu)] = fmt.Sprintf("%d-%d", first, first+1)
	}
	k.addIRQ(24, "eth0-rx", "2", "2")
	k.addIRQ(25, "eth0-tx", "0-3", "3")
	k.addIRQ(26, "idle", "0-3", "2")
	k.addIRQ(27, "nvme0q1", "2", "2")
	k.addIRQ(28, "ttyS0", "0-3", "0")
	k.addIRQ(29, "", "2", "2")
	k.writes[affinityFile(26)] = func(v string) error { k.files[affinityFile(26)] = v; return nil }
	k.writes[affinityFile(27)] = func(string) error { return syscall.EIO }
	k.writes[affinityFile(29)] = func(string) error { panic("an interrupt without a handler was written") }
	return k
}

// addIRQ adds an interrupt that moves at once.
func (k *knobKernel) addIRQ(n int, name, mask, effective string) {
	k.files[affinityFile(n)] = mask
	route := fmt.Sprintf("/proc/irq/%d/effective_affinity_list", n)
	k.files[route] = effective
	k.files[fmt.Sprintf("/sys/kernel/irq/%d/actions", n)] = name
	k.writes[affinityFile(n)] = func(v string) error {
		k.files[affinityFile(n)] = v
		k.files[route] = v[:1]
		return nil
	}
	k.listIRQs()
}

// listIRQs writes /proc/interrupts for those that have a handler.
func (k *knobKernel) listIRQs() {
	text := "           CPU0       CPU1       CPU2       CPU3\n"
	for n := range 64 {
		if name := k.files[fmt.Sprintf("/sys/kernel/irq/%d/actions", n)]; name != "" {
			text += fmt.Sprintf("%3d:          0          0          5          0  PCI-MSI %d-edge      %s\n", n, n, name)
		}
	}
	k.files["/proc/interrupts"] = strings.TrimRight(text, "\n")
}

func (k *knobKernel) removeIRQ(n int) {
	delete(k.files, affinityFile(n))
	delete(k.files, fmt.Sprintf("/proc/irq/%d/effective_affinity_list", n))
	delete(k.files, fmt.Sprintf("/sys/kernel/irq/%d/actions", n))
	k.listIRQs()
}

// steering puts the layer in force for a task on CPU 2, whose core is 2-3.
func steering(t *testing.T, k *knobKernel) (*applied, *steerLayer) {
	t.Helper()
	r := k.run(t, Mode{Steer: true}, "2")
	l := newSteerLayer(r).(*steerLayer)
	l.pause = 0
	if err := l.enforce(r); err != nil {
		t.Fatal(err)
	}
	return r, l
}

// withoutRoutes drops where interrupts go, which is theirs to choose.
func withoutRoutes(state map[string]string) map[string]string {
	state = maps.Clone(state)
	maps.DeleteFunc(state, func(name, _ string) bool { return strings.HasSuffix(name, "effective_affinity_list") })
	return state
}

// Interrupts that a driver sets up during the run have the run's default. After
// it they get the default from before, or what they had when their number was
// there before; one that cannot be moved is left.
func TestSteerInterruptsThatAreBorn(t *testing.T) {
	k := irqMachine()
	r, l := steering(t, k)
	k.addIRQ(30, "new", "0-1", "0")
	k.addIRQ(31, "nvme1q1", "0-1", "0")
	k.writes[affinityFile(31)] = func(string) error { return syscall.EIO }
	k.addIRQ(32, "elsewhere", "0", "0")
	k.addIRQ(28, "ttyS0", "0-1", "0") // was 0-3
	for range 2 {
		l.check(r, moment{phase: duringRun, pid: 9})
	}
	l.check(r, moment{phase: afterRun})
	if s := l.state(); !s.Held {
		t.Errorf("%+v", s)
	}
	if u := r.journal.UndoTo(0); u.Err != nil || len(u.Left) > 0 {
		t.Errorf("undo: %+v", u)
	}
	for n, want := range map[int]string{28: "0-3", 30: "0-3", 31: "0-1", 32: "0"} {
		if got := k.files[affinityFile(n)]; got != want {
			t.Errorf("interrupt %d is left on %s, want %s", n, got, want)
		}
	}
}

// An interrupt that comes while its mask is written lets the old one be read for
// a moment.
func TestSteerDuringAStorm(t *testing.T) {
	k := irqMachine()
	file := affinityFile(24)
	reads := 0
	k.writes[file] = func(v string) error {
		reads = 2
		k.onRead = func(path string) {
			if path == file && reads > 0 {
				if reads--; reads == 0 {
					k.files[file] = v
				}
			}
		}
		return nil
	}
	_, l := steering(t, k)
	if l.irqs[24].verdict == "" || k.files[file] != "0-1" {
		t.Errorf("interrupt 24: %+v on %s", l.irqs[24], k.files[file])
	}
}

func TestSteer(t *testing.T) {
	k := irqMachine()
	before := withoutRoutes(k.state())
	r, l := steering(t, k)
	for n, want := range map[int]string{24: "0-1", 25: "0-1", 26: "0-1", 27: "2", 28: "0-3", 29: "2"} {
		if got := k.files[affinityFile(n)]; got != want {
			t.Errorf("interrupt %d is on %s, want %s", n, got, want)
		}
	}
	l.check(r, moment{phase: duringRun, pid: 9})
	l.check(r, moment{phase: afterRun})
	s := l.state()
	if !s.Held || s.Achieved != "off 2-3: applied 3, rejected 1, remaining 2, drift 0" {
		t.Errorf("%+v", s)
	}
	for _, part := range []string{"pending: 26 idle", "refused: 27 nvme0q1"} {
		if !strings.Contains(s.Note, part) {
			t.Errorf("note %q lacks %q", s.Note, part)
		}
	}
	if !strings.HasPrefix(strings.TrimLeft(k.files[defaultMaskFile], "0,"), "3") {
		t.Errorf("the default mask is %s", k.files[defaultMaskFile])
	}
	if u := k.undo(t, r, maps.Collect(func(yield func(string, string) bool) {
		for name, text := range before {
			if name != defaultMaskFile && !yield(name, text) {
				return
			}
		}
	})); len(u.Left) > 0 || !sameMask(k.files[defaultMaskFile], "f") {
		t.Errorf("left: %v, default %s", u.Left, k.files[defaultMaskFile])
	}
}

func TestSteerDuringTheRun(t *testing.T) {
	k := irqMachine()
	r, l := steering(t, k)
	// The idle one occurs and moves; a driver moves 24 back; 25 is freed; a
	// new device comes up on the fence in spite of the default.
	k.files["/proc/irq/26/effective_affinity_list"] = "0"
	k.files[affinityFile(24)], k.files["/proc/irq/24/effective_affinity_list"] = "3", "3"
	k.removeIRQ(25)
	k.addIRQ(30, "usb", "2", "2")
	l.check(r, moment{phase: duringRun, pid: 9})
	l.check(r, moment{phase: afterRun})
	s := l.state()
	if s.Held || s.Achieved != "off 2-3: applied 3, rejected 1, remaining 1, drift 2" || !strings.Contains(s.Note, "vanished: 25 eth0-tx") || !strings.Contains(s.Note, "moved it back to 3") {
		t.Errorf("%+v", s)
	}
	if k.files[affinityFile(24)] != "0-1" || k.files[affinityFile(30)] != "0-1" {
		t.Errorf("24 is on %s, 30 on %s", k.files[affinityFile(24)], k.files[affinityFile(30)])
	}
	u := r.journal.UndoTo(0)
	// What the driver gave 24 comes back, and is then not ours to undo.
	if u.Err != nil || k.files[affinityFile(24)] != "3" || k.files[affinityFile(30)] != "2" || len(u.Left) != 1 || !strings.Contains(u.Left[0], "(eth0-rx)") {
		t.Errorf("%+v; 24 is on %s", u, k.files[affinityFile(24)])
	}
}

func TestSteerGivesUpAFight(t *testing.T) {
	k := irqMachine()
	r, l := steering(t, k)
	for range 2 * maxMoves {
		k.files[affinityFile(24)], k.files["/proc/irq/24/effective_affinity_list"] = "2", "2"
		l.check(r, moment{phase: duringRun, pid: 9})
	}
	if s := l.state(); s.Held || l.irqs[24].moves != maxMoves || !strings.Contains(s.Note, "failed: 24 eth0-rx") {
		t.Errorf("%+v after %d moves", s, l.irqs[24].moves)
	}
}

// An interrupt whose number is another device's by the time of the undo is not
// touched.
func TestSteerLeavesAReusedNumber(t *testing.T) {
	k := irqMachine()
	r, _ := steering(t, k)
	k.files["/sys/kernel/irq/24/actions"] = "another"
	k.listIRQs()
	k.log = nil
	if u := r.journal.UndoTo(0); u.Err != nil || slices.ContainsFunc(k.log, func(w string) bool { return strings.HasPrefix(w, affinityFile(24)) }) {
		t.Errorf("%+v; written %v", u, k.log)
	}
}

func TestSteerErrors(t *testing.T) {
	for errno, want := range map[syscall.Errno]verdict{
		syscall.EIO: irqRefused, syscall.EPERM: irqRefused, syscall.ENOSPC: irqFailed, syscall.EBUSY: irqFailed, syscall.ENOENT: irqVanished,
	} {
		k := irqMachine()
		k.writes[affinityFile(24)] = func(string) error { return errno }
		_, l := steering(t, k)
		if got := l.irqs[24].verdict; got != want {
			t.Errorf("%v is %s, want %s", errno, got, want)
		}
		if held := l.state().Held; held != (want != irqFailed) {
			t.Errorf("%v: held %t", errno, held)
		}
	}
	k := irqMachine()
	k.writes[defaultMaskFile] = func(string) error { return syscall.EROFS }
	r := k.run(t, Mode{Steer: true}, "2")
	if err := newSteerLayer(r).enforce(r); err == nil || !strings.Contains(err.Error(), "container") {
		t.Errorf("a read-only /proc: %v", err)
	}
	r = irqMachine().run(t, Mode{Steer: true}, "0,2")
	if err := newSteerLayer(r).enforce(r); err == nil || !strings.Contains(err.Error(), "no CPU is left for the interrupts") {
		t.Errorf("no CPU left: %v", err)
	}
}

const irqbalanceRuns = "LoadState=loaded\nActiveState=active"

func TestIrqbalance(t *testing.T) {
	for _, test := range []struct {
		summary, unit string
		process       bool
		achieved      string
		starts        int
	}{
		{"no systemd, none", "", false, "absent", 0},
		{"no systemd, a process", "", true, "held", 0},
		{"active", irqbalanceRuns, false, "held", 1},
		{"inactive", "LoadState=loaded\nActiveState=inactive", false, "absent", 0},
		{"failed", "LoadState=loaded\nActiveState=failed", false, "absent", 0},
		{"masked", "LoadState=masked\nActiveState=inactive", false, "absent", 0},
		{"masked while it runs", "LoadState=masked\nActiveState=active", true, "held", 0},
		{"not installed", "LoadState=not-found\nActiveState=inactive", false, "absent", 0},
	} {
		k := newKnobKernel(map[string]string{"/proc/1/comm": "init"})
		if k.unit = test.unit; test.unit != "" {
			k.files["/run/systemd/system/x"] = ""
		}
		if test.process {
			k.addTask(70, "irqbalance", "0", 0)
		}
		k.addTask(71, "tuned", "0", 0)
		before := k.state()
		r := k.run(t, Mode{Steer: true}, "2")
		l := newMoversLayer(r)
		enforce(t, r, l)
		s := l.state()
		if !s.Held || s.Layer != "irqbalance" || s.Achieved != test.achieved || !strings.Contains(s.Note, "tuned") {
			t.Errorf("%s: %+v", test.summary, s)
		}
		if test.process && !strings.Contains(k.files["/proc/70/stat"], ") T ") {
			t.Errorf("%s: the process was not stopped", test.summary)
		}
		k.undo(t, r, before)
		if reset := slices.Contains(k.log, "systemctl reset-failed irqbalance.service"); k.starts != test.starts || reset != (test.starts > 0) {
			t.Errorf("%s: %d starts, %v", test.summary, k.starts, k.log)
		}
	}
}

func TestIrqbalanceThatComesBack(t *testing.T) {
	k := newKnobKernel(map[string]string{"/proc/1/comm": "init"})
	r := k.run(t, Mode{SMT: ptr(false)}, "2")
	l := newMoversLayer(r)
	if err := l.enforce(r); err != nil {
		t.Fatal(err)
	}
	k.addTask(70, "irqbalance", "0", 0)
	l.check(r, moment{phase: afterRun})
	if s := l.state(); s.Held || l.key() != "smt" || s.Achieved != "running" {
		t.Errorf("%+v", s)
	}
}

func TestMoversAreForTheLayersThatNeedThem(t *testing.T) {
	for _, m := range []Mode{{}, {SMT: ptr(true)}, {Fence: true}} {
		if l := newMoversLayer(&applied{mode: m}); l != nil {
			t.Errorf("%+v holds irqbalance", m)
		}
	}
}

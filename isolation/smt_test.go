//go:build linux

package isolation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"goset/cpulist"
)

// smtMachine has 4 cores of 2 threads, of which CPU 5 was taken offline by an
// administrator. A CPU that goes offline takes with it what named it alone.
func smtMachine() *knobKernel {
	k := newKnobKernel(map[string]string{
		cpuFolder + "/smt/control":   "on",
		"/proc/self/mountinfo":       "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
		"/proc/interrupts":           "           CPU0       CPU1\n",
		"/proc/sys/kernel/osrelease": "6.1.0",
	})
	k.files[cpuFolder+"/present"] = "0-7"
	online := cpulist.Of(0, 1, 2, 3, 4, 6, 7)
	k.files[cpuFolder+"/online"] = online.String()
	for cpu := range 8 {
		first := cpu &^ 1
		k.files[fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuFolder, cpu)] = fmt.Sprintf("%d-%d", first, first+1)
		if cpu == 0 {
			continue // as on x86
		}
		file := onlineFile(cpu)
		k.files[file] = "1"
		k.writes[file] = func(v string) error {
			k.files[file] = v
			if v == "1" {
				online = online.Union(cpulist.Of(cpu))
				k.masks[55], k.masks[56] = online.String(), online.String()
			} else {
				online = online.Minus(cpulist.Of(cpu))
				k.goneOffline(online)
			}
			k.files[cpuFolder+"/online"] = online.String()
			return nil
		}
	}
	k.files[cpuFolder+"/cpu4/topology/thread_siblings_list"] = "4"
	k.files[onlineFile(5)] = "0"
	for irq, mask := range map[int]string{1: "0-7", 2: "3", 3: "2-3", 4: "7"} {
		k.files[affinityFile(irq)] = mask
	}
	for pid, mask := range map[int]string{50: "0-7", 51: "3", 52: "2-3", 53: "7"} {
		k.addTask(pid, "bystander", mask, 0)
	}
	k.addTask(54, "migration/3", "3", flagNoSetAffinity)
	k.addTask(55, "kcompactd0", "0-7", flagKthread)
	k.addTask(56, "kcompactd1", "0-1", flagKthread)
	for dir, cpus := range map[string]string{"": "0-7", "/a": "2-3", "/a/b": "2-3", "/c": "0-1"} {
		k.files["/sys/fs/cgroup/cpuset"+dir+"/cpuset.cpus"] = cpus
		k.files["/sys/fs/cgroup/cpuset"+dir+"/cgroup.procs"] = ""
	}
	return k
}

// goneOffline is what the kernel does to those that are left without a CPU.
func (k *knobKernel) goneOffline(online cpulist.Set) {
	for file, text := range k.files {
		set, err := cpulist.Parse(text)
		switch {
		case err != nil || set.Empty():
		case strings.HasSuffix(file, "/smp_affinity_list") && !set.Intersects(online):
			k.files[file] = "0-7"
		case strings.HasPrefix(file, "/sys/fs/cgroup/cpuset/") && strings.HasSuffix(file, "cpuset.cpus") && !strings.HasSuffix(parentOfPath(file), "cpuset"):
			k.files[file] = set.Intersect(online).String()
		}
	}
	for tid, mask := range k.masks {
		if set, err := cpulist.Parse(mask); err == nil && !set.Intersects(online) && tid != 54 {
			k.masks[tid] = online.String()
		}
	}
}

func parentOfPath(file string) string { return file[:strings.LastIndexByte(file, '/')] }

func TestSMTOff(t *testing.T) {
	for _, test := range []struct{ task, off string }{{"2", "1,3,7"}, {"3", "1-2,7"}, {"3,7", "1-2,6"}, {"", "1,3,7"}, {"4", "1,3,7"}} {
		k := smtMachine()
		before := k.state()
		r := k.run(t, Mode{SMT: ptr(false)}, test.task)
		l := newSMTLayer(r)
		r.fenced = cpulist.Of(2, 3)
		enforce(t, r, l)
		s := l.state()
		if want := cpulist.Of(2, 3).Minus(l.(*smtOffLayer).off); !r.fenced.Equal(want) {
			t.Errorf("task on %q: the fence is %s, want %s", test.task, r.fenced, want)
		}
		if !s.Held || s.Achieved != "false" || !strings.Contains(s.Note, test.off+" taken offline") {
			t.Errorf("task on %q: %+v", test.task, s)
		}
		if k.files[affinityFile(1)] != "0-7" || k.masks[54] != "3" {
			t.Errorf("task on %q: what did not need it was touched", test.task)
		}
		// What the kernel would make of an interrupt without a CPU cannot be
		// foreseen, so that it is moved before.
		moved, gone := slices.Index(k.log, affinityFile(2)+"=0,2,4,6"), slices.Index(k.log, onlineFile(3)+"=0")
		if test.task == "2" && (moved < 0 || moved > gone) {
			t.Errorf("interrupt 2 was moved at %d, and CPU 3 went at %d: %q", moved, gone, k.log)
		}
		k.undo(t, r, before)
		if slices.Contains(k.log, onlineFile(5)+"=1") {
			t.Error("CPU 5 was brought online")
		}
	}
}

// Before 6.2, a cpuset that is made while the CPUs are away gives everybody
// those that are there.
func TestSMTOffWithACpuset(t *testing.T) {
	k := smtMachine()
	// With CPU 5 offline, kernels before 6.4 get no cpuset.
	if err := k.writeFile(onlineFile(5), "1"); err != nil {
		t.Fatal(err)
	}
	k.files[cpuFolder+"/cpu4/topology/thread_siblings_list"] = "4-5"
	before := k.state()
	r := k.run(t, Mode{SMT: ptr(false), Cgroup: "true"}, "2")
	if err := newSMTLayer(r).enforce(r); err != nil {
		t.Fatal(err)
	}
	k.masks[50], k.masks[51], k.masks[52] = "0,2,4,6", "0,2,4,6", "2"
	k.undo(t, r, before)
}

// What somebody else gave a bystander in the meantime is not ours to undo.
func TestSMTLeavesWhatOthersChanged(t *testing.T) {
	k := smtMachine()
	r := k.run(t, Mode{SMT: ptr(false)}, "2")
	if err := newSMTLayer(r).enforce(r); err != nil {
		t.Fatal(err)
	}
	k.masks[51], k.files[affinityFile(2)] = "4", "4"
	u := r.journal.UndoTo(0)
	if u.Err != nil || k.masks[51] != "4" || k.files[affinityFile(2)] != "4" || len(u.Left) != 2 {
		t.Errorf("%+v; thread %s, irq %s", u, k.masks[51], k.files[affinityFile(2)])
	}
}

func TestSMTRefusals(t *testing.T) {
	for _, test := range []struct {
		summary string
		want    bool
		task    string
		change  func(k *knobKernel)
		part    string
	}{
		{"two threads of a core", false, "2-3", nil, "threads of one core"},
		{"a sibling of CPU 0", false, "1", nil, "CPU 0 cannot be taken offline"},
		{"busy", false, "2", func(k *knobKernel) { k.writes[onlineFile(3)] = func(string) error { return syscall.EBUSY } }, "cannot be taken offline now"},
		{"a cpuset that would be empty", false, "2", func(k *knobKernel) { k.files["/sys/fs/cgroup/cpuset/a/b/cpuset.cpus"] = "3" }, "would lose its tasks"},
		{"a partition", false, "2", func(k *knobKernel) {
			k.files["/sys/fs/cgroup/x/cgroup.procs"] = ""
			k.files["/sys/fs/cgroup/x/cpuset.cpus.partition"] = "isolated"
			k.files["/sys/fs/cgroup/x/cpuset.cpus.effective"] = "3"
		}, "/sys/fs/cgroup/x is a cpuset partition"},
		{"on, where it is off", true, "2", oneThreaded("off"), "SMT is switched off"},
		{"on, where the firmware or the boot has it off", true, "2", oneThreaded("forceoff"), `smt/control is "forceoff"`},
		{"on, where there is none", true, "2", oneThreaded("notsupported"), `smt/control is "notsupported"`},
		{"on, where the kernel has no switch (arm64)", true, "2", oneThreaded("notimplemented"), `smt/control is "notimplemented"`},
	} {
		k := smtMachine()
		if test.change != nil {
			test.change(k)
		}
		before := k.state()
		r := k.run(t, Mode{SMT: ptr(test.want)}, test.task)
		err := newSMTLayer(r).enforce(r)
		var u *Unsupported
		if !errors.As(err, &u) || !strings.Contains(u.Reason, test.part) || u.Hint == "" {
			t.Errorf("%s: %v", test.summary, err)
		}
		k.undo(t, r, before)
	}
}

// oneThreaded leaves every core one thread, and says why in smt/control.
func oneThreaded(control string) func(k *knobKernel) {
	return func(k *knobKernel) {
		k.files[cpuFolder+"/smt/control"] = control
		for cpu := range 8 {
			k.files[fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuFolder, cpu)] = fmt.Sprint(cpu)
		}
	}
}

func TestSMTThatIsAsAsked(t *testing.T) {
	k := smtMachine()
	r := k.run(t, Mode{SMT: ptr(true)}, "2")
	l := newSMTLayer(r)
	enforce(t, r, l)
	if s := l.state(); !s.Held || s.Achieved != "true" {
		t.Errorf("%+v", s)
	}
	for cpu := range 8 {
		k.files[fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuFolder, cpu)] = fmt.Sprint(cpu)
	}
	r = k.run(t, Mode{SMT: ptr(false)}, "2")
	l = newSMTLayer(r)
	if u := l.probe(r); u != nil {
		t.Error(u)
	}
	enforce(t, r, l)
	if s := l.state(); !s.Held || !strings.Contains(s.Note, "no core has a second thread online") || len(k.log) > 0 {
		t.Errorf("%+v after %v", s, k.log)
	}
}

func TestSMTThatSomebodySwitchesOn(t *testing.T) {
	k := smtMachine()
	r := k.run(t, Mode{SMT: ptr(false)}, "2")
	l := newSMTLayer(r)
	if err := l.enforce(r); err != nil {
		t.Fatal(err)
	}
	if err := k.writeFile(onlineFile(7), "1"); err != nil {
		t.Fatal(err)
	}
	l.check(r, moment{phase: duringRun, pid: 50})
	if s := l.state(); s.Held || !strings.Contains(s.Note, "CPUs 0,2,4,6-7 are online") {
		t.Errorf("%+v", s)
	}
	if u := r.journal.UndoTo(0); u.Err != nil {
		t.Error(u.Err)
	}
}

// The CPUs of a kernel thread count with those that are offline, and where the
// kernel does not take these, what it takes is enough.
func TestKernelThreadsWithOfflineCPUs(t *testing.T) {
	const object = "55:155"
	for _, test := range []struct {
		old, now, after string
		clips           bool // the kernel, as 6.1 does
		left            int
	}{
		{"0-7", "0-4,6-7", "0-7", false, 0},
		{"0-3", "0-4,6-7", "0-3", false, 0},
		{"0-7", "0-7", "0-7", false, 0},
		{"0-7", "0,2,4,6", "0-4,6-7", true, 0},
		{"0-7", "4", "4", false, 1}, // somebody else's
	} {
		k := smtMachine()
		r := k.run(t, Mode{SMT: ptr(false)}, "2")
		k.masks[55] = test.old
		if err := r.journal.Remember(KindKthread, object, "0,2,4,6", "kcompactd0"); err != nil {
			t.Fatal(err)
		}
		k.masks[55], k.clips = test.now, test.clips
		u := r.journal.UndoTo(0)
		if u.Err != nil || len(u.Left) != test.left || k.masks[55] != test.after {
			t.Errorf("%+v: %s, %+v", test, k.masks[55], u)
		}
	}
}

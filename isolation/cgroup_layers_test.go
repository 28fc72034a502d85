//go:build linux

package isolation

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// hold puts a mode in force on a fake machine, as Apply does but for the own
// threads, which are real.
func hold(t *testing.T, k *fakeKernel, m Mode) (*Held, error) {
	t.Helper()
	s := &Session{kernel: k, options: Options{Say: func(text string) { t.Log(text) }}, journal: testJournal(t, k)}
	h := &Held{session: s, run: &applied{mode: m, cpus: cpus(t, m.CPUs), fenced: cpus(t, m.CPUs), chosen: true, kernel: k}}
	if m.Fence {
		h.run.fenced = cpus(t, "2-3")
	}
	layers, findings := h.run.admit()
	if err := findings.Err(); err != nil {
		return nil, err
	}
	h.waived = findings.states()
	if err := h.enforce(layers, ""); err != nil {
		return nil, errors.Join(err, h.Release())
	}
	return h, nil
}

// stateOf finds the state of one layer.
func stateOf(t *testing.T, h *Held, layer string) LayerState {
	t.Helper()
	for _, s := range h.States() {
		if s.Layer == layer {
			return s
		}
	}
	t.Fatalf("layer %q has no state", layer)
	return LayerState{}
}

// child puts a task into the cgroup of the run.
func child(t *testing.T, k *fakeKernel, h *Held) int {
	t.Helper()
	b, err := h.birth()
	if err != nil || !b.placed {
		t.Fatalf("birth %+v: %v", b, err)
	}
	k.threads[700] = &fakeThread{start: 700, name: "task", cgroup: h.run.cgroup, cpus: h.run.cpus}
	return 700
}

func TestPartition(t *testing.T) {
	for _, test := range []struct {
		asked, achieved, outside string
		fence                    bool
	}{
		{"true", "isolated", "0-1,4-7", true}, {"isolated", "isolated", "0-1,4-7", true}, {"root", "root", "0-1,4-7", true},
		{"isolated", "isolated", "0-1,3-7", false}, {"member", "member", "0-7", false},
	} {
		k := newFake(t, false)
		before := k.snapshot()
		h, err := hold(t, k, Mode{Name: "m", CPUs: "2", Cgroup: test.asked, Fence: test.fence})
		if err != nil {
			t.Fatal(err)
		}
		pid := child(t, k, h)
		h.Check(pid)
		if got, err := k.effective(fakeRoot); err != nil || got.String() != test.outside {
			t.Errorf("%s: others have %v, %v", test.asked, got, err)
		}
		if got := k.files[h.run.cgroup+"/cpuset.cpus"]; test.fence && got != "2" {
			t.Errorf("%s: the task has CPUs %q", test.asked, got)
		}
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if s := stateOf(t, h, "cgroup"); !s.Held || s.Achieved != test.achieved || (s.Note != "") != (test.achieved == cgroupMember) {
			t.Errorf("%s: state %+v", test.asked, s)
		}
		if test.fence {
			if s := stateOf(t, h, "fence"); !s.Held || !strings.Contains(s.Achieved, "siblings 3 empty") {
				t.Errorf("fence: %+v", s)
			}
		}
		if k.snapshot() != before {
			t.Errorf("%s: left\n%s\nwant\n%s", test.asked, k.snapshot(), before)
		}
	}
}

// The strongest that holds: a kernel that makes no partition leaves a member,
// and the reason is told.
func TestPartitionRefused(t *testing.T) {
	const reason = "Cpu list in cpuset.cpus not exclusive"
	k := newFake(t, false)
	k.reason = reason
	before := k.snapshot()
	h, err := hold(t, k, Mode{CPUs: "2-3", Cgroup: "true"})
	if err != nil {
		t.Fatal(err)
	}
	child(t, k, h)
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(t, h, "cgroup"); !s.Held || s.Achieved != "member" || !strings.Contains(s.Note, "not isolated: "+reason) {
		t.Errorf("state %+v", s)
	}
	_, err = hold(t, k, Mode{Name: "m", CPUs: "2-3", Cgroup: "isolated"})
	var u *Unsupported
	if !errors.As(err, &u) || u.Layer != "cgroup" || u.Mode != "m" || !strings.Contains(u.Reason, reason) || !strings.Contains(u.Hint, "AllowedCPUs") {
		t.Errorf("refused with %v", err)
	}
	h, err = hold(t, k, Mode{CPUs: "2-3", Cgroup: "isolated", Optional: []string{"cgroup"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(t, h, "cgroup"); s.Held || !s.Optional || !strings.Contains(s.Note, reason) || s.Asked != "isolated" {
		t.Errorf("waived: %+v", s)
	}
	if k.snapshot() != before {
		t.Errorf("left\n%s\nwant\n%s", k.snapshot(), before)
	}
}

// A partition that changes while the run lasts does not hold, whatever it is
// afterwards.
func TestPartitionThatIsLost(t *testing.T) {
	for _, test := range []struct {
		lose func(k *fakeKernel, h *Held)
		note string
	}{
		{func(k *fakeKernel, h *Held) { k.files[dirOf(h)+"/cpuset.cpus.partition"] = "isolated invalid" }, `became "isolated invalid"`},
		{func(k *fakeKernel, h *Held) { k.files[dirOf(h)+"/cpuset.cpus"] = "2" }, "its CPUs became CPU 2"},
		{func(k *fakeKernel, h *Held) { delete(k.files, dirOf(h)+"/cpuset.cpus.partition") }, "the partition is gone"},
		{func(k *fakeKernel, h *Held) { k.threads[700].cgroup = fakeRoot }, "process 700 was moved"},
	} {
		k := newFake(t, false)
		h, err := hold(t, k, Mode{CPUs: "2-3", Cgroup: "true"})
		if err != nil {
			t.Fatal(err)
		}
		pid := child(t, k, h)
		h.Check(pid)
		file, cpuList := k.files[dirOf(h)+"/cpuset.cpus.partition"], k.files[dirOf(h)+"/cpuset.cpus"]
		test.lose(k, h)
		h.Check(pid)
		k.files[dirOf(h)+"/cpuset.cpus.partition"], k.files[dirOf(h)+"/cpuset.cpus"] = file, cpuList
		k.threads[700].cgroup = h.run.cgroup
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if s := stateOf(t, h, "cgroup"); s.Held || !strings.Contains(s.Note, test.note) {
			t.Errorf("state %+v, want %q", s, test.note)
		}
	}
}

func dirOf(h *Held) string { return strings.TrimSuffix(h.run.cgroup, "/"+jobName) }

// Before kernel 6.2 who is moved to the root cgroup gets the fenced CPUs as well.
func TestFenceThatSomebodyEnters(t *testing.T) {
	for _, test := range []struct {
		release string
		flags   uint64
		held    bool
	}{{"6.1.0-test", 0, false}, {"6.1.0-test", flagKthread, true}, {"6.12.0-test", 0, true}} {
		k := newFake(t, false)
		k.release = test.release
		h, err := hold(t, k, Mode{CPUs: "2", Cgroup: "true", Fence: true})
		if err != nil {
			t.Fatal(err)
		}
		h.Check(child(t, k, h))
		k.threads[801] = &fakeThread{start: 801, name: "moved", flags: test.flags, cgroup: fakeRoot, cpus: cpus(t, "0-7")}
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if s := stateOf(t, h, "fence"); s.Held != test.held || !test.held && !strings.Contains(s.Note, "process 801 (moved) outside was allowed on CPUs 2-3") {
			t.Errorf("%s, flags %x: %+v", test.release, test.flags, s)
		}
	}
}

func TestThreadsInAnIsolatedPartition(t *testing.T) {
	for _, test := range []struct {
		cgroup, cpus string
		warns        bool
	}{{"isolated", "2-3", true}, {"root", "2-3", false}, {"isolated", "2", false}} {
		k := newFake(t, false)
		h, err := hold(t, k, Mode{CPUs: test.cpus, Cgroup: test.cgroup})
		if err != nil {
			t.Fatal(err)
		}
		pid := child(t, k, h)
		k.threads[701] = &fakeThread{start: 701, cgroup: h.run.cgroup, cpus: h.run.cpus}
		h.Check(pid)
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if s := stateOf(t, h, "cgroup"); !s.Held || (s.Warning != "") != test.warns {
			t.Errorf("%+v: state %+v", test, s)
		}
	}
}

func TestCpusetV1(t *testing.T) {
	k := newFake(t, true)
	before := k.snapshot()
	h, err := hold(t, k, Mode{CPUs: "2", Cgroup: "true"})
	if err != nil {
		t.Fatal(err)
	}
	if k.files[h.run.cgroup+"/cpuset.mems"] != "0" || k.files[h.run.cgroup+"/cpuset.cpus"] != "2" || k.files[workqueueMask] == "ff" {
		t.Errorf("in force:\n%s", k.snapshot())
	}
	h.Check(child(t, k, h))
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(t, h, "cgroup"); !s.Held || s.Achieved != "cpuset of version 1, open to others" {
		t.Errorf("state %+v", s)
	}
	if k.snapshot() != before {
		t.Errorf("left\n%s\nwant\n%s", k.snapshot(), before)
	}
	var u *Unsupported
	if _, err := hold(t, k, Mode{CPUs: "2", Cgroup: "isolated"}); !errors.As(err, &u) || !strings.Contains(u.Reason, "version 1") {
		t.Errorf("a partition of version 1: %v", err)
	}
}

func TestShield(t *testing.T) {
	k := newFake(t, true)
	before := k.snapshot()
	h, err := hold(t, k, Mode{CPUs: "2", Cgroup: "true", Shield: true})
	if err != nil {
		t.Fatal(err)
	}
	if k.files[fakeRootV1+"/cpuset.sched_load_balance"] != "0" || k.threads[1].cpus.String() != "0-1,3-7" || k.threads[20].cgroup != fakeRootV1 {
		t.Errorf("in force:\n%s", k.snapshot())
	}
	h.Check(child(t, k, h))
	// Who is born in the meantime comes back too, and lives.
	k.threads[800] = &fakeThread{start: 800, cgroup: k.threads[1].cgroup, cpus: k.threads[1].cpus}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(t, h, "shield"); !s.Held {
		t.Errorf("state %+v", s)
	}
	if th := k.threads[800]; th == nil || th.cgroup != fakeRootV1 {
		t.Errorf("a process that was born meanwhile is %+v", th)
	}
	delete(k.threads, 800)
	if k.snapshot() != before {
		t.Errorf("left\n%s\nwant\n%s", k.snapshot(), before)
	}
}

// Every change that any of the modes makes fails once, and every cause: the
// error names a layer, and the machine is as it was.
func TestEveryChangeOfALayerFails(t *testing.T) {
	points := 0
	for _, v1 := range []bool{false, true} {
		for _, m := range []Mode{
			{CPUs: "2", Cgroup: "true", Fence: !v1}, {CPUs: "2-3", Cgroup: "member"}, {CPUs: "2", Cgroup: "true", Shield: v1},
			{CPUs: "2", Cgroup: "true", Memory: "64MiB", CPUQuota: "50%"}, {Memory: "64MiB", CPUQuota: "50%"},
		} {
			if v1 && m.Memory != "" {
				continue // the machine in memory has no such hierarchies
			}
			for _, cause := range []error{syscall.EIO, syscall.EPERM, syscall.ENOSPC, syscall.ENOENT, syscall.EBUSY} {
				for nth := 1; ; nth++ {
					k := newFake(t, v1)
					before := k.snapshot()
					failed := ""
					k.fault = func(k *fakeKernel, what string) error {
						if k.changes == nth {
							failed = what
							return cause
						}
						return nil
					}
					h, err := hold(t, k, m)
					var u *Unsupported
					if err != nil && (!errors.As(err, &u) || u.Layer == "" || u.Reason == "" || u.Hint == "") {
						t.Errorf("%v at %s: %v", cause, failed, err)
					}
					if err == nil {
						if err := h.Release(); err != nil {
							t.Errorf("%v at %s: released: %v", cause, failed, err)
						}
					}
					if failed == "" {
						break
					}
					points++
					if got := k.snapshot(); got != before {
						t.Errorf("%v at change %d of %+v (%s): %v; left\n%s\nwant\n%s", cause, nth, m, failed, err, got, before)
					}
				}
			}
		}
	}
	t.Logf("%d changes failed", points)
	if points < 100 {
		t.Errorf("only %d changes failed", points)
	}
}

func TestFindCpusets(t *testing.T) {
	for _, test := range []struct {
		name, mounts, controllers, own string
		want                           cpusets
		refused                        string
	}{
		{"unified", "1 1 0:1 / /sys/fs/cgroup rw shared:1 - cgroup2 c rw", "cpuset cpu", "0::/", cpusets{unified: true, root: "/sys/fs/cgroup", prefix: "cpuset."}, ""},
		{"v1", "1 1 0:1 / /sys/fs/cgroup/cpuset rw - cgroup c rw,cpuset", "", "3:cpuset:/", cpusets{root: "/sys/fs/cgroup/cpuset", mount: "/sys/fs/cgroup/cpuset", prefix: "cpuset."}, ""},
		{"hybrid", "1 1 0:1 / /sys/fs/cgroup/unified rw - cgroup2 c rw\n2 1 0:2 / /sys/fs/cgroup/cpuset rw - cgroup c rw,cpuset", "cpu", "3:cpuset:/a\n0::/b",
			cpusets{root: "/sys/fs/cgroup/cpuset/a", mount: "/sys/fs/cgroup/cpuset", prefix: "cpuset."}, ""},
		{"container", "2 1 0:2 /docker/x /sys/fs/cgroup/cpuset ro - cgroup c rw,cpuset", "", "3:cpuset:/docker/x/y",
			cpusets{root: "/sys/fs/cgroup/cpuset/y", mount: "/sys/fs/cgroup/cpuset", prefix: "cpuset."}, ""},
		{"noprefix", "2 1 0:2 / /dev/cpuset rw - cpuset c rw", "", "3:cpuset:/", cpusets{root: "/dev/cpuset", mount: "/dev/cpuset"}, ""},
		{"none", "2 1 0:2 / /sys/fs/cgroup/cpu rw - cgroup c rw,cpu", "", "3:cpu:/", cpusets{}, "no cpuset controller"},
		{"nothing", "", "", "", cpusets{}, "no cpuset controller"},
	} {
		k := newFake(t, false)
		k.files = map[string]string{"/proc/self/mountinfo": test.mounts}
		if test.controllers != "" {
			for _, m := range parseCgroupMounts(test.mounts) {
				if m.unified {
					k.files[m.path+"/cgroup.controllers"] = test.controllers
				}
			}
		}
		got, err := findCpusets(&ownCgroup{k, test.own})
		var u *Unsupported
		if test.refused == "" && (err != nil || got != test.want) || test.refused != "" && (!errors.As(err, &u) || !strings.Contains(u.Reason, test.refused)) {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
}

// ownCgroup is a machine on which this process is in a given cgroup.
type ownCgroup struct {
	*fakeKernel
	text string
}

func (o *ownCgroup) readFile(name string) (string, error) {
	if name == "/proc/self/cgroup" {
		return o.text, nil
	}
	return o.fakeKernel.readFile(name)
}

// Kernels whose partitions do harm for good get none.
func TestNoPartitionThatHarms(t *testing.T) {
	for _, test := range []struct {
		release, asked string
		knows          bool   // the word "isolated"
		workers        string // the mask of unbound work; 6.8 and later say it twice
		boot           string // isolcpus=
		achieved       string // "": refused
		says           string
	}{
		{"5.10.0-32-cloud-amd64", "true", false, "ff", "", "member", "before 6.1"},
		{"5.10.0", "root", false, "ff", "", "", "before 6.1"},
		{"5.10.0", "isolated", false, "ff", "", "", "invalid argument"},
		{"5.10.0", "member", false, "ff", "", "member", ""},
		{"5.14.0-503.el9", "true", true, "ff", "", "isolated", ""},
		{"6.1.0", "root", true, "ff", "", "root", ""},
		{"6.1.0", "true", true, "c3", "", "member", "CPUs 2-5 for good"},
		{"6.1.0", "isolated", true, "c3", "", "", "CPUs 2-5 for good"},
		{"6.9.0", "true", true, "c3", "", "isolated", ""},
		{"6.16.12", "true", true, "c3", "2-3", "isolated", ""}, // were it a partition that this kernel makes
		{"6.17.0", "true", true, "c3", "2-3", "member", "since boot of CPUs 2-3"},
		{"6.18.15", "isolated", true, "c3", "3,5", "", "since boot of CPU 3"},
		{"6.18.15", "root", true, "c3", "2-3", "", "since boot of CPUs 2-3"},
		{"6.18.15", "true", true, "c3", "4-5", "isolated", ""},
		{"6.18.15", "true", true, "ff", "", "isolated", ""},
		{"7.1.13", "true", true, "f3", "2-3", "member", "since boot of CPUs 2-3"},
		{"7.2.0", "true", true, "f3", "2-3", "isolated", ""},
	} {
		k := newFake(t, false)
		k.release, k.files[workqueueMask] = test.release, test.workers
		if !k.before(6, 8) {
			k.files[workqueueRequested] = test.workers
		}
		k.files[cpuFolder+"/isolated"] = test.boot
		k.fault = func(_ *fakeKernel, what string) error {
			if !test.knows && strings.HasSuffix(what, `"isolated"`) {
				return syscall.EINVAL
			}
			if test.achieved != "root" && strings.HasSuffix(what, `"root"`) {
				t.Errorf("%s, %s: %s", test.release, test.asked, what)
			}
			return nil
		}
		before := k.snapshot()
		h, err := hold(t, k, Mode{Name: "m", CPUs: "2-3", Cgroup: test.asked})
		var u *Unsupported
		switch {
		case test.achieved == "":
			if !errors.As(err, &u) || !strings.Contains(u.Reason, test.says) || !strings.Contains(u.Hint, `"member"`) {
				t.Errorf("%s, %s: %v", test.release, test.asked, err)
			}
		case err != nil:
			t.Errorf("%s, %s: %v", test.release, test.asked, err)
		default:
			child(t, k, h)
			if err := h.Release(); err != nil {
				t.Error(err)
			}
			if s := stateOf(t, h, "cgroup"); s.Achieved != test.achieved || !strings.Contains(s.Note, test.says) {
				t.Errorf("%s, %s: %+v", test.release, test.asked, s)
			}
		}
		if k.snapshot() != before {
			t.Errorf("%s, %s: left\n%s\nwant\n%s", test.release, test.asked, k.snapshot(), before)
		}
	}
}

// Kernels before 6.4 take CPUs that are offline from everybody whom a cpuset
// touches, for good. Siblings that are off until the next boot are none to lose.
func TestNoCpusetBesideOfflineCPUs(t *testing.T) {
	for _, test := range []struct {
		release, present, control string
		refused                   string
	}{
		{"6.1.0", "0-7", "", ""}, {"6.1.0", "0-9", "", "bring them online"}, {"6.3.1", "0-8", "on", "bring them online"}, {"6.4.0", "0-9", "off", ""}, {"6.9.0", "0-9", "", ""}, {"6.1.0", "", "", ""},
		{"6.1.0", "0-15", "forceoff", ""}, {"6.1.0", "0-15", "off", "echo forceoff > /sys/devices/system/cpu/smt/control"},
		{"6.1.0", "0-15", "on", "bring them online"}, {"6.1.0", "0-14", "forceoff", "bring them online"}, {"6.1.0", "0-14", "off", "bring them online"},
	} {
		k := newFake(t, false)
		k.release = test.release
		k.files[smtControl] = test.control
		if test.present != "" {
			k.files[cpuFolder+"/present"] = test.present
		}
		before := k.snapshot()
		h, err := hold(t, k, Mode{Name: "m", CPUs: "2-3", Cgroup: "true"})
		var u *Unsupported
		switch {
		case test.refused != "" && (!errors.As(err, &u) || !strings.Contains(u.Reason, "offline") || u.Layer != "cgroup" || !strings.Contains(u.Hint, test.refused)):
			t.Errorf("%+v: %v", test, err)
		case test.refused == "" && err != nil:
			t.Errorf("%+v: %v", test, err)
		case err == nil:
			if err := h.Release(); err != nil {
				t.Error(err)
			}
		}
		if k.snapshot() != before {
			t.Errorf("%s, present %s: left\n%s\nwant\n%s", test.release, test.present, k.snapshot(), before)
		}
	}
}

func TestRelease(t *testing.T) {
	for _, test := range []struct {
		text   string
		old    bool // before 6.2
		failed bool
	}{
		{"6.1.0-50-cloud-amd64", true, false}, {"6.2.0", false, false}, {"6.12", false, false}, {"5.10.223", true, false}, {"7.0-rc1", false, false},
		{"", false, true}, {"six", false, true}, {"6", false, true}, {"6.", false, true},
	} {
		got, err := parseRelease(test.text)
		if (err != nil) != test.failed || err == nil && got.before(6, 2) != test.old {
			t.Errorf("%q: %+v, %v", test.text, got, err)
		}
	}
}

func TestBystandersRemembered(t *testing.T) {
	for _, test := range []struct {
		release, isolated string
		want              []string
	}{
		{"6.1.0", "", []string{"a b) c", "irq/9-acpi", "pinned"}}, {"6.12.0", "", []string{"irq/9-acpi"}},
		{"6.12.0", "6-7", []string{"a b) c", "irq/9-acpi", "pinned"}},
	} {
		k := newFake(t, false)
		k.release = test.release
		k.files[cpuFolder+"/isolated"] = test.isolated
		h, err := hold(t, k, Mode{CPUs: "2-3", Cgroup: "true"})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range h.run.journal.entries {
			if e.Kind == KindBystander {
				names = append(names, e.Label)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, test.want) {
			t.Errorf("%s: remembered %q", test.release, names)
		}
		// Who pins a bystander meanwhile keeps it so.
		k.threads[101].cpus = cpus(t, "5")
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// What kernels from 7 on make of everybody's CPUs depends on how the machine was
// booted.
func TestWhatBystandersComeTo(t *testing.T) {
	for _, test := range []struct{ isolated, nohz, want string }{
		{"", "", "0-7;0-1,3-7"},
		{"", "(null)", "0-7;0-1,3-7"},
		{"2-3", "", "0-7;0-1,3-7;0-1,4-7"},
		{"", "4-5", "0-7;0-1,3-7;0-3,6-7;0-1,3,6-7"},
		{"2-3", "4-5", "0-7;0-1,3-7;0-1,4-7;0-3,6-7;0-1,3,6-7;0-1,6-7"},
		{"", "0-7", "0-7;0-1,3-7"},
	} {
		k := newFake(t, false)
		k.files[cpuFolder+"/isolated"], k.files[cpuFolder+"/nohz_full"] = test.isolated, test.nohz
		r := &applied{kernel: k, fenced: cpus(t, "2")}
		got, err := comesTo(r, cpusets{unified: true, root: fakeRoot, prefix: "cpuset."}, task{tid: 30}, cpus(t, "0-7"))
		if err != nil || got != test.want {
			t.Errorf("isolated %q, nohz_full %q: %q, %v, want %q", test.isolated, test.nohz, got, err, test.want)
		}
	}
	k := newFake(t, false)
	k.files[cpuFolder+"/nohz_full"] = "x"
	if _, err := comesTo(&applied{kernel: k}, cpusets{unified: true, root: fakeRoot, prefix: "cpuset."}, task{tid: 30}, cpus(t, "0-7")); err == nil {
		t.Error("what is no list was read")
	}
}

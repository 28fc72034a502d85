//go:build linux && scenarios

package proof

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// further are the starts of the releases of kernels that only some scenarios run on.
func further() []string { return []string{"6.18", newest} }

// onFurtherToo is onKernels, and the further kernels that could be fetched.
func onFurtherToo(t *testing.T, machine func(kernel string) vmtest.Machine, steps func(t *testing.T, g *vmtest.Guest)) {
	onKernels(t, machine, steps)
	for _, kernel := range further() {
		switch {
		case slices.Contains(kernels(), kernel):
		case !vmtest.Fetched(kernel):
			t.Logf("the archive has no kernel %s", kernel)
		default:
			onKernel(t, kernel, machine, steps)
		}
	}
}

// TestImpossibleCPUs is scenario 6: what cannot be had is refused with the
// knob's name, and nothing is changed.
func TestImpossibleCPUs(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		refused(g, "cpus = \"0-7\"\ncgroup = \"isolated\"\n", "cgroup")
		g.Same(before)
		// Debian's kernels have no core scheduling, so that without a partition
		// nothing keeps a sibling empty.
		refused(g, "cpus = \"2\"\nfence = true\n", "fence", "core scheduling")
		g.Same(before)
		refused(g, "cpus = \"99\"\n", "cpus", "99", "not on this machine")
		g.Same(before)
		g.Sh("echo 0 >/sys/devices/system/cpu/cpu5/online")
		offline := g.Snapshot()
		refused(g, "cpus = \"5\"\n", "cpus", "offline")
		g.Same(offline)
		g.Sh("echo 1 >/sys/devices/system/cpu/cpu5/online")
	})
}

// TestBootIsolated is scenario 6 on a machine that was booted with isolated
// CPUs. They can be had by name. 6.12 makes no partition of them, which it takes for
// a conflict, 6.1 would let its workers onto them for good, and 6.18 forget that they
// are isolated; 7.3 makes one, and hands out the CPUs of its own threads anew.
func TestBootIsolated(t *testing.T) {
	onFurtherToo(t, func(kernel string) vmtest.Machine {
		m := smt(kernel)
		m.Append = "isolcpus=domain,managed_irq,2-3 nohz_full=4-5"
		return m
	}, func(t *testing.T, g *vmtest.Guest) {
		partitions := strings.HasPrefix(g.Release, newest+".")
		before := g.Snapshot()
		b := start(g, "cpus = \"2\"\ncgroup = true\nsteer = true\n")
		want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
		r := b.done()
		holds(t, r, "cpus", "cgroup", "steer")
		l := layer(t, r, "cgroup")
		if !partitions && (l.Achieved != "member" || !strings.Contains(l.Note, "not isolated")) || partitions && l.Achieved != "isolated" {
			t.Errorf("the record does not say what holds, and why: %+v", l)
		}
		g.Same(before)
		if partitions {
			holds(t, start(g, goset).done(), "cpus", "cgroup", "fence", "steer")
		} else {
			refused(g, goset, "fence", "not isolated")
			refused(g, "cpus = \"2\"\ncgroup = \"isolated\"\n", "cgroup", "member")
		}
		g.Same(before)
		b = start(g, "cpus = \"4\"\ncgroup = true\n")
		want(t, "CPUs of the task", g.Get("agent mask "+b.task), "4")
		holds(t, b.done(), "cpus", "cgroup")
		g.Same(before)
	})
}

// TestNoHousekeeper is scenario 6 on a machine all of whose CPUs but one are
// nohz_full: the newest kernels isolate none that is needed to keep house.
func TestNoHousekeeper(t *testing.T) {
	if !vmtest.Fetched(newest) {
		t.Skipf("the archive has no kernel %s", newest)
	}
	m := smt(newest)
	m.OneThread, m.Append = true, "nohz_full=1-7"
	g := vmtest.Boot(t, m)
	before := g.Snapshot()
	refused(g, "cpus = \"0\"\ncgroup = \"isolated\"\n", "cgroup", "housekeeping")
	g.Same(before)
	b := start(g, "cpus = \"0\"\ncgroup = true\n")
	want(t, "CPUs of the task", g.Get("agent mask "+b.task), "0")
	r := b.done()
	holds(t, r, "cpus", "cgroup")
	if l := layer(t, r, "cgroup"); !strings.Contains(l.Note, "not isolated") || l.Achieved == "isolated" {
		t.Errorf("the record does not say what holds, and why: %+v", l)
	}
	g.Same(before)
}

// TestHierarchies is scenario 7: whichever hierarchy has the controller is
// used, and where none can be, the message says so.
func TestHierarchies(t *testing.T) {
	for name, c := range map[string]struct {
		cgroup vmtest.Cgroup
		where  string // the line of /proc/PID/cgroup that names the task's group
	}{
		"v1":          {vmtest.V1, ":cpuset:/goset"},
		"hybrid":      {vmtest.Hybrid, ":cpuset:/goset"},
		"v1, v2 mode": {vmtest.V2Mode, ":cpuset:/goset"},
	} {
		t.Run(name, func(t *testing.T) {
			m := smt("6.1")
			m.Cgroup = c.cgroup
			g := vmtest.Boot(t, m)
			pinned := g.Start("agent", "on", "2", "agent", "sleep")
			before := g.Snapshot()
			b := start(g, "cpus = \"2\"\ncgroup = true\nsteer = true\n")
			want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
			// A cpuset of version 1 keeps nobody off, so that what can be moved is.
			want(t, "CPUs of a kernel thread that can be moved", g.Get("agent mask $(pidof kcompactd0)"), "0-1,3-7")
			want(t, "CPUs of unbound work", g.Get("cat /sys/devices/virtual/workqueue/cpumask"), "fb")
			if got := g.Get("cat /proc/" + b.task + "/cgroup"); !strings.Contains(got, c.where) {
				t.Errorf("groups of the task:\n%s\nwant %q", got, c.where)
			}
			holds(t, b.done(), "cpus", "cgroup", "steer")
			g.Same(before)
			want(t, "mask of the bystander", g.Get(fmt.Sprintf("agent mask %d", pinned.PID)), "2")
		})
	}
	for name, c := range map[string]struct {
		cgroup vmtest.Cgroup
		then   string
	}{
		"read-only": {vmtest.ReadOnly, ""}, "remounted read-only": {vmtest.Unified, "mount -o remount,ro /sys/fs/cgroup"}, "none": {vmtest.None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := smt("6.1")
			m.Cgroup = c.cgroup
			g := vmtest.Boot(t, m)
			g.Sh(c.then)
			before := g.Snapshot()
			refused(g, "cpus = \"2\"\ncgroup = true\n", "cgroup")
			g.Same(before)
			b := start(g, "cpus = \"2\"\ncgroup = true\n", "-best-effort")
			want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
			r := b.done()
			holds(t, r, "cpus")
			if l := layer(t, r, "cgroup"); l.Held || l.Note == "" {
				t.Errorf("the record says of the cgroup: %+v", l)
			}
			g.Same(before)
		})
	}
}

// TestShield keeps everybody off with cpusets of version 1, as a partition does
// with version 2.
func TestShield(t *testing.T) {
	m := smt("6.1")
	m.Cgroup = vmtest.V1
	g := vmtest.Boot(t, m)
	pinned := g.Start("agent", "on", "2", "agent", "sleep")
	hog := g.Start("agent", "spin")
	before := g.Snapshot()
	b := start(g, "cpus = \"2\"\ncgroup = true\nshield = true\nsteer = true\n")
	want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
	want(t, "CPUs of who had all", g.Get(fmt.Sprintf("agent mask %d", hog.PID)), "0-1,3-7")
	want(t, "an outsider that pins itself there", g.Get(fmt.Sprintf("agent aff %d 2", hog.PID)), "EINVAL")
	want(t, "processes outside, but for the kernel's", g.Get(`for p in $(cat /sys/fs/cgroup/cpuset/cgroup.procs); do [ -z "$(tr -d '\0' 2>/dev/null </proc/$p/cmdline)" ] || cat /proc/$p/comm; done`), "")
	late := g.Start("agent", "spin")
	for _, p := range []*vmtest.Process{hog, late} {
		neverOn(t, g, p.PID, "2")
	}
	holds(t, b.done(), "cpus", "cgroup", "shield", "steer")
	g.Sh(fmt.Sprintf("kill -9 %d", late.PID))
	late.Wait()
	g.Same(before)
	want(t, "mask of the bystander", g.Get(fmt.Sprintf("agent mask %d", pinned.PID)), "2")
	refused(g, "cpus = \"2\"\nshield = true\n", "shield", "cgroup = true")
	g.Same(before)
}

// TestHotplugByOthers is scenario 21: somebody takes a CPU of the fence away while
// the run lasts, or all of them, which ends the partition. The run does not count,
// the record says why, and the undo is clean.
//
// A partition that goes while a CPU is offline costs everybody that CPU on kernel
// 6.1, and nobody can be given a CPU that is offline. So the same is done by hand
// before, and nothing more may come of a run.
func TestHotplugByOthers(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		set := func(value string, cpus ...string) string {
			var script string
			for _, c := range cpus {
				script += "echo " + value + " >" + cpu + "cpu" + c + "/online\n"
			}
			return script
		}
		cases := map[string][]string{"its CPUs became CPU 2": {"3"}}
		if !strings.HasPrefix(g.Release, "6.1.") {
			cases["invalid"] = []string{"3", "2"} // by hand, nobody but new cpusets would ever have them again
		}
		for says, cpus := range cases {
			g.Sh(`cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control
mkdir hand; echo 2-3 >hand/cpuset.cpus; echo isolated >hand/cpuset.cpus.partition
` + set("0", cpus...) + `echo member >hand/cpuset.cpus.partition; rmdir hand; echo -cpuset >cgroup.subtree_control
` + set("1", cpus...))
			before := g.Snapshot()
			b := start(g, goset)
			g.Sh(set("0", cpus...))
			b.end()
			r := b.record()
			if l := layer(t, r, "cgroup"); r.Outcome == "kept" || !strings.Contains(l.Achieved+": "+l.Note, says) {
				t.Errorf("CPUs %v went away, and the record says %s: %s: %+v", cpus, r.Outcome, r.Reason, r.Layers)
			}
			g.Sh(set("1", cpus...))
			g.Same(before)
		}
	})
}

// TestLeftBehind is scenario 20: what the task leaves in its cgroup is ended.
func TestLeftBehind(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		name := "/tmp/left"
		g.Write(name+"/x.toml", strings.Replace(experiment(name, goset), `["/vm/bin/agent", "hold", "`+name+`"]`,
			`["/bin/sh", "-c", "setsid agent sleep & sleep 100 & echo 1 s"]`, 1))
		r := g.Run("goset-bench", "run", name+"/x.toml", "-quiet", "-o", name+"/out")
		if r.Exit != 0 {
			t.Errorf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		g.Same(before)
	})
}

// TestZombieLeftBehind is scenario 20: a process that has ended, and that nobody
// waits for, does not keep the cgroup.
func TestZombieLeftBehind(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, goset)
		group := g.Get("sed -n 's/^0:://p' /proc/" + b.task + "/cgroup")
		parent := g.Start("sh", "-c", "(echo 0 >/sys/fs/cgroup"+group+"/cgroup.procs) & exec agent sleep")
		zombie := fmt.Sprintf("/proc/$(cat /proc/%d/task/*/children | tr -d ' ')", parent.PID)
		g.Until("[ \"$(awk '{print $3}' " + zombie + "/stat)\" = Z ]")
		want(t, "group of the zombie", g.Get("sed -n 's/^0:://p' "+zombie+"/cgroup"), group)
		holds(t, b.done(), "cpus", "cgroup", "fence", "steer")
		want(t, "state of the zombie after", g.Get("awk '{print $3}' "+zombie+"/stat"), "Z")
		g.Sh(fmt.Sprintf("kill -9 %d", parent.PID))
		parent.Wait()
		g.Same(before)
	})
}

// TestCannotBeKilled is scenario 20: a process that no signal ends (frozen here,
// as others hang in a device) keeps the cgroup. That is said, all else is put
// back, the next start names the way out, and that heals once the process ends.
func TestCannotBeKilled(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		const freezer = "/tmp/freezer"
		g.Sh("mkdir " + freezer + "; mount -t cgroup -o freezer none " + freezer + "; mkdir " + freezer + "/x")
		before := g.Snapshot()
		b, argv := prepare(g, goset)
		// It freezes itself, and is frozen in the middle of that.
		script := fmt.Sprintf("mkdir -p %[1]s; (echo 0 >%[2]s/x/cgroup.procs; echo FROZEN >%[2]s/x/freezer.state) & echo $! >%[1]s/new; mv %[1]s/new %[1]s/pid; sleep 1; echo 1 s", b.hold, freezer)
		b.begin(append(argv, "-set", fmt.Sprintf(`workload.w.command=["/bin/sh", "-c", %q]`, script))...)
		r := b.proc.Wait()
		if r.Exit == 0 || !strings.Contains(r.Stderr, b.task) {
			t.Errorf("exit %d without naming process %s, which does not end\n%s%s", r.Exit, b.task, r.Stdout, r.Stderr)
		}
		gone(g)
		want(t, "CPUs of everybody else", g.Get("cat /sys/fs/cgroup/cpuset.cpus.effective"), "0-7")
		refused(g, "cpus = \"4\"\n", "goset-bench restore")
		g.Sh("echo THAWED >" + freezer + "/x/freezer.state")
		g.Until("! kill -0 " + b.task + " 2>/dev/null")
		if r := g.Run("goset-bench", "restore"); r.Exit != 0 {
			t.Errorf("exit %d of restore\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		g.Same(before)
	})
}

// TestOldKernel is scenario 2: kernel 5.10 knows no "isolated", and its "root"
// lets the workers loose that belong to a CPU, for good. So true falls back to a
// member, and says why; the words themselves are refused, and so is a fence.
func TestOldKernel(t *testing.T) {
	if !vmtest.Fetched("5.10") {
		t.Skip("the archive no longer has kernel 5.10")
	}
	g := vmtest.Boot(t, smt("5.10"))
	before := g.Snapshot()
	b := start(g, "cpus = \"2\"\ncgroup = true\nsteer = true\n")
	want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
	want(t, "partition", g.Get("cat /sys/fs/cgroup/goset*/cpuset.cpus.partition | sort -u"), "member")
	r := b.done()
	holds(t, r, "cpus", "cgroup", "steer")
	if l := layer(t, r, "cgroup"); l.Achieved != "member" || !strings.Contains(l.Note, "isolated") || !strings.Contains(l.Note, "root: a kernel before 6.1") {
		t.Errorf("the record does not say what holds, and why: %+v", l)
	}
	g.Same(before)
	refused(g, "cpus = \"2\"\ncgroup = \"isolated\"\n", "cgroup", "isolated", "6.1")
	refused(g, "cpus = \"2\"\ncgroup = \"root\"\n", "cgroup", "root", "6.1")
	refused(g, goset, "fence", "6.1")
	g.Same(before)
}

// TestPartition is scenario 1 and 3: the partition keeps everybody off, and
// the masks of bystanders are as they were after it.
func TestPartition(t *testing.T) {
	onFurtherToo(t, smt, func(t *testing.T, g *vmtest.Guest) {
		pins := []string{"3", "2", "2-3", "3,5", "0-7", "4"}
		var bystanders []*vmtest.Process
		for _, pin := range pins {
			bystanders = append(bystanders, g.Start("agent", "on", pin, "agent", "sleep"))
		}
		hog := g.Start("agent", "spin")
		before := g.Snapshot()
		b := start(g, goset)

		want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
		want(t, "CPUs of the root", g.Get("cat /sys/fs/cgroup/cpuset.cpus.effective"), "0-1,4-7")
		want(t, "partition", g.Get("cat /sys/fs/cgroup/goset*/cpuset.cpus.partition | grep -v member"), "isolated")
		want(t, "an outsider that pins itself there", g.Get(fmt.Sprintf("agent aff %d 2-3", hog.PID)), "EINVAL")
		late := g.Start("agent", "spin")
		for _, p := range []*vmtest.Process{hog, late} {
			neverOn(t, g, p.PID, "2", "3")
		}
		r := b.done()
		holds(t, r, "cpus", "cgroup", "fence", "steer")
		g.Sh(fmt.Sprintf("kill -9 %d", late.PID))
		late.Wait()
		same := func() {
			t.Helper()
			g.Same(before)
			for i, p := range bystanders {
				want(t, "mask of the bystander on "+pins[i], g.Get(fmt.Sprintf("agent mask %d", p.PID)), pins[i])
			}
		}
		same()

		b = start(g, goset)
		g.Sh(fmt.Sprintf("kill -9 %d", b.proc.PID))
		b.proc.Wait()
		gone(g)
		same()
	})
}

// TestMovedToTheRoot: before kernel 6.2 who is moved to the root cgroup gets the
// CPUs of partitions as well. The run does not count then.
func TestMovedToTheRoot(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		g.Sh("mkdir /sys/fs/cgroup/elsewhere")
		moved := g.Start("agent", "sleep")
		g.Sh(fmt.Sprintf("echo %d >/sys/fs/cgroup/elsewhere/cgroup.procs", moved.PID))
		b := start(g, goset)
		g.Sh(fmt.Sprintf("echo %d >/sys/fs/cgroup/cgroup.procs", moved.PID))
		got := g.Get(fmt.Sprintf("agent mask %d", moved.PID))
		want(t, "CPUs of who was moved", got, map[string]string{"6.1": "0-7", "6.12": "0-1,4-7"}[series(g.Release)])
		b.end()
		r := b.record()
		if l := layer(t, r, "fence"); l.Held != (got == "0-1,4-7") || l.Held != (r.Outcome == "kept") {
			t.Errorf("the process had CPUs %s, and the record says %s: %+v", got, r.Outcome, l)
		}
	})
}

// series is "6.1" of "6.1.0-50-cloud-amd64".
func series(release string) string {
	f := strings.SplitN(release, ".", 3)
	return strings.Join(f[:2], ".")
}

// neverOn looks again and again where the threads of a process run.
func neverOn(t *testing.T, g *vmtest.Guest, pid int, forbidden ...string) {
	t.Helper()
	seen := g.Get(fmt.Sprintf("for i in 1 2 3 4 5 6 7 8 9 10; do agent where %d; done", pid))
	if seen == "" {
		t.Errorf("process %d did not run at all", pid)
	}
	for cpu := range strings.SplitSeq(seen, "\n") {
		for _, f := range forbidden {
			if cpu == f {
				t.Errorf("process %d ran on CPU %s while it was fenced", pid, f)
			}
		}
	}
}

// want compares what an observer saw with what has to be there.
func want(t testing.TB, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s is %q, want %q", what, got, wanted)
	}
}

// TestSiblingsOffAtBoot: before 6.4 a cpuset takes CPUs that are offline from all
// threads for good. Siblings that may come back keep it from being made; those
// that are off until the next boot do not.
func TestSiblingsOffAtBoot(t *testing.T) {
	m := smt("6.1")
	m.Append = "nosmt"
	g := vmtest.Boot(t, m)
	pinned := g.Start("agent", "on", "4", "agent", "sleep")
	before := g.Snapshot()
	refused(g, "cpus = \"2\"\ncgroup = true\n", "cgroup", "CPUs 1,3,5,7 are offline", "echo forceoff > "+cpu+"smt/control")
	g.Same(before)

	g.Sh("echo forceoff >" + cpu + "smt/control")
	// The masks of threads lose what cannot come back.
	before = g.Snapshot("tasks")
	b := start(g, "cpus = \"2\"\ncgroup = true\nsteer = true\n")
	want(t, "CPUs of the root", g.Get("cat /sys/fs/cgroup/cpuset.cpus.effective"), "0,4,6")
	r := b.done()
	holds(t, r, "cpus", "cgroup", "steer")
	if note := layer(t, r, "cgroup").Note; !strings.Contains(note, "CPUs 1,3,5,7 are off until the next boot") {
		t.Errorf("the record says of the cgroup: %s", note)
	}
	g.Same(before)
	want(t, "mask of the bystander", g.Get(fmt.Sprintf("agent mask %d", pinned.PID)), "4")
}

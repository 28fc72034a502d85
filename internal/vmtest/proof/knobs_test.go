//go:build linux && scenarios

package proof

import (
	"fmt"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

const cpu = "/sys/devices/system/cpu/"

// TestSMTOff is scenario 10: siblings go offline for the run, a CPU that an
// administrator took offline stays so, and what hotplug loses (masks of
// interrupts and tasks that named only a sibling, of kernel threads) is put back.
// With a CPU offline, kernel 6.1 gets no cpuset: it would take the CPU from all.
func TestSMTOff(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		g.Sh("echo 3 >/proc/irq/" + rng + "/smp_affinity_list")
		pinned := g.Start("agent", "on", "3", "agent", "sleep")
		before := g.Snapshot()
		const all = "cpus = \"2\"\nsmt = false\ncgroup = true\nsteer = true\n"
		b := start(g, all)
		want(t, "online CPUs", g.Get("cat "+cpu+"online"), "0,2,4,6")
		holds(t, b.done(), "cpus", "smt", "cgroup", "steer")
		g.Same(before)

		// kcompactd, bound as tuned does it.
		g.Sh("echo 0 >" + cpu + "cpu5/online; agent aff $(pidof kcompactd0) 0-3")
		before = g.Snapshot()
		mode, layers := all, []string{"cpus", "smt", "cgroup", "steer"}
		if strings.HasPrefix(g.Release, "6.1.") {
			refused(g, all, "cgroup", "CPU 5 is offline")
			refused(g, "cpus = \"2\"\ncgroup = \"member\"\n", "cgroup", "CPU 5 is offline")
			g.Same(before)
			mode, layers = "cpus = \"2\"\nsmt = false\nsteer = true\n", []string{"cpus", "smt", "steer"}
		}
		b = start(g, mode)
		want(t, "online CPUs", g.Get("cat "+cpu+"online"), "0,2,4,6")
		want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
		journal := g.Sh("cat /run/goset/journal*")
		r := b.end()
		holds(t, b.record(), layers...)
		g.Same(before)
		if t.Failed() {
			t.Logf("exit %d\n%s%s\nlayers %+v\njournal\n%s", r.Exit, r.Stdout, r.Stderr, b.record().Layers, journal)
		}
		want(t, "mask of the bystander", g.Get(fmt.Sprintf("agent mask %d", pinned.PID)), "3")
		want(t, "CPU 5", g.Get("cat "+cpu+"cpu5/online"), "0")
	})
}

// TestNoSMT is scenario 10 where there is nothing to switch off.
func TestNoSMT(t *testing.T) {
	g := vmtest.Boot(t, vmtest.Machine{SMP: "4,sockets=1,cores=4,threads=1"})
	before := g.Snapshot()
	b := start(g, "cpus = \"2\"\nsmt = false\nfence = true\ncgroup = true\n")
	holds(t, b.done(), "cpus", "smt", "cgroup", "fence")
	refused(g, "cpus = \"2\"\nsmt = true\n", "smt")
	g.Same(before)
}

// TestTwoSockets holds the full set where core numbers repeat per package.
func TestTwoSockets(t *testing.T) {
	m := smt("6.12")
	m.SMP = "16,sockets=2,dies=2,cores=2,threads=2"
	g := vmtest.Boot(t, m)
	before := g.Snapshot()
	b := start(g, strings.Replace(goset, `"2"`, `"8,12"`, 1))
	want(t, "CPUs of the task", g.Get("agent mask "+b.task), "8,12")
	want(t, "CPUs of the root", g.Get("cat /sys/fs/cgroup/cpuset.cpus.effective"), "0-7,10-11,14-15")
	holds(t, b.done(), "cpus", "cgroup", "fence", "steer")
	g.Same(before)
}

// policies is the guest with four frequencies, one policy a CPU.
func policies(kernel string) vmtest.Machine {
	m := smt(kernel)
	m.SSDT = vmtest.PStates(8)
	m.Modules = append(m.Modules, "acpi-cpufreq", "cpufreq_powersave", "cpufreq_ondemand")
	return m
}

// TestFrequency is scenario 11: governor and limits of the task's CPU, and of
// no other; with SMT off as well, where the policies of offline CPUs cannot be
// read.
func TestFrequency(t *testing.T) {
	const look = "cd " + cpu + "cpufreq; cat policy2/scaling_governor policy2/scaling_min_freq policy2/scaling_max_freq policy4/scaling_max_freq"
	onKernels(t, policies, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, "cpus = \"2\"\ngovernor = \"performance\"\nfrequency = \"2GHz\"\n")
		want(t, "policy", g.Get(look), "performance\n2000000\n2000000\n3000000")
		holds(t, b.done(), "cpus", "governor", "frequency")
		g.Same(before)

		b = start(g, "cpus = \"2\"\nsmt = false\ngovernor = \"powersave\"\nfrequency = \"100%\"\ncgroup = true\n")
		want(t, "online CPUs", g.Get("cat "+cpu+"online"), "0,2,4,6")
		holds(t, b.done(), "cpus", "smt", "governor", "cgroup")
		g.Same(before)

		refused(g, "cpus = \"2\"\ngovernor = \"nosuch\"\n", "governor", "nosuch")
		refused(g, "cpus = \"2\"\nfrequency = \"9GHz\"\n", "frequency")
		g.Same(before)
		// Whether an administrator who sets a governor during the run keeps it
		// is scenario 19.
		b = start(g, "cpus = \"2\"\ngovernor = \"performance\"\n")
		g.Sh("echo ondemand >" + cpu + "cpufreq/policy2/scaling_governor")
		r := b.end()
		want(t, "governor that an administrator set", g.Get("cat "+cpu+"cpufreq/policy2/scaling_governor"), "ondemand")
		if b.record().Outcome == "kept" {
			t.Errorf("the run counts although its governor was changed:\n%s%s", r.Stdout, r.Stderr)
		}
		g.Sh("echo schedutil >" + cpu + "cpufreq/policy2/scaling_governor")
		g.Same(before)
	})
}

// TestNoFrequency is the machine without policies: the knob is named.
func TestNoFrequency(t *testing.T) {
	g := vmtest.Boot(t, smt("6.1"))
	before := g.Snapshot()
	refused(g, "cpus = \"2\"\ngovernor = \"performance\"\n", "governor")
	refused(g, "cpus = \"2\"\nfrequency = \"base\"\n", "frequency")
	refused(g, "cpus = \"2\"\nturbo = false\n", "turbo")
	g.Same(before)
}

// TestPriority is scenarios 12 and 13: policy and nice are those of the live
// task, a real-time task is still ended by an interrupt, and two sessions share
// a CPU as their nice values say although the kernel groups by session.
func TestPriority(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, "cpus = \"2\"\ncgroup = true\nnice = -10\n")
		want(t, "nice of the task", g.Get("awk '{print $19}' /proc/"+b.task+"/stat"), "-10")
		holds(t, b.done(), "cpus", "nice")
		g.Same(before)

		// Up to 6.11 the kernel takes 50 ms of every second from real-time
		// tasks, unless the user takes that limit away.
		if strings.HasPrefix(g.Release, "6.1.") {
			refused(g, "cpus = \"2\"\ncgroup = true\nfifo = 10\n", "fifo", "sched_rt_runtime_us")
			g.Same(before)
			g.Sh("echo -1 >/proc/sys/kernel/sched_rt_runtime_us")
			before = g.Snapshot()
		}
		b = start(g, "cpus = \"2\"\ncgroup = true\nfifo = 10\n")
		want(t, "policy and priority of the task", g.Get("awk '{print $41, $40}' /proc/"+b.task+"/stat"), "1 10")
		holds(t, b.done(), "cpus", "fifo")
		g.Same(before)

		// A real-time task that never yields, and Ctrl-C.
		b = startBurning(g, "cpus = \"2\"\ncgroup = true\nfifo = 50\n")
		g.Sh(fmt.Sprintf("kill -INT %d", b.proc.PID))
		if r := b.proc.Wait(); r.Exit != 130 {
			t.Errorf("exit %d after SIGINT\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		g.Same(before)
	})
}

// TestAutogroup is scenario 13: with one group a session the nice value alone
// would change nothing between sessions.
func TestAutogroup(t *testing.T) {
	g := vmtest.Boot(t, smt("6.12"))
	g.Sh("echo 1 >/proc/sys/kernel/sched_autogroup_enabled")
	rival := g.Start("agent", "on", "2", "agent", "spin")
	before := g.Snapshot()
	b := startBurning(g, "cpus = \"2\"\nnice = -15\n")
	ticks := func(pid string) string { return g.Get("awk '{print $14+$15}' /proc/" + pid + "/stat") }
	task, other := ticks(b.task), ticks(fmt.Sprint(rival.PID))
	g.Sh("sleep 5")
	mine, its := minus(t, ticks(b.task), task), minus(t, ticks(fmt.Sprint(rival.PID)), other)
	if mine < 4*its {
		t.Errorf("the task ran %d ticks beside a rival's %d: nice -15 had no weight", mine, its)
	}
	holds(t, b.done(), "cpus", "nice")
	g.Same(before)
}

// TestAddresses is scenario 14: without randomization the kernel puts the task
// at the same addresses every time, and no thread of goset-bench is affected.
func TestAddresses(t *testing.T) {
	g := vmtest.Boot(t, smt("6.1"))
	before := g.Snapshot()
	b := start(g, "cpus = \"2\"\naslr = false\n")
	want(t, "personality of the task", g.Get("cat /proc/"+b.task+"/personality"), "00040000")
	want(t, "personalities of goset-bench", g.Get(fmt.Sprintf("sort -u /proc/%d/task/*/personality", b.proc.PID)), "00000000")
	holds(t, b.done(), "cpus", "aslr")

	g.Write("/tmp/a/x.toml", strings.Replace(experiment("/tmp/a", "aslr = false\nstable_env = true\n"), `["/vm/bin/agent", "hold", "/tmp/a"]`,
		`["/bin/sh", "-c", "/vm/bin/agent addr >>/tmp/a/seen; echo 1 s"]`, 1))
	g.Sh("cd /tmp/a && goset-bench run x.toml -quiet -runs 20 -o out")
	want(t, "places of stack and vdso in 20 runs", g.Get("grep -c . /tmp/a/seen; sort -u /tmp/a/seen | grep -c ."), "40\n2")
	// A set-uid program has addresses of its own choice again, which is seen.
	b, argv := prepare(g, "aslr = false\n")
	suid := b.hold + ".suid"
	g.Sh("cp /vm/bin/agent " + suid + "; chmod 4755 " + suid)
	b.begin(append(argv, "-set", fmt.Sprintf("workload.w.command=[%q, \"hold\", %q]", suid, b.hold))...)
	want(t, "personality of a set-uid program", g.Get("cat /proc/"+b.task+"/personality"), "00000000")
	b.end()
	if r := b.record(); r.Outcome == "kept" || !strings.Contains(layer(t, r, "aslr").Note, "set-uid") {
		t.Errorf("the record says of it: %s, %+v", r.Outcome, r.Layers)
	}
	g.Same(before)
}

// TestLimits reads the limits of the job's cgroup from outside.
func TestLimits(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, "cpus = \"2\"\ncgroup = true\nmemory = \"256MiB\"\ncpu_quota = \"50%\"\n")
		group := g.Get("sed -n 's/^0:://p' /proc/" + b.task + "/cgroup")
		want(t, "memory limit", g.Get("cat /sys/fs/cgroup"+group+"/memory.max"), "268435456")
		if got := g.Get("cat /sys/fs/cgroup" + group + "/cpu.max"); !strings.HasPrefix(got, "50000 100000") {
			t.Errorf("cpu.max is %q, want half a CPU", got)
		}
		holds(t, b.done(), "cpus", "cgroup", "memory", "cpu_quota")
		g.Same(before)
	})
}

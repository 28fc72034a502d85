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
	refused(g, "cpus = \"2\"\nsmt = true\n", "smt", "notsupported")
	g.Same(before)
}

// TestSMTForcedOff is scenario 10 where SMT is off until the next boot.
func TestSMTForcedOff(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		g.Sh("echo forceoff >" + cpu + "smt/control")
		before := g.Snapshot()
		b := start(g, "cpus = \"2\"\nsmt = false\nsteer = true\n")
		want(t, "online CPUs", g.Get("cat "+cpu+"online"), "0,2,4,6")
		holds(t, b.done(), "cpus", "smt", "steer")
		refused(g, "cpus = \"2\"\nsmt = true\n", "smt", "forceoff")
		g.Same(before)
	})
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

// gaps is an experiment of one run that tells the longest stretch, in
// milliseconds, in which a loop of three seconds did not run.
func gaps(mode string) string {
	return fmt.Sprintf(`
[plan]
runs = 1
warmup = 0
idle = "0s"
[workload.w]
command = ["/vm/bin/agent", "gap", "3s"]
[workload.w.metric.gap]
pattern = 'gap: (\d+) ms'
[mode.m]
%s
`, mode)
}

// throttle is what the kernel takes from real-time tasks of every second, in
// milliseconds, and what an emulated machine measures of it at least.
const throttle = 45

// leastGap is the shortest of the longest gaps of some attempts: the threads of
// an emulated machine wait for CPUs, too, now and then and for as long as may be.
// It stops at the first that shows no throttle.
func leastGap(t *testing.T, attempt func() float64) float64 {
	t.Helper()
	least := attempt()
	for n := 1; n < 10 && least >= throttle; n++ {
		least = min(least, attempt())
	}
	return least
}

// TestGaps is scenario 12: up to 6.11 the kernel stops a real-time task in every
// second, whoever else there is, and goset-bench starts none unless that limit was
// taken away; from 6.12 on it does for normal tasks on the same CPU alone, limit
// or not, and a partition keeps these off.
func TestGaps(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		old := strings.HasPrefix(g.Release, "6.1.")
		const runtime = "/proc/sys/kernel/sched_rt_runtime_us"
		limit := g.Get("cat " + runtime)
		byHand := func() float64 {
			var ms float64
			text := g.Get("agent on 2 agent fifo 10 agent gap 3s")
			if _, err := fmt.Sscanf(text, "gap: %f ms", &ms); err != nil {
				t.Fatalf("%v in %q", err, text)
			}
			return ms
		}
		n := 0
		held := func(mode string) func() float64 {
			return func() float64 {
				n++
				name := fmt.Sprintf("/tmp/gap%d", n)
				g.Write(name+"/x.toml", gaps(mode))
				if r := g.Run("goset-bench", "run", name+"/x.toml", "-quiet", "-o", name+"/out"); r.Exit != 0 {
					t.Fatalf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
				}
				r := (&bench{g: g, dir: name + "/out"}).record()
				holds(t, r, "cpus", "cgroup", "fifo")
				return r.Values["gap"]
			}
		}
		const mode = "cpus = \"2\"\ncgroup = true\nfifo = 10\n"
		before := g.Snapshot()
		if got := leastGap(t, byHand); (got >= throttle) != old {
			t.Errorf("alone on its CPU a real-time task has gaps of %.0f ms with a limit of %s µs a second", got, limit)
		}
		if old {
			refused(g, mode, "fifo", "sched_rt_runtime_us")
			g.Same(before)
			g.Sh("echo -1 >" + runtime)
			before = g.Snapshot()
		}
		rival := g.Start("agent", "on", "2", "agent", "spin")
		if got := leastGap(t, byHand); (got >= throttle) == old {
			t.Errorf("beside a loop a real-time task has gaps of %.0f ms with a limit of %s", got, g.Get("cat "+runtime))
		}
		if got := leastGap(t, held(mode)); got >= throttle {
			t.Errorf("in its partition a real-time task has gaps of %.0f ms", got)
		}
		g.Sh(fmt.Sprintf("kill -9 %d", rival.PID))
		rival.Wait()
		g.Same(before)
		if old {
			g.Sh("echo " + limit + " >" + runtime)
		}
	})
}

// TestAutogroup is scenario 13: with one group a session the nice value alone
// would change nothing between sessions.
func TestAutogroup(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		g.Sh("echo 1 >/proc/sys/kernel/sched_autogroup_enabled")
		rival := g.Start("agent", "on", "2", "agent", "spin")
		before := g.Snapshot()
		ticks := func(pid string) string { return g.Get("awk '{print $14+$15}' /proc/" + pid + "/stat") }
		share := func(pid string) (mine, its int) {
			mineBefore, itsBefore := ticks(pid), ticks(fmt.Sprint(rival.PID))
			g.Sh("sleep 5")
			return minus(t, ticks(pid), mineBefore), minus(t, ticks(fmt.Sprint(rival.PID)), itsBefore)
		}
		// By hand, in a session of its own: the group weighs what others do.
		alone := g.Start("agent", "on", "2", "nice", "-n", "-15", "setsid", "agent", "spin")
		if mine, its := share(fmt.Sprint(alone.PID)); mine > 2*its {
			t.Errorf("a process of nice -15 ran %d ticks beside a rival's %d: there are no groups, and nothing is tested", mine, its)
		}
		g.Sh(fmt.Sprintf("kill -9 %d", alone.PID))
		alone.Wait()

		b := startBurning(g, "cpus = \"2\"\nnice = -15\n")
		if mine, its := share(b.task); mine < 4*its {
			t.Errorf("the task ran %d ticks beside a rival's %d: nice -15 had no weight", mine, its)
		}
		holds(t, b.done(), "cpus", "nice")
		g.Same(before)
	})
}

// TestAddresses is scenario 14: without randomization the kernel puts the task
// at the same addresses every time, which is read back from commands of any
// length, and no thread of goset-bench is affected.
func TestAddresses(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, "cpus = \"2\"\naslr = false\n")
		want(t, "personality of the task", g.Get("cat /proc/"+b.task+"/personality"), "00040000")
		want(t, "personalities of goset-bench", g.Get(fmt.Sprintf("sort -u /proc/%d/task/*/personality", b.proc.PID)), "00000000")
		holds(t, b.done(), "cpus", "aslr")

		sequence := func(name, command, flags string) {
			g.Write(name+"/x.toml", strings.Replace(experiment(name, "aslr = false\nstable_env = true\n"), `["/vm/bin/agent", "hold", "`+name+`"]`, command, 1))
			g.Sh("cd " + name + " && goset-bench run x.toml -quiet -o out " + flags)
		}
		sequence("/tmp/a", `["/bin/sh", "-c", "/vm/bin/agent addr >>/tmp/a/seen; echo 1 s"]`, "-runs 20")
		want(t, "places of stack and vdso in 20 runs", g.Get("grep -c . /tmp/a/seen; sort -u /tmp/a/seen | grep -c ."), "40\n2")
		sequence("/tmp/short", `["/bin/busybox", "true"]`, "-runs 20")
		for _, r := range records(t, g, "/tmp/short") {
			if l := layer(t, r, "aslr"); !l.Held || l.Unread || l.Achieved != "false" {
				t.Errorf("a command of %.1f ms: %+v", 1000*r.Values["wall"], l)
			}
		}
		g.Same(before)
	})
}

// TestAddressesOfSetUID is scenario 14 for a set-uid program and its child: they
// have addresses of their own choice again, which is seen.
func TestAddressesOfSetUID(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		g.Sh("cp /vm/bin/agent /tmp/suid; chmod 4755 /tmp/suid")
		before := g.Snapshot()
		b, argv := prepare(g, "aslr = false\n")
		b.begin(append(argv, "-set", fmt.Sprintf("workload.w.command=[\"/tmp/suid\", \"hold\", %q]", b.hold))...)
		want(t, "personality of a set-uid program", g.Get("cat /proc/"+b.task+"/personality"), "00000000")
		b.end()
		if r := b.record(); r.Outcome == "kept" || !strings.Contains(layer(t, r, "aslr").Note, "set-uid") {
			t.Errorf("the record says of it: %s, %+v", r.Outcome, r.Layers)
		}
		g.Same(before)

		b, argv = prepare(g, "aslr = false\n")
		parent := fmt.Sprintf("mkdir -p %[1]s; echo $$ >%[1]s/new; mv %[1]s/new %[1]s/pid; exec /tmp/suid bear %[1]s/go", b.hold)
		b.begin(append(argv, "-set", fmt.Sprintf(`workload.w.command=["/bin/sh", "-c", %q]`, parent))...)
		g.Sh("touch " + b.hold + "/go")
		child := "$(cat /proc/" + b.task + "/task/*/children)"
		g.Until(`[ -n "` + child + `" ] && [ "$(cat /proc/` + b.task + `/comm)" = suid ]`)
		want(t, "personality of its child", g.Get("for p in "+child+"; do cat /proc/$p/personality; done"), "00000000")
		g.Sh("kill -9 " + child)
		b.proc.Wait()
		g.Same(before)
	})
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

//go:build linux && scenarios

package proof

import (
	"fmt"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// systemd is the guest of smt with systemd, irqbalance and D-Bus. It makes far
// more cpusets than others, so that its CPUs take turns.
func systemd(kernel string) vmtest.Machine {
	m := smt(kernel)
	m.Systemd, m.Memory, m.OneThread = true, 1536, true
	return m
}

// booted waits until nothing starts any more: what still does has a cgroup that
// goes away by itself.
func booted(g *vmtest.Guest) { g.Sh("systemctl is-system-running --wait >/dev/null || true") }

// TestSystemd is scenarios 4, 5, 9, and of 3, 8 and 17 what needs systemd, one
// after the other on one guest of each kernel: it is the slowest to boot.
func TestSystemd(t *testing.T) {
	onKernels(t, systemd, func(t *testing.T, g *vmtest.Guest) {
		booted(g)
		// A service that is bound to CPUs, of which the partition takes one.
		g.Sh("systemd-run -q --unit=bound -p CPUAffinity=3,5 sleep 100000")
		// irqbalance writes the masks within its interval once it is started
		// again, so that they are compared only where it is not running.
		before := g.Snapshot("irq")
		for _, scenario := range []struct {
			name  string
			steps func(g *vmtest.Guest, before vmtest.Snapshot)
		}{
			{"3 and 4 what systemd does during a run", duringARun},
			{"4 an overlap made during a run", overlapMade},
			{"4 a session that logs out", loggedOut},
			{"5 an overlap made before", overlapping},
			{"8 a balancer that looks every second", balancing},
			{"9 ten runs in a row", tenInARow},
			{"9 a balancer that does not run", notBalancing},
			{"17 a service whose main process is killed", func(g *vmtest.Guest, before vmtest.Snapshot) { serviceKilled(g, before, "main") }},
			{"17 a service that is killed whole", func(g *vmtest.Guest, before vmtest.Snapshot) { serviceKilled(g, before, "all") }},
		} {
			t.Run(scenario.name, func(t *testing.T) { scenario.steps(g.On(t), before) })
		}
	})
}

func duringARun(g *vmtest.Guest, before vmtest.Snapshot) {
	t := g.T()
	b := start(g, goset)
	partition := func(when string) {
		t.Helper()
		want(t, "partition "+when, g.Get("cat /sys/fs/cgroup/goset*/cpuset.cpus.partition | grep -v member"), "isolated")
		want(t, "CPUs of the task "+when, g.Get("agent mask "+b.task), "2")
	}
	want(t, "irqbalance during the run", g.Get("systemctl is-active irqbalance || true"), "inactive")
	partition("at first")
	g.Sh("systemctl daemon-reload")
	partition("after daemon-reload")
	g.Sh("systemd-run -q --unit=zz -p AllowedCPUs=0-1 sleep 100; systemctl stop zz; systemd-run --wait -q true")
	partition("after a unit with AllowedCPUs")
	holds(t, b.done(), "cpus", "cgroup", "fence")
	want(t, "irqbalance after the run", g.Get("systemctl is-active irqbalance || true"), "active")
	want(t, "CPUs of the bound service", g.Get("agent mask $(systemctl show -P MainPID bound)"), "3,5")
	g.Same(before)
}

func overlapMade(g *vmtest.Guest, before vmtest.Snapshot) {
	t := g.T()
	b := start(g, goset)
	g.Sh("systemctl set-property --runtime user.slice AllowedCPUs=0-3")
	state := g.Get("cat /sys/fs/cgroup/goset*/cpuset.cpus.partition | grep -v '^member'")
	b.end()
	r := b.record()
	switch {
	case !strings.Contains(state, "invalid"):
		want(t, "partition beside the overlap", state, "isolated")
		holds(t, r, "cgroup", "fence")
	case r.Outcome == "kept" || !strings.Contains(layer(t, r, "cgroup").Note+r.Reason, "invalid"):
		t.Errorf("the partition was %q and the record says %s: %s", state, r.Outcome, r.Reason)
	}
	reset(g)
	g.Same(before)
}

func loggedOut(g *vmtest.Guest, before vmtest.Snapshot) {
	b, argv := prepare(g, goset)
	b.begin(append([]string{"systemd-run", "-q", "--scope", "--slice=user.slice", "--unit=session-c9", "--setenv=PATH=/usr/sbin:/usr/bin:/sbin:/bin:/vm/bin"}, argv...)...)
	g.Sh("systemctl stop session-c9.scope")
	b.proc.Wait()
	gone(g)
	g.Same(before)
}

func overlapping(g *vmtest.Guest, before vmtest.Snapshot) {
	t := g.T()
	g.Sh("systemctl set-property --runtime user.slice AllowedCPUs=0-3")
	overlapping := g.Snapshot("irq")
	if strings.HasPrefix(g.Release, newest+".") {
		// That kernel takes the CPUs from the cgroup beside.
		holds(t, start(g, "cpus = \"2\"\ncgroup = \"isolated\"\n").done(), "cpus", "cgroup")
	} else {
		refused(g, "cpus = \"2\"\ncgroup = \"isolated\"\n", "cgroup", "not exclusive")
		g.Same(overlapping)
		r := start(g, "cpus = \"2\"\ncgroup = true\n").done()
		holds(t, r, "cpus", "cgroup")
		if l := layer(t, r, "cgroup"); l.Achieved != "member" || !strings.Contains(l.Note, "not exclusive") {
			t.Errorf("the record does not say what holds, and why: %+v", l)
		}
	}
	g.Same(overlapping)
	reset(g)
	g.Same(before)
}

// balancing has irqbalance itself, of no service, look every second while there
// is a storm that it would spread.
func balancing(g *vmtest.Guest, before vmtest.Snapshot) {
	t := g.T()
	g.Sh("systemctl stop irqbalance")
	storm := g.Start("sh", "-c", "while :; do dd if=/dev/hwrng of=/dev/null bs=64 count=20 2>/dev/null; done")
	balancer := g.Start("irqbalance", "--foreground", "--interval=1")
	state := fmt.Sprintf("awk '{print $3}' /proc/%d/stat", balancer.PID)
	b := start(g, goset)
	want(t, "state of the balancer", g.Get(state), "T")
	const masks = "grep . /proc/irq/*/smp_affinity_list"
	first := g.Get(masks)
	g.Sh("sleep 5")
	want(t, "masks five seconds later", g.Get(masks), first)
	r := b.done()
	holds(t, r, "cgroup", "steer")
	if l := layer(t, r, "steer"); !strings.Contains(l.Achieved, "drift 0") {
		t.Errorf("the record says of the steering: %+v", l)
	}
	// It goes on: between two looks it sleeps.
	g.Until(`[ "$(` + state + `)" = S ]`)
	for _, p := range []*vmtest.Process{balancer, storm} {
		g.Sh(fmt.Sprintf("kill -9 -%d", p.PID))
		p.Wait()
	}
	g.Sh("systemctl reset-failed irqbalance || true; systemctl start irqbalance")
	g.Same(before)
}

func tenInARow(g *vmtest.Guest, before vmtest.Snapshot) {
	name := "/tmp/ten"
	g.Write(name+"/x.toml", strings.Replace(experiment(name, goset), `["/vm/bin/agent", "hold", "`+name+`"]`, `["/bin/echo", "1 s"]`, 1))
	for i := range 10 {
		if r := g.Run("goset-bench", "run", name+"/x.toml", "-quiet", "-o", fmt.Sprintf("%s/out%d", name, i)); r.Exit != 0 {
			g.T().Fatalf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
	}
	want(g.T(), "irqbalance after ten runs", g.Get("systemctl is-active irqbalance || true"), "active")
	g.Same(before)
}

func notBalancing(g *vmtest.Guest, _ vmtest.Snapshot) {
	for _, c := range []struct{ name, do, undo string }{
		{"inactive", "systemctl stop irqbalance", "systemctl reset-failed irqbalance; systemctl start irqbalance"},
		{"failed", "systemctl kill -s KILL irqbalance; until systemctl is-failed -q irqbalance; do sleep 0.1; done", "systemctl reset-failed irqbalance; systemctl start irqbalance"},
		{"masked", "systemctl mask --runtime --now irqbalance", "systemctl unmask --runtime irqbalance; systemctl start irqbalance"},
	} {
		g.Sh(c.do)
		before := g.Snapshot()
		holds(g.T(), start(g, goset).done(), "cgroup", "steer")
		g.Same(before)
		g.Sh(c.undo)
		if g.T().Failed() {
			g.T().Fatalf("with irqbalance %s", c.name)
		}
	}
}

// serviceKilled kills goset-bench as a service, or all of the service's cgroup.
func serviceKilled(g *vmtest.Guest, before vmtest.Snapshot, whom string) {
	b, argv := prepare(g, goset)
	g.Sh("systemd-run -q --unit=bench --setenv=PATH=$PATH " + strings.Join(argv, " "))
	g.Until("[ -e " + b.hold + "/pid ]")
	g.Sh("systemctl kill --kill-whom=" + whom + " -s KILL bench")
	g.Until("! systemctl is-active -q bench")
	gone(g)
	g.Sh("systemctl reset-failed bench || true")
	g.Same(before)
}

// reset takes AllowedCPUs back, which systemd does not do by itself: it leaves
// the file as it was written. The cpusets that systemd made cost the bound service
// its CPUs on kernel 6.1, with goset or without.
func reset(g *vmtest.Guest) {
	g.Sh(`systemctl set-property --runtime user.slice AllowedCPUs=
rm -rf /run/systemd/system.control/user.slice.d; systemctl daemon-reload
[ ! -e /sys/fs/cgroup/user.slice/cpuset.cpus ] || echo >/sys/fs/cgroup/user.slice/cpuset.cpus
systemd-run --wait -q true; systemctl daemon-reload
agent aff $(systemctl show -P MainPID bound) 3,5`)
}

// TestSystemdHierarchies is scenario 7 where systemd mounts the hierarchies: its
// hybrid one, and the legacy one without version 2.
func TestSystemdHierarchies(t *testing.T) {
	for name, words := range map[string]string{
		"hybrid": "systemd.unified_cgroup_hierarchy=0",
		"legacy": "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1",
	} {
		t.Run(name, func(t *testing.T) {
			m := systemd("6.1")
			m.Append = words
			g := vmtest.Boot(t, m)
			booted(g)
			if v2 := g.Get("grep -c cgroup2 /proc/mounts || true"); (v2 == "0") != (name == "legacy") {
				t.Fatalf("%s mounts of cgroup2: systemd did not take the words", v2)
			}
			pinned := g.Start("agent", "on", "2", "agent", "sleep")
			before := g.Snapshot("irq")
			b := start(g, "cpus = \"2\"\ncgroup = true\nsteer = true\n")
			g.Sh("systemctl daemon-reload; systemd-run --wait -q true")
			want(t, "CPUs of the task", g.Get("agent mask "+b.task), "2")
			if got := g.Get("cat /proc/" + b.task + "/cgroup"); !strings.Contains(got, ":cpuset:/goset") {
				t.Errorf("groups of the task:\n%s", got)
			}
			holds(t, b.done(), "cpus", "cgroup", "steer")
			g.Same(before)
			want(t, "mask of the bystander", g.Get(fmt.Sprintf("agent mask %d", pinned.PID)), "2")
		})
	}
}

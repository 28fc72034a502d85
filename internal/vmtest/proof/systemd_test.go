//go:build linux && scenarios

package proof

import (
	"fmt"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// TestSystemd is scenarios 3, 4, 5, 9 and the service of 17, on one guest: it is
// the slowest to boot.
func TestSystemd(t *testing.T) {
	m := vmtest.Machine{Systemd: true, Memory: 1536, Kernel: kernels()[0], OneThread: kernels()[0] == newest}
	g := vmtest.Boot(t, m)
	// What still starts has a cgroup that goes away by itself.
	g.Sh("systemctl is-system-running --wait >/dev/null || true")
	// A service that is bound to CPUs, of which the partition takes one.
	g.Sh("systemd-run -q --unit=bound -p CPUAffinity=3,5 sleep 100000")
	// irqbalance writes the masks within its interval once it is started
	// again, so that they are compared only where it is not running.
	before := g.Snapshot("irq")

	t.Run("4 what systemd does during a run", func(t *testing.T) {
		g := g.On(t)
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
		g.Same(before)
	})
	t.Run("4 an overlap made during a run", func(t *testing.T) {
		g := g.On(t)
		b := start(g, goset)
		g.Sh("systemctl set-property --runtime user.slice AllowedCPUs=0-3")
		state := g.Get("cat /sys/fs/cgroup/goset*/cpuset.cpus.partition | grep -v '^member'")
		b.end()
		r := b.record()
		if strings.Contains(state, "invalid") && (r.Outcome == "kept" || !strings.Contains(layer(t, r, "cgroup").Note+r.Reason, "invalid")) {
			t.Errorf("the partition was %q and the record says %s: %s", state, r.Outcome, r.Reason)
		}
		reset(g)
		g.Same(before)
	})
	t.Run("4 a session that logs out", func(t *testing.T) {
		g := g.On(t)
		b, argv := prepare(g, goset)
		b.begin(append([]string{"systemd-run", "-q", "--scope", "--slice=user.slice", "--unit=session-c9", "--setenv=PATH=/usr/sbin:/usr/bin:/sbin:/bin:/vm/bin"}, argv...)...)
		g.Sh("systemctl stop session-c9.scope")
		b.proc.Wait()
		gone(g)
		g.Same(before)
	})
	t.Run("5 an overlap made before", func(t *testing.T) {
		g := g.On(t)
		g.Sh("systemctl set-property --runtime user.slice AllowedCPUs=0-3")
		overlapping := g.Snapshot("irq")
		if strings.HasPrefix(g.Release, newest+".") {
			// That kernel takes the CPUs from the cgroup beside.
			holds(t, start(g, "cpus = \"2\"\ncgroup = \"isolated\"\n").done(), "cpus", "cgroup")
		} else {
			refused(g, "cpus = \"2\"\ncgroup = \"isolated\"\n", "cgroup", "not exclusive")
		}
		g.Same(overlapping)
		reset(g)
		g.Same(before)
	})
	t.Run("9 ten runs in a row", func(t *testing.T) {
		g := g.On(t)
		name := "/tmp/ten"
		g.Write(name+"/x.toml", strings.Replace(experiment(name, goset), `["/vm/bin/agent", "hold", "`+name+`"]`, `["/bin/echo", "1 s"]`, 1))
		for i := range 10 {
			if r := g.Run("goset-bench", "run", name+"/x.toml", "-quiet", "-o", fmt.Sprintf("%s/out%d", name, i)); r.Exit != 0 {
				t.Fatalf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
			}
		}
		g.Same(before)
	})
	for _, c := range []struct{ name, do, undo string }{
		{"inactive", "systemctl stop irqbalance", "systemctl reset-failed irqbalance; systemctl start irqbalance"},
		{"failed", "systemctl kill -s KILL irqbalance; until systemctl is-failed -q irqbalance; do sleep 0.1; done", "systemctl reset-failed irqbalance; systemctl start irqbalance"},
		{"masked", "systemctl mask --runtime --now irqbalance", "systemctl unmask --runtime irqbalance; systemctl start irqbalance"},
	} {
		t.Run("9 irqbalance "+c.name, func(t *testing.T) {
			g := g.On(t)
			g.Sh(c.do)
			before := g.Snapshot()
			holds(t, start(g, goset).done(), "cgroup", "steer")
			g.Same(before)
			g.Sh(c.undo)
		})
	}
	t.Run("17 a service that is killed whole", func(t *testing.T) {
		g := g.On(t)
		b, argv := prepare(g, goset)
		g.Sh("systemd-run -q --unit=bench --setenv=PATH=$PATH " + strings.Join(argv, " "))
		g.Until("[ -e " + b.hold + "/pid ]")
		g.Sh("systemctl kill --kill-whom=main -s KILL bench")
		g.Until("! systemctl is-active -q bench")
		gone(g)
		g.Sh("systemctl reset-failed bench || true")
		g.Same(before)
	})
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

//go:build linux && scenarios

package proof

import (
	"fmt"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// rng finds the number of the virtio-rng interrupt, which can be steered.
const rng = "$(grep -m1 'virtio.*input' /proc/interrupts | cut -d: -f1 | tr -d ' ')"

// counted prints how often an interrupt came to each of CPUs 2 and 3.
const counted = `awk '/virtio.*input/ {print $4, $5; exit}' /proc/interrupts`

// rebind makes the driver give its interrupts back and ask for new ones.
const rebind = "cd /sys/bus/virtio/drivers/virtio_rng && d=$(ls -d virtio*) && echo $d >unbind && echo $d >bind"

// TestSteering is scenario 8: a storm of interrupts leaves the task's CPU and
// its sibling within the run, new interrupts do not come there, managed ones
// are reported, and the masks are as before.
func TestSteering(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		g.Sh("echo 2 >/proc/irq/" + rng + "/smp_affinity_list")
		before := g.Snapshot()
		storm := g.Start("sh", "-c", "while :; do dd if=/dev/hwrng of=/dev/null bs=64 count=20 2>/dev/null; done")
		b := start(g, goset)

		want(t, "mask of the storm", g.Get("cat /proc/irq/"+rng+"/smp_affinity_list"), "0-1,4-7")
		want(t, "mask of new interrupts", g.Get("cat /proc/irq/default_smp_affinity"), "f3")
		g.Until("[ \"$(" + counted + "; sleep 0.3)\" = \"$(" + counted + ")\" ]")
		first := g.Get(counted)
		g.Sh("dd if=/dev/hwrng of=/dev/null bs=64 count=50 2>/dev/null")
		want(t, "interrupts on CPUs 2 and 3 since", g.Get(counted), first)

		// A driver that comes back gets its interrupt from the default mask.
		g.Sh(rebind)
		want(t, "mask of the new interrupt", g.Get("cat /proc/irq/"+rng+"/smp_affinity_list"), "0-1,4-7")

		r := b.done()
		l := layer(t, r, "steer")
		if !strings.Contains(l.Note, "refused") || !strings.Contains(l.Note, "nvme") {
			t.Errorf("the record does not name the managed interrupts: %+v", l)
		}
		if strings.Contains(l.Achieved, "applied 0") {
			t.Errorf("the record counts no steered interrupt: %+v", l)
		}
		g.Sh(fmt.Sprintf("kill -9 -%d", storm.PID))
		storm.Wait()
		// The interrupts that the driver took down are others now, and do not
		// keep the default that was in force.
		g.Same(before)
	})
}

// TestSomebodySteersBack is scenarios 8 and 19: who moves an interrupt back
// during the run is seen, and who changes a value keeps it.
func TestSomebodySteersBack(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, "cpus = \"2\"\nsteer = true\n")
		g.Sh("echo 5 >/proc/irq/" + rng + "/smp_affinity_list; echo 0f >/proc/irq/default_smp_affinity")
		r := b.end()
		want(t, "mask that an administrator set", g.Get("cat /proc/irq/"+rng+"/smp_affinity_list"), "5")
		want(t, "default mask that an administrator set", g.Get("cat /proc/irq/default_smp_affinity"), "0f")
		if !strings.Contains(r.Stderr+r.Stdout, "somebody else changed") {
			t.Errorf("nothing is said of what somebody else changed:\n%s%s", r.Stdout, r.Stderr)
		}
		g.Sh("echo 0-7 >/proc/irq/" + rng + "/smp_affinity_list; echo ff >/proc/irq/default_smp_affinity")
		g.Same(before)
	})
}

// TestBalancerWithoutSystemd is scenario 9: a balancer of no service is held
// for the run and goes on after it.
func TestBalancerWithoutSystemd(t *testing.T) {
	g := vmtest.Boot(t, smt("6.12"))
	g.Sh("cp /vm/bin/agent /bin/irqbalance")
	balancer := g.Start("irqbalance", "sleep")
	before := g.Snapshot()
	b := start(g, goset)
	want(t, "state of the balancer", g.Get(fmt.Sprintf("awk '{print $3}' /proc/%d/stat", balancer.PID)), "T")
	holds(t, b.done(), "steer")
	want(t, "state of the balancer after", g.Get(fmt.Sprintf("awk '{print $3}' /proc/%d/stat", balancer.PID)), "S")
	g.Same(before)
}

// TestQuietMachine is scenario 15: while a task runs alone in its partition,
// what goset-bench reads raises no interrupt on its CPU. The positive control
// shows that the look would see one.
func TestQuietMachine(t *testing.T) {
	const calls = `awk '/^ *(CAL|RES|TLB|IWI):/ {n += $4} END {print n}' /proc/interrupts`
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		b := startBurning(g, goset)
		first := g.Get(calls)
		g.Sh("sleep 10")
		quiet := minus(t, g.Get(calls), first)
		g.Sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat /proc/sys/vm/stat_refresh; done")
		loud := minus(t, g.Get(calls), first) - quiet
		if quiet > 10 {
			t.Errorf("%d interrupts from other CPUs came to the task's in 10 s", quiet)
		}
		if loud < 15 {
			t.Errorf("20 refreshes of the statistics raised %d interrupts: the look sees nothing", loud)
		}
		b.done()
	})
}

// minus subtracts two printed numbers.
func minus(t *testing.T, a, b string) int {
	t.Helper()
	var x, y int
	if _, err := fmt.Sscan(a+" "+b, &x, &y); err != nil {
		t.Fatalf("%q and %q: %v", a, b, err)
	}
	return x - y
}

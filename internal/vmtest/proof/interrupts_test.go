//go:build linux && scenarios

package proof

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// rng finds the number of the virtio-rng interrupt, which can be steered.
const rng = "$(grep -m1 'virtio.*input' /proc/interrupts | cut -d: -f1 | tr -d ' ')"

// managed finds the number of an interrupt that is its driver's alone to move.
const managed = "$(grep -m1 nvme0q1 /proc/interrupts | cut -d: -f1 | tr -d ' ')"

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
		// The kernel moves an interrupt when it comes the next time.
		g.Sh("sleep 1")
		first := g.Get(counted)
		g.Sh("dd if=/dev/hwrng of=/dev/null bs=64 count=50 2>/dev/null")
		want(t, "interrupts on CPUs 2 and 3 since", g.Get(counted), first)

		// A driver that comes back gets its interrupt from the default mask.
		g.Sh(rebind)
		want(t, "mask of the new interrupt", g.Get("cat /proc/irq/"+rng+"/smp_affinity_list"), "0-1,4-7")

		// What the kernel says to who moves a managed interrupt.
		refusal := map[string]string{"6.1": "EIO", "6.12": "EPERM"}[series(g.Release)]
		want(t, "answer of a managed interrupt", g.Get("agent wr /proc/irq/"+managed+"/smp_affinity_list 0"), refusal)

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

// renewed gives a disk's interrupts back and asks for new ones until it is told to
// stop. The driver can give up on a disk that it was taken from at once; it is
// then asked again. (A random number generator will not do: with kernel 6.1 the
// second or third unbinding of it hangs.)
const renewed = `cd /sys/bus/pci/drivers/nvme && d=$(ls -d 0000:*) || exit
while [ ! -e /tmp/enough ]; do
	echo $d >unbind
	until grep -q 'nvme.*q8' /proc/interrupts; do [ -e $d ] || echo $d >bind; done
	echo . >>/tmp/times
done`

// TestInterruptsThatGo is scenario 8: a driver gives its interrupts back and asks
// for new ones all the while, so that one can go between the look and the write.
func TestInterruptsThatGo(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		driver := g.Start("sh", "-c", renewed)
		for range 5 {
			holds(t, start(g, goset).done(), "cgroup", "steer")
		}
		g.Sh("touch /tmp/enough")
		if r := driver.Wait(); r.Exit != 0 {
			t.Errorf("the driver gave up: exit %d\n%s", r.Exit, r.Stderr)
		}
		t.Logf("the interrupts were new %s times", g.Get("wc -l </tmp/times"))
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

// TestQuietMachine is scenario 15: while a task runs alone in its partition, no
// more interrupts from other CPUs come to it in a minute with goset's poller at
// its full rate than without it. The positive control shows that the look would
// see them.
func TestQuietMachine(t *testing.T) {
	const calls = `awk '/^ *(CAL|RES|TLB|IWI):/ {n += $4} END {print n}' /proc/interrupts`
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		minute := func(interval string) (quiet, loud int) {
			name := g.Get("mktemp -d /tmp/quiet.XXXXXX")
			task := g.StartEnv([]string{"HOME=/root"}, "goset", "-cpus", "2", "-cgroup", "-fence", "-steer", "-interval", interval, "-json", name+"/report", "-quiet", "--", "agent", "hold", name, "burn")
			g.Until("[ -e " + name + "/pid ]")
			first := g.Get(calls)
			g.Sh("sleep 60")
			quiet = minus(t, g.Get(calls), first)
			g.Sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat /proc/sys/vm/stat_refresh; done")
			loud = minus(t, g.Get(calls), first) - quiet
			g.Sh("touch " + name + "/go")
			if r := task.Wait(); r.Exit != 0 {
				t.Errorf("exit %d with -interval %s\n%s", r.Exit, interval, r.Stderr)
			}
			polls(t, g, name+"/report", interval != "0")
			return quiet, loud
		}
		// What is shown to be silent here is polled, too.
		if r := g.Run("sh", "-c", "HOME=/root goset audit -json - -state /run/goset-audit"); r.Exit != 0 {
			t.Fatalf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		alone, _ := minute("0")
		polled, loud := minute("1ms")
		t.Logf("kernel %s: %d interrupts in a minute without polls, %d with", g.Release, alone, polled)
		if polled > alone+10 || alone > 60 {
			t.Errorf("%d interrupts from other CPUs came to the task's in a minute of polls, and %d without", polled, alone)
		}
		if loud < 15 {
			t.Errorf("20 refreshes of the statistics raised %d interrupts: the look sees nothing", loud)
		}
	})
}

// polls holds a report of goset to having polled, or not.
func polls(t *testing.T, g *vmtest.Guest, report string, wanted bool) {
	t.Helper()
	var r struct {
		Telemetry struct{ Polls int }
	}
	if err := json.Unmarshal(g.Read(report), &r); err != nil {
		t.Fatal(err)
	}
	// At full rate there are thousands, on an emulated machine hundreds.
	if n := r.Telemetry.Polls; wanted && n < 200 || !wanted && n > 2 {
		t.Errorf("goset polled %d times", n)
	}
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

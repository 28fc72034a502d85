//go:build linux && scenarios

package proof

import (
	"fmt"
	"strconv"
	"testing"

	"goset/internal/vmtest"
)

// TestCoreScheduling holds a fence where there are no cpusets: what is bound to
// the sibling does not run while the task does. Debian's kernels are built without
// CONFIG_SCHED_CORE; scripts/guest-kernel-core builds one that has it.
func TestCoreScheduling(t *testing.T) {
	if !vmtest.Fetched("core") {
		t.Skip("unsupported here: no kernel with core scheduling (scripts/guest-kernel-core builds one)")
	}
	g := vmtest.Boot(t, vmtest.Machine{Kernel: "core", Cgroup: vmtest.None})
	rival := g.Start("agent", "on", "3", "agent", "spin")
	before := g.Snapshot()

	b := startBurning(g, "cpus = \"2\"\n")
	if share := together(g, b.task, rival.PID); share < 1.1 {
		t.Errorf("task and rival had %.2f CPUs without a fence: nothing is tested", share)
	}
	b.done()
	g.Same(before)

	b = startBurning(g, "cpus = \"2\"\nfence = true\n")
	if share := together(g, b.task, rival.PID); share > 1.02 {
		t.Errorf("task and rival had %.2f CPUs: they ran side by side inside the fence", share)
	}
	r := b.done()
	holds(t, r, "cpus", "fence")
	want(t, "the fence", layer(t, r, "fence").Achieved, "core scheduling on siblings 3: others wait there while the task runs, and the task while they do")
	g.Same(before)
}

// together is how many CPUs two processes had for some seconds.
func together(g *vmtest.Guest, task string, rival int) float64 {
	const look = `awk '{ ns += $1 } END { printf "%%.0f ", ns }' /proc/%s/schedstat /proc/%d/schedstat; awk '{ printf "%%.0f ", $1 * 1e9 }' /proc/uptime`
	script := fmt.Sprintf(look+"; sleep 5; "+look, task, rival, task, rival)
	var ran, ranLater, at, later float64
	text := g.Get(script)
	if _, err := fmt.Sscan(text, &ran, &at, &ranLater, &later); err != nil || later <= at {
		g.T().Fatalf("cannot read times from %s: %v", strconv.Quote(text), err)
	}
	return (ranLater - ran) / (later - at)
}

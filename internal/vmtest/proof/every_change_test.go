//go:build linux

package proof

import (
	"testing"

	"goset/internal/vmtest"
)

// goset is the mode that the published table runs, on chosen CPUs.
const goset = `
cpus = "2"
cgroup = true
fence = true
steer = true
`

// TestSteeringIsHeld is the verdict of scenario 8 without somebody who brings
// up devices meanwhile.
func TestSteeringIsHeld(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, goset)
		holds(t, b.done(), "cpus", "cgroup", "fence", "steer")
		g.Same(before)
	})
}

// TestOneCPU holds what can be held where there is one CPU, and refuses the
// rest.
func TestOneCPU(t *testing.T) {
	g := vmtest.Boot(t, vmtest.Machine{SMP: "1", Kernel: "6.12"})
	before := g.Snapshot()
	b := start(g, "cpus = \"0\"\nnice = -5\n")
	holds(t, b.done(), "cpus", "nice")
	refused(g, "cpus = \"0\"\ncgroup = \"isolated\"\n", "cgroup")
	refused(g, "cpus = \"0\"\nsteer = true\n", "steer")
	g.Same(before)
}

// gone waits until no guard is left: it never outlives its work.
func gone(g *vmtest.Guest) {
	g.T().Helper()
	g.Until(`[ -z "$(agent guards)" ]`)
}

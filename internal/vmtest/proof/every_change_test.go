//go:build linux

package proof

import (
	"fmt"
	"strings"
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

// TestPartition is scenario 1 and 3: the partition keeps everybody off, and
// the masks of bystanders are as they were after it.
func TestPartition(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		pins := []string{"2", "2-3", "3,5", "0-7", "4"}
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
		g.Same(before)
		for i, p := range bystanders {
			want(t, "mask of the bystander on "+pins[i], g.Get(fmt.Sprintf("agent mask %d", p.PID)), pins[i])
		}
	})
}

// neverOn looks again and again where the threads of a process run.
func neverOn(t *testing.T, g *vmtest.Guest, pid int, forbidden ...string) {
	t.Helper()
	seen := g.Get(fmt.Sprintf("for i in 1 2 3 4 5 6 7 8 9 10; do agent where %d; done", pid))
	for cpu := range strings.SplitSeq(seen, "\n") {
		for _, f := range forbidden {
			if cpu == f {
				t.Errorf("process %d ran on CPU %s while it was fenced", pid, f)
			}
		}
	}
}

// gone waits until no guard is left: it never outlives its work.
func gone(g *vmtest.Guest) {
	g.T().Helper()
	g.Until(`[ -z "$(agent guards)" ]`)
}

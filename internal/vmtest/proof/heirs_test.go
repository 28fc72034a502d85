//go:build linux && scenarios

package proof

import (
	"fmt"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// TestBornMeanwhile has a pinned bystander get threads and a child while the
// kernel has given it other CPUs: because its own went offline, and before 6.2
// because there is a partition. They come to have its CPUs with it.
func TestBornMeanwhile(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		modes := map[string]string{"3": "cpus = \"2\"\nsmt = false\n"}
		if strings.HasPrefix(g.Release, "6.1.") {
			modes["5"] = "cpus = \"2\"\ncgroup = true\n"
		}
		for cpus, mode := range modes {
			file := "/tmp/born" + cpus
			p := g.Start("agent", "on", cpus, "agent", "bear", file)
			family := fmt.Sprintf("cat /proc/[0-9]*/task/*/status | awk '/^(Tgid|PPid):/ {mine = mine || $2 == %d} /^Name:/ {mine = 0} mine && /^Cpus_allowed_list:/ {print $2}'", p.PID)
			want(t, "CPUs of the family before", g.Get(family+" | sort -u"), cpus)
			before := g.Snapshot("tasks")
			b := start(g, mode)
			many := g.Get(family + " | wc -l")
			g.Sh("touch " + file)
			g.Until(fmt.Sprintf("[ $(%s | wc -l) -gt $((%s + 3)) ]", family, many))
			if now := g.Get(family + " | sort -u"); now == cpus {
				t.Fatalf("the family kept CPU %s while the run lasts: nothing is tested", now)
			}
			holds(t, b.done(), "cpus")
			want(t, "CPUs of the family after", g.Get(family+" | sort -u"), cpus)
			g.Same(before)
		}
	})
}

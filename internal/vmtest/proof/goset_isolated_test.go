//go:build linux && scenarios

package proof

import (
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// TestGosetBootIsolated: CPUs of isolcpus= are taken by whoever names them, and
// by nobody else.
func TestGosetBootIsolated(t *testing.T) {
	onKernels(t, func(kernel string) vmtest.Machine {
		m := smt(kernel)
		m.Append = "isolcpus=domain,managed_irq,2-3"
		return m
	}, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		for _, flag := range []string{"-include 2 -sample 0", "-cpus 2", "-cpus 2 -cgroup"} {
			got := g.Get("goset " + flag + " -quiet -- sh -c 'exec agent mask $$'")
			want(t, "CPUs with "+flag, got, "2")
		}
		r := g.Run("goset", "-n", "7", "-quiet", "--", "true")
		if r.Exit != 1 || !strings.Contains(string(r.Stderr), "2 isolated at boot") || !strings.Contains(string(r.Stderr), "n = 6 would fit") {
			t.Errorf("isolated CPUs unasked: exit %d, %s", r.Exit, r.Stderr)
		}
		gone(g)
		g.Same(before)
	})
}

//go:build linux && scenarios

package proof

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// change is what a plan and a journal have in common.
type change struct{ Kind, Object, New string }

// TestPlanIsTheRun holds what -plan says against the journal of the run after it,
// and the machine after the plan against the one before.
func TestPlanIsTheRun(t *testing.T) {
	run := func(cgroup vmtest.Cgroup, modes ...[]string) func(t *testing.T) {
		return func(t *testing.T) {
			onKernels(t, func(kernel string) vmtest.Machine {
				m := smt(kernel)
				m.Cgroup = cgroup
				return m
			}, func(t *testing.T, g *vmtest.Guest) {
				for _, flags := range modes {
					checkPlan(t, g, flags)
				}
			})
		}
	}
	t.Run("v2", run(vmtest.Unified,
		[]string{"-cpus", "2", "-cgroup", "-fence", "-steer"},
		[]string{"-cpus", "2-3", "-cgroup=member", "-memory", "64MiB", "-cpu-quota", "50%"},
		[]string{"-cpus", "2", "-smt=false", "-steer"},
		[]string{"-memory", "64MiB", "-sample", "0"},
	))
}

// TestPlanOfVersion1 is the same where cpusets are of version 1.
func TestPlanOfVersion1(t *testing.T) {
	m := smt("6.1")
	m.Cgroup = vmtest.V1
	g := vmtest.Boot(t, m)
	checkPlan(t, g, []string{"-cpus", "2", "-cgroup", "-shield", "-steer"})
	checkPlan(t, g, []string{"-cpus", "2", "-cgroup", "-memory", "64MiB"})
}

func checkPlan(t *testing.T, g *vmtest.Guest, flags []string) {
	t.Helper()
	before := g.Snapshot()
	r := g.Run(slices.Concat([]string{"goset", "-plan", "-json", "-"}, flags)...)
	if r.Exit != 0 {
		t.Errorf("%q: exit %d of the plan: %s", flags, r.Exit, r.Stderr)
		return
	}
	g.Same(before)
	var plan struct{ Layers []struct{ Changes []change } }
	if err := json.Unmarshal([]byte(r.Stdout), &plan); err != nil {
		t.Fatal(err)
	}
	var foreseen []change
	for _, l := range plan.Layers {
		foreseen = append(foreseen, l.Changes...)
	}
	r = g.Run(slices.Concat([]string{"goset", "-quiet"}, flags, []string{"--", "sh", "-c", "cat /run/goset/journal-*"})...)
	if r.Exit != 0 {
		t.Errorf("%q: exit %d of the run: %s", flags, r.Exit, r.Stderr)
	}
	var done []change
	for line := range strings.Lines(string(r.Stdout)) {
		_, text, _ := strings.Cut(line, " ")
		var c change
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		done = append(done, c)
	}
	gone(g)
	g.Same(before)
	if slices.Contains(flags, "-smt=false") {
		// Where the kernel lets interrupts go that went to CPUs which are off is
		// among the doubts of a plan.
		isIRQ := func(c change) bool { return c.Kind == "irq" || c.Kind == "spread" }
		done, foreseen = slices.DeleteFunc(done, isIRQ), slices.DeleteFunc(foreseen, isIRQ)
	}
	if got, want := ofFiles(done), ofFiles(foreseen); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%q: the plan says\n%s\nand the run did\n%s", flags, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// ofFiles are the changes that are not to threads and processes, which come and
// go, with a star for what is drawn at random.
func ofFiles(changes []change) []string {
	own := regexp.MustCompile(`goset-[0-9a-f]{16}`)
	var lines []string
	for _, c := range changes {
		if strings.HasPrefix(c.Object, "/") && c.Kind != "member" {
			lines = append(lines, own.ReplaceAllString(fmt.Sprintf("%s %s %s", c.Kind, c.Object, c.New), "goset-*"))
		}
	}
	return lines
}

package vmtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
)

// Snapshot is all state of a guest that a layer of isolation can touch, as
// text: control groups, IRQ masks, online CPUs, SMT, frequency policies,
// sysctls, workqueue masks, the CPUs and priority of every task and kernel
// thread, irqbalance, mounts, and what lies in /run/goset.
type Snapshot struct {
	text string
	skip []string
}

// Snapshot takes one. Sections named are left out: "irq" where irqbalance
// writes the masks on its own.
func (g *Guest) Snapshot(skip ...string) Snapshot {
	g.t.Helper()
	r := g.Run(append([]string{"agent", "snapshot"}, skip...)...)
	if r.Exit != 0 {
		g.t.Fatalf("cannot take a snapshot: %s", r.Stderr)
	}
	return Snapshot{r.Stdout, skip}
}

// settle bounds how long the kernel's own workers may take to leave or come
// back; what a layer wrote is undone long before.
const settle = 15 * time.Second

// Same fails the test unless the guest is, byte for byte, as it was. Workers
// of the kernel leave old pools lazily, so an unequal snapshot is taken anew
// for some seconds.
func (g *Guest) Same(before Snapshot) {
	g.t.Helper()
	if d := g.Differs(before); d != "" {
		g.t.Errorf("the machine is not as before:\n%s", d)
	}
}

// Differs is the difference that remains, "" when there is none.
func (g *Guest) Differs(before Snapshot) string {
	g.t.Helper()
	for end := time.Now().Add(settle); ; {
		after := g.Snapshot(before.skip...)
		if after.text == before.text {
			return ""
		}
		if time.Now().After(end) {
			return difference(before.text, after.text)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// difference shows the lines that changed, at most a screenful.
func difference(before, after string) string {
	var changed []string
	for line := range strings.Lines(string(diff.Diff("before", []byte(before), "after", []byte(after)))) {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			changed = append(changed, line)
		}
	}
	if n := len(changed); n > 60 {
		changed = append(changed[:60], fmt.Sprintf("and %d more lines\n", n-60))
	}
	return strings.Join(changed, "")
}

// Lines returns the lines of the snapshot that contain a text, for looks at
// one fact.
func (s Snapshot) Lines(containing string) []string {
	var lines []string
	for line := range strings.Lines(s.text) {
		if strings.Contains(line, containing) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

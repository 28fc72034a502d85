//go:build linux

package proof

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// TestGosetCommands runs the commands that the README shows, and leaves the
// machine as it was.
func TestGosetCommands(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		if r := g.Run("goset", "--", "sh", "-c", "exit 3"); r.Exit != 3 || !strings.Contains(string(r.Stderr), "Selection") {
			t.Errorf("one CPU: exit %d\n%s", r.Exit, r.Stderr)
		}
		if r := g.Run("goset", "-n", "5", "-quiet", "--", "grep", "Cpus_allowed_list", "/proc/self/status"); r.Exit != 0 || cpusOf(string(r.Stdout)) != 5 {
			t.Errorf("five CPUs: exit %d, %s%s", r.Exit, r.Stdout, r.Stderr)
		}
		r := g.Run("goset", "-n", "1", "-cgroup", "-steer", "-fence", "--", "cat", "/proc/self/cgroup")
		if r.Exit != 0 || !strings.Contains(string(r.Stdout), "goset-") {
			t.Errorf("isolated: exit %d, %s%s", r.Exit, r.Stdout, r.Stderr)
		}
		for _, layer := range []string{"cgroup", "fence", "steer"} {
			if !strings.Contains(string(r.Stderr), layer) || strings.Contains(string(r.Stderr), "NOT HELD") {
				t.Errorf("layer %s:\n%s", layer, r.Stderr)
			}
		}
		if r := g.Run("goset"); r.Exit != 0 || !strings.Contains(string(r.Stdout), "8 threads") && !strings.Contains(string(r.Stdout), "2 threads") {
			t.Errorf("show: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		gone(g)
		g.Same(before)
	})
}

// cpusOf counts the CPUs of a status line "Cpus_allowed_list: 1-3,5".
func cpusOf(line string) int {
	n := 0
	_, list, _ := strings.Cut(strings.TrimSpace(line), ":")
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		switch {
		case err1 != nil:
		case !ranged:
			n++
		case err2 == nil:
			n += last - first + 1
		}
	}
	return n
}

// TestAuditProves holds the audit to its control, and the sources that are
// polled to being silent.
func TestAuditProves(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		r := g.Run("sh", "-c", "HOME=/root goset audit -json - -state /run/goset-audit")
		var audit struct {
			Seen    bool `json:"control_seen"`
			Sources []struct {
				Source  string
				Reads   int
				Silent  bool
				Verdict string
			}
		}
		if err := json.Unmarshal([]byte(r.Stdout), &audit); err != nil {
			t.Fatalf("exit %d, %v\n%s%s", r.Exit, err, r.Stdout, r.Stderr)
		}
		if r.Exit != 0 || !audit.Seen {
			t.Errorf("exit %d, control seen %t\n%s", r.Exit, audit.Seen, r.Stderr)
		}
		for _, s := range audit.Sources {
			if s.Reads > 0 && !s.Silent {
				t.Errorf("%s: %s", s.Source, s.Verdict)
			}
		}
	})
}

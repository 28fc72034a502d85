//go:build linux

package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"goset/harness"
	"goset/internal/vmtest"
)

// small shrinks the kernels of the published table to what an emulated CPU
// does in a moment.
var small = []string{
	"-set", "workload.jitter.steps=1000", "-set", "workload.jitter.iterations=20",
	"-set", "workload.chase.kib=16", "-set", "workload.chase.loads=1000", "-set", "workload.chase.iterations=20",
	"-set", "workload.matmul.multiplications=1", "-set", "workload.matmul.iterations=20",
	"-set", "workload.stream.elements=2000", "-set", "workload.stream.iterations=5",
}

// TestPublished runs the published experiment: in every run of mode goset the
// partition, the fence and the steering hold, the record proves it, and the
// machine is as before.
func TestPublished(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		argv := append([]string{"goset-bench", "run", "published", "-quiet", "-o", "/tmp/published", "-set", "plan.runs=3", "-set", "plan.idle=0s"}, small...)
		r := g.Start(argv...).WaitFor(20 * time.Minute)
		if r.Exit != 0 {
			t.Errorf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		proven := 0
		for _, record := range records(t, g, "/tmp/published") {
			if record.Outcome != harness.Kept {
				t.Errorf("run %d of %s under %s is %s: %s", record.Run, record.Workload, record.Mode, record.Outcome, record.Reason)
			}
			if record.Mode != "goset" {
				continue
			}
			holds(t, record, "cpus", "cgroup", "fence", "steer")
			if record.Choice == nil || len(record.Choice.Ranking) == 0 {
				t.Errorf("run %d does not keep the ranking that picked CPU %s", record.Run, record.CPUs)
			}
			if l := layer(t, record, "cgroup"); !bytes.Contains([]byte(l.Achieved), []byte("isolated")) {
				t.Errorf("run %d: the strongest partition here is isolated, not %q", record.Run, l.Achieved)
			}
			proven++
		}
		if proven != 4*(3+1) {
			t.Errorf("the records prove %d runs of mode goset, want 3 and a warm-up of each kernel", proven)
		}
		g.Same(before)
		if t.Failed() {
			t.Logf("%s%s", r.Stdout, r.Stderr)
		}
	})
}

// records reads all records of a result folder.
func records(t *testing.T, g *vmtest.Guest, dir string) []harness.Record {
	t.Helper()
	var all []harness.Record
	dec := json.NewDecoder(bytes.NewReader(g.Read(dir + "/records.jsonl")))
	for {
		var r harness.Record
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			return slices.Clip(all)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

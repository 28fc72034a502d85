//go:build linux

package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"goset/harness"
	"goset/internal/vmtest"
	"goset/isolation"
)

// smt is the guest of most scenarios: eight CPUs in four cores, an interrupt
// that can be steered (virtio-rng) and interrupts that cannot (NVMe queues).
func smt(kernel string) vmtest.Machine {
	return vmtest.Machine{
		Kernel:  kernel,
		Modules: []string{"virtio_pci", "virtio-rng"},
		Devices: []string{"-device", "virtio-rng-pci", "-blockdev", "driver=null-co,node-name=null,size=1073741824,read-zeroes=on", "-device", "nvme,drive=null,serial=null"},
	}
}

// bench is one experiment of a single run in the guest.
type bench struct {
	g    *vmtest.Guest
	dir  string // the result folder
	hold string // the folder through which the workload is told to end
	proc *vmtest.Process
	// task is the process that runs the workload.
	task string
}

// experiment is the text of an experiment whose one run lasts until the test
// lets it go.
func experiment(hold, mode string) string {
	return fmt.Sprintf(`
[plan]
runs = 1
warmup = 0
idle = "0s"
timeout = "10m"
[workload.w]
command = ["/vm/bin/agent", "hold", %q]
[mode.m]
%s
`, hold, mode)
}

// prepare writes the experiment and returns what runs it.
func prepare(g *vmtest.Guest, mode string) (*bench, []string) {
	name := g.Get("mktemp -d /tmp/proof.XXXXXX; chmod 777 /tmp/proof.*")
	b := &bench{g: g, dir: name + "/out", hold: name + "/hold"}
	g.Write(name+"/x.toml", experiment(b.hold, mode))
	return b, []string{"goset-bench", "run", name + "/x.toml", "-quiet", "-o", b.dir}
}

// start begins a run and returns when its task is alive and every layer is in
// force.
func start(g *vmtest.Guest, mode string, flags ...string) *bench {
	b, argv := prepare(g, mode)
	b.begin(append(argv, flags...)...)
	return b
}

// begin starts the command and waits for the task.
func (b *bench) begin(argv ...string) {
	b.proc = b.g.Start(argv...)
	b.g.Until(fmt.Sprintf("[ -e %s/pid ] || ! kill -0 %d", b.hold, b.proc.PID))
	b.task = b.g.Get(fmt.Sprintf("cat %s/pid || true", b.hold))
	if b.task == "" {
		r := b.proc.Wait()
		b.g.T().Fatalf("the run never started: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
}

// end lets the task go and returns how the command ended.
func (b *bench) end() vmtest.Result {
	b.g.Sh("touch " + b.hold + "/go")
	return b.proc.Wait()
}

// done ends a run that has to have gone well, and returns its record.
func (b *bench) done() harness.Record {
	b.g.T().Helper()
	r := b.end()
	if r.Exit != 0 {
		b.g.T().Errorf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	return b.record()
}

// record reads the one record of the run.
func (b *bench) record() harness.Record {
	b.g.T().Helper()
	var record harness.Record
	text := b.g.Read(b.dir + "/records.jsonl")
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&record); err != nil {
		b.g.T().Fatalf("record: %v in %s", err, text)
	}
	return record
}

// layer finds a layer in a record.
func layer(t testing.TB, r harness.Record, name string) isolation.LayerState {
	t.Helper()
	for _, l := range r.Layers {
		if l.Layer == name {
			return l
		}
	}
	t.Errorf("the record has no layer %q: %+v", name, r.Layers)
	return isolation.LayerState{}
}

// holds fails the test unless the run counts and each layer held.
func holds(t testing.TB, r harness.Record, layers ...string) {
	t.Helper()
	if r.Outcome != harness.Kept {
		t.Errorf("the run is %s: %s", r.Outcome, r.Reason)
	}
	for _, name := range layers {
		if l := layer(t, r, name); !l.Held {
			t.Errorf("layer %s did not hold: asked %q, achieved %q: %s", name, l.Asked, l.Achieved, l.Note)
		}
	}
}

// refused runs an experiment that has to be refused before anything is
// changed, and fails the test unless the message has all of the words.
func refused(g *vmtest.Guest, mode string, words ...string) {
	g.T().Helper()
	b, argv := prepare(g, mode)
	// The task of a run that is not refused ends at once.
	g.Sh("mkdir -p " + b.hold + "; touch " + b.hold + "/go")
	r := g.Run(argv...)
	if r.Exit == 0 {
		g.T().Errorf("not refused: %s\n%s%s", mode, r.Stdout, r.Stderr)
	}
	for _, word := range words {
		if !strings.Contains(r.Stderr+r.Stdout, word) {
			g.T().Errorf("the message does not say %q:\n%s%s", word, r.Stdout, r.Stderr)
		}
	}
}

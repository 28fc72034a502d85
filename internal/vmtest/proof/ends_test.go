//go:build linux && scenarios

package proof

import (
	"fmt"
	"strings"
	"testing"

	"goset/internal/vmtest"
)

// TestSignals is scenario 16: whatever ends goset-bench or its task, the
// machine is as before.
func TestSignals(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		for _, c := range []struct {
			signal string
			exit   int
		}{{"INT", 130}, {"TERM", -1}, {"HUP", -1}, {"QUIT", -1}, {"USR1", -1}, {"KILL", 137}} {
			t.Run("SIG"+c.signal, func(t *testing.T) {
				g := g.On(t)
				b := start(g, goset)
				g.Sh(fmt.Sprintf("kill -%s %d", c.signal, b.proc.PID))
				if c.signal == "USR1" {
					g.Sh("touch " + b.hold + "/go")
				}
				r := b.proc.Wait()
				if c.exit >= 0 && r.Exit != c.exit {
					t.Errorf("exit %d, want %d\n%s%s", r.Exit, c.exit, r.Stdout, r.Stderr)
				}
				gone(g)
				g.Same(before)
			})
		}
		for _, signal := range []string{"INT", "TERM", "HUP", "QUIT", "PIPE", "USR1", "SEGV", "KILL"} {
			t.Run("task "+signal, func(t *testing.T) {
				g := g.On(t)
				b, argv := prepare(g, goset)
				b.begin(append(argv, plainTask(b)...)...)
				g.Sh(fmt.Sprintf("kill -%s %s", signal, b.task))
				if r := b.proc.Wait(); r.Exit != 1 {
					t.Errorf("exit %d, want 1\n%s%s", r.Exit, r.Stdout, r.Stderr)
				}
				if r := b.record(); r.Outcome == "kept" || !strings.Contains(r.Signal, signal) {
					t.Errorf("record: %s, signal %q", r.Outcome, r.Signal)
				}
				g.Same(before)
			})
		}
		t.Run("stopped and continued", func(t *testing.T) {
			g := g.On(t)
			b := start(g, goset)
			g.Sh(fmt.Sprintf("kill -STOP %d; sleep 1; kill -CONT %d", b.proc.PID, b.proc.PID))
			b.end()
			g.Same(before)
		})
		t.Run("twice", func(t *testing.T) {
			g := g.On(t)
			b := start(g, goset)
			g.Sh(fmt.Sprintf("kill -INT %d; kill -INT %d || true", b.proc.PID, b.proc.PID))
			b.proc.Wait()
			gone(g)
			g.Same(before)
		})
		t.Run("closed pipe", func(t *testing.T) {
			g := g.On(t)
			b, argv := prepare(g, goset)
			b.begin("sh", "-c", strings.Join(argv, " ")+" | true")
			b.end()
			gone(g)
			g.Same(before)
		})
	})
}

// plainTask is the flag for a task that catches no signal: one written in Go
// exits with 2 when somebody sends it SIGSEGV.
func plainTask(b *bench) []string {
	script := fmt.Sprintf("mkdir -p %[1]s; echo $$ >%[1]s/new; mv %[1]s/new %[1]s/pid; exec sleep 600", b.hold)
	return []string{"-set", fmt.Sprintf(`workload.w.command=["/bin/sh", "-c", %q]`, script)}
}

// TestGuardGone is scenario 17: with the guard killed before goset-bench, the
// next start refuses and names the way out, which heals.
func TestGuardGone(t *testing.T) {
	onKernels(t, smt, func(t *testing.T, g *vmtest.Guest) {
		before := g.Snapshot()
		b := start(g, goset)
		g.Sh(fmt.Sprintf("kill -9 $(agent guards); kill -9 %d", b.proc.PID))
		b.proc.Wait()
		if g.Differs(before) == "" {
			t.Error("nothing was left behind: the scenario shows nothing")
		}
		refused(g, "cpus = \"2\"\nsteer = true\n", "goset-bench restore")
		if r := g.Run("goset-bench", "restore"); r.Exit != 0 {
			t.Errorf("exit %d of restore\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		g.Same(before)
		b = start(g, goset)
		holds(t, b.done(), "cgroup")
		g.Same(before)
	})
}

// TestJournalTrouble is scenario 16: where the journal cannot be written
// nothing is changed.
func TestJournalTrouble(t *testing.T) {
	g := vmtest.Boot(t, smt("6.1"))
	t.Run("full", func(t *testing.T) {
		g := g.On(t)
		g.Sh("mkdir -p /run/goset && mount -t tmpfs -o size=4k,mode=755 small /run/goset && head -c 4096 /dev/zero >/run/goset/fill || true")
		before := g.Snapshot()
		refused(g, goset, "journal")
		g.Same(before)
		g.Sh("umount /run/goset")
	})
	t.Run("nearly full", func(t *testing.T) {
		g := g.On(t)
		// One page for the journal, and as many bystanders as need more.
		g.Sh("mount -t tmpfs -o size=8k,mode=755 small /run/goset && head -c 4096 /dev/zero >/run/goset/fill")
		for range 30 {
			bystander := g.Start("agent", "on", "3", "agent", "sleep")
			defer func() { g.Sh(fmt.Sprintf("kill -9 %d", bystander.PID)) }()
		}
		before := g.Snapshot()
		refused(g, goset, "journal")
		gone(g)
		g.Same(before)
		g.Sh("umount /run/goset")
	})
	t.Run("read-only", func(t *testing.T) {
		g := g.On(t)
		g.Sh("rm -rf /run/goset; mount -o remount,ro /run")
		before := g.Snapshot()
		refused(g, goset, "/run/goset")
		g.Same(before)
		g.Sh("mount -o remount,rw /run")
	})
}

// TestAnotherBoot is scenario 17: a journal of another boot is dropped with a
// line, and never replayed.
func TestAnotherBoot(t *testing.T) {
	g := vmtest.Boot(t, smt("6.1"))
	b := start(g, goset)
	g.Sh(fmt.Sprintf("kill -9 $(agent guards); kill -9 %d", b.proc.PID))
	b.proc.Wait()
	journal := g.Sh("cat /run/goset/journal-*")

	// The power goes: the same files in /run of the next boot.
	g = g.Reboot()
	before := g.Snapshot()
	g.Sh("mkdir -p -m 755 /run/goset")
	g.Write("/run/goset/journal-4000000-1", journal)
	g.Sh("chmod 600 /run/goset/journal-*")
	b = start(g, "cpus = \"2\"\nsteer = true\n")
	r := b.end()
	if !strings.Contains(r.Stderr+r.Stdout, "another boot") {
		t.Errorf("nothing is said of the old journal:\n%s%s", r.Stdout, r.Stderr)
	}
	g.Same(before)
}

// TestTwoAtOnce is scenario 18: two of them never share the machine unnoticed,
// and one inside the other is no deadlock.
func TestTwoAtOnce(t *testing.T) {
	g := vmtest.Boot(t, smt("6.12"))
	before := g.Snapshot()
	b := start(g, goset)
	refused(g, "cpus = \"4\"\nsteer = true\n", "lock", fmt.Sprint(b.proc.PID))
	holds(t, b.done(), "cgroup", "steer")

	// One inside the other, of either command.
	experiments := func(inner, outer string) []string {
		name := g.Get("mktemp -d /tmp/inner.XXXXXX")
		g.Write(name+"/inner.toml", strings.Replace(experiment(name, inner), `["/vm/bin/agent", "hold", "`+name+`"]`, `["/bin/echo", "1 s"]`, 1))
		g.Write(name+"/outer.toml", strings.Replace(experiment(name, goset), `["/vm/bin/agent", "hold", "`+name+`"]`, outer, 1))
		g.Sh("sed -i s:NAME:" + name + ": " + name + "/outer.toml")
		return []string{"goset-bench", "run", name + "/outer.toml", "-quiet", "-o", name + "/out"}
	}
	for what, argv := range map[string][]string{
		"goset-bench in goset-bench": experiments("nice = -1\n", `["/vm/bin/goset-bench", "run", "NAME/inner.toml", "-quiet", "-o", "NAME/in"]`),
		"goset in goset-bench":       experiments("", `["/vm/bin/goset", "-nice", "-1", "-quiet", "--", "/bin/echo", "1 s"]`),
		"goset in goset":             {"goset", "-cpus", "2,4", "-cgroup", "-quiet", "--", "goset", "-cpus", "4", "-nice", "-1", "-quiet", "--", "true"},
	} {
		if r := g.Run(argv...); r.Exit != 0 {
			t.Errorf("%s: exit %d\n%s%s", what, r.Exit, r.Stdout, r.Stderr)
		}
		gone(g)
		g.Same(before)
	}
	// And two of goset side by side.
	first := g.Start("goset", "-cpus", "2", "-cgroup", "-quiet", "--", "agent", "hold", "/tmp/first")
	g.Until("[ -e /tmp/first/pid ]")
	if r := g.Run("goset", "-cpus", "4", "-cgroup", "-quiet", "--", "true"); r.Exit != 1 || !strings.Contains(r.Stderr, fmt.Sprint(first.PID)) {
		t.Errorf("a second goset: exit %d without naming process %d\n%s", r.Exit, first.PID, r.Stderr)
	}
	g.Sh(fmt.Sprintf("kill -INT %d", first.PID))
	first.Wait()
	gone(g)
	g.Same(before)
}

// TestUnprivileged is scenario 23: a plain user gets what needs no root and a
// message that names the knob for the rest.
func TestUnprivileged(t *testing.T) {
	g := vmtest.Boot(t, smt("6.12"))
	before := g.Snapshot()
	as := func(mode string) (*bench, vmtest.Result) {
		b, argv := prepare(g, mode)
		g.Sh("chmod -R a+rwX /tmp/proof.* && touch " + strings.TrimSuffix(b.hold, "/hold") + "/go; mkdir -m 777 -p " + b.hold + "; touch " + b.hold + "/go")
		return b, g.Run("su", "plain", "-c", "PATH=$PATH:/vm/bin "+strings.Join(argv, " "))
	}
	b, r := as("cpus = \"2\"\n")
	if r.Exit != 0 {
		t.Errorf("exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	holds(t, b.record(), "cpus")
	for _, knob := range []string{"cgroup = true", "steer = true", "nice = -5", "fifo = 1", "smt = false"} {
		key, _, _ := strings.Cut(knob, " ")
		if _, r := as("cpus = \"2\"\n" + knob + "\n"); r.Exit == 0 || !strings.Contains(r.Stderr, `"`+key+`"`) {
			t.Errorf("%s: exit %d without naming the knob\n%s%s", knob, r.Exit, r.Stdout, r.Stderr)
		}
		g.Same(before)
	}
}

// TestCapabilities is scenario 23: root without the one capability that a
// layer needs is refused by name, and nothing is changed.
func TestCapabilities(t *testing.T) {
	g := vmtest.Boot(t, smt("6.1"))
	before := g.Snapshot()
	for _, c := range []struct{ lacks, knob, mode string }{
		{"sys_nice", "nice", "cpus = \"2\"\nnice = -5\n"},
		{"sys_nice,sys_resource", "fifo", "cpus = \"2\"\nfifo = 1\n"},
	} {
		_, argv := prepare(g, c.mode)
		r := g.Run(append([]string{"agent", "without", c.lacks}, argv...)...)
		if r.Exit == 0 || !strings.Contains(r.Stderr, fmt.Sprintf("%q", c.knob)) {
			t.Errorf("without %s: exit %d without naming %s: %s", c.lacks, r.Exit, c.knob, r.Stderr)
		}
		g.Same(before)
	}
	// The other layers need less: each run either holds them all, or says which
	// one it cannot have.
	for _, lacks := range []string{"sys_nice", "sys_admin", "dac_override", "kill", "sys_nice,sys_admin,dac_override,kill"} {
		b, argv := prepare(g, goset)
		g.Sh("mkdir -p " + b.hold + "; touch " + b.hold + "/go")
		r := g.Run(append([]string{"agent", "without", lacks}, argv...)...)
		switch {
		case r.Exit == 0:
			holds(t, b.record(), "cpus", "cgroup", "fence", "steer")
		case !strings.Contains(r.Stderr, "cannot hold layer"):
			t.Errorf("without %s: exit %d without naming a layer: %s", lacks, r.Exit, r.Stderr)
		default:
			t.Logf("without %s: %s", lacks, r.Stderr)
		}
		gone(g)
		g.Same(before)
	}
}

// TestNarrowed is scenario 23: in a container whose CPUs are few, the others
// are refused by name.
func TestNarrowed(t *testing.T) {
	g := vmtest.Boot(t, smt("6.12"))
	g.Sh("echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/box; echo 0-1,6 >/sys/fs/cgroup/box/cpuset.cpus")
	before := g.Snapshot()
	_, argv := prepare(g, "cpus = \"2\"\n")
	r := g.Run("sh", "-c", "echo 0 >/sys/fs/cgroup/box/cgroup.procs; exec "+strings.Join(argv, " "))
	if r.Exit == 0 || !strings.Contains(r.Stderr, "0-1,6") {
		t.Errorf("exit %d without naming the CPUs that are allowed\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	b, argv := prepare(g, "cpus = \"6\"\n")
	b.begin("sh", "-c", "echo 0 >/sys/fs/cgroup/box/cgroup.procs; exec "+strings.Join(argv, " "))
	want(t, "CPUs of the task", g.Get("agent mask "+b.task), "6")
	holds(t, b.done(), "cpus")
	g.Same(before)
}

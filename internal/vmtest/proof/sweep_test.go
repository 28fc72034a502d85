//go:build linux && scenarios

package proof

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"goset/internal/vmtest"
)

// sweeps are what is swept: goset-bench with all layers that change the machine,
// with all of them but SMT, and goset with the same ones. Taking CPUs offline and
// back takes an emulated machine seconds, so that far fewer points with SMT are
// tried unless all are asked for.
var sweeps = []struct {
	name, mode string // mode is goset-bench's; "": goset with its flags
	step       int    // of the points, unless all are tried
	least      int    // how many points there have to be
}{
	{"all layers but SMT", sweptSet, 13, 80},
	{"all layers", sweptSet + "smt = false\n", 61, 100},
	{"goset", "", 41, 80},
}

// sweptFlags are sweptSet for goset.
const sweptFlags = "-cpus 2,6 -cgroup -fence -steer -nice -5 -governor performance -frequency 2GHz -memory 256MiB -cpu-quota 90% -aslr=false"

const sweptSet = `
cpus = "2,6"
cgroup = true
fence = true
steer = true
nice = -5
governor = "performance"
frequency = "2GHz"
memory = "256MiB"
cpu_quota = "90%"
aslr = false
`

// TestKillSweep is scenario 17: the command is killed before every write to
// /proc, /sys and the cgroups and before every sync of its journal. Once the
// guard heals; once the guard is killed first, and the restore command heals.
// All points take hours on an emulated machine, so that without GOSET_SWEEP some
// are tried; GOSET_SWEEP=5 tries every fifth, GOSET_SWEEP=full all, as
// scripts/kill-sweep does.
func TestKillSweep(t *testing.T) {
	onKernels(t, func(kernel string) vmtest.Machine {
		m := policies(kernel)
		m.OneThread = true
		return m
	}, func(t *testing.T, g *vmtest.Guest) {
		g.Sh("echo 3 >/proc/irq/" + rng + "/smp_affinity_list")
		g.Start("agent", "on", "3", "agent", "sleep")
		g.Start("agent", "on", "2", "agent", "sleep")
		for i, set := range sweeps {
			dir := fmt.Sprintf("/tmp/sweep%d", i)
			run, restore := "goset "+sweptFlags+" -quiet -- /bin/true", "goset restore"
			if set.mode != "" {
				run, restore = "goset-bench run "+dir+"/x.toml -quiet -o "+dir+"/out", "goset-bench restore"
				g.Write(dir+"/x.toml", strings.Replace(experiment(dir, set.mode), `["/vm/bin/agent", "hold", "`+dir+`"]`, `["/bin/echo", "1 s"]`, 1))
			}
			g.Write(dir+"/run", "#!/bin/sh\nrm -rf "+dir+"/out\nexec "+run+"\n")
			g.Sh("chmod +x " + dir + "/run")
			step := stepOf(t, set.step)
			for _, guard := range []string{"alive", "dead"} {
				t.Run(set.name+", guard "+guard, func(t *testing.T) {
					sweep(t, g.On(t), set.least, "-guard", guard, "-step", fmt.Sprint(step), "-restore", restore, "--", dir+"/run")
				})
			}
		}
	})
}

// stepOf is the distance of the points that are tried.
func stepOf(t *testing.T, usual int) int {
	t.Helper()
	switch text := os.Getenv("GOSET_SWEEP"); text {
	case "":
		return usual
	case "full":
		return 1
	default:
		step, err := strconv.Atoi(text)
		if err != nil || step < 1 {
			t.Fatalf("GOSET_SWEEP is %q: want full or a number from 1 on", text)
		}
		return step
	}
}

// sweep runs one sweep and prints what it printed.
func sweep(t *testing.T, g *vmtest.Guest, least int, args ...string) {
	p := g.Start(append([]string{"agent", "sweep"}, args...)...)
	r := p.WaitFor(3 * time.Hour)
	out := "\n" + r.Stdout + r.Stderr
	var points, tried, healed int
	at := strings.LastIndex(out, "\npoints ")
	if at < 0 {
		t.Fatalf("the sweep ended early:\n%s", out)
	}
	if _, err := fmt.Sscanf(out[at+1:], "points %d tried %d healed %d", &points, &tried, &healed); err != nil {
		t.Fatalf("%v in:\n%s", err, out)
	}
	t.Logf("kernel %s, guard %s: %s", g.Release, args[1], strings.TrimSpace(out[at+1:]))
	if healed != tried {
		t.Errorf("healed %d of %d points:\n%s", healed, tried, out)
	}
	if points < least {
		t.Errorf("the layers have %d points, want at least %d", points, least)
	}
}

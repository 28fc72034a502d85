package isolation

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"goset/cpulist"
)

// The tests of this file change the machine they run on, and put it back. What
// the machine does not have is skipped, by the layer's own word for it.

// machineRun is a run on this machine, on the highest CPU that is allowed.
func machineRun(t *testing.T, m Mode) *applied {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("unsupported here: it needs root")
	}
	allowed := twoCPUs(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	k := machine{}
	boot, err := k.bootID()
	if err != nil {
		t.Fatal(err)
	}
	cpus := cpulist.Of(allowed.Last())
	return &applied{mode: m, cpus: cpus, fenced: cpus, kernel: k, journal: newJournal(k, file, boot)}
}

// machineState is all that the layers of these tests could change.
func machineState(t *testing.T) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, pattern := range []string{
		"/proc/irq/*/smp_affinity_list", "/proc/irq/default_smp_affinity", "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/cpu*/online",
		"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "/sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq",
		"/sys/devices/system/cpu/cpufreq/boost", "/sys/devices/system/cpu/intel_pstate/*", "/sys/fs/cgroup/*/cpuset.cpus", "/sys/fs/cgroup/cpuset/*/cpuset.cpus",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil {
				state[f] = string(text)
			}
		}
	}
	return state
}

// holdAndUndo puts layers in force, checks, undoes, and compares.
func holdAndUndo(t *testing.T, r *applied, layers ...layer) []LayerState {
	t.Helper()
	for _, l := range layers {
		if u := l.probe(r); u != nil {
			t.Skipf("unsupported here: %v", u)
		}
	}
	before := machineState(t)
	var states []LayerState
	for _, l := range layers {
		err := l.enforce(r)
		if u := (*Unsupported)(nil); errors.As(err, &u) {
			r.journal.UndoTo(0)
			t.Skipf("unsupported here: %v", u)
		}
		if err != nil {
			t.Error(err)
			break
		}
		l.check(r, moment{phase: beforeRun})
	}
	for _, l := range layers {
		l.check(r, moment{phase: afterRun})
		states = append(states, l.state())
		t.Logf("%+v", l.state())
	}
	if u := r.journal.UndoTo(0); u.Err != nil || len(u.Left) > 0 {
		t.Errorf("undo: %+v", u)
	}
	after := machineState(t)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			t.Errorf("%s was %q and is %q", name, before[name], after[name])
		}
	}
	return states
}

func TestMachineSteer(t *testing.T) {
	r := machineRun(t, Mode{Steer: true, CPUs: "quietest"})
	states := holdAndUndo(t, r, newMoversLayer(r), newSteerLayer(r))
	if s := states[1]; strings.Contains(s.Achieved, "rejected 0") == strings.Contains(s.Note, "refused: ") {
		t.Errorf("refused interrupts are counted and not named, or the reverse: %+v", s)
	}
	for _, s := range states {
		if !s.Held {
			t.Errorf("not held: %+v", s)
		}
	}
}

func TestMachineSMT(t *testing.T) {
	r := machineRun(t, Mode{SMT: ptr(false)})
	// A bystander that is bound to what goes offline.
	cores, _, err := readCores(r.kernel)
	if err != nil {
		t.Fatal(err)
	}
	off, u := siblingsToTake(cores, r.cpus)
	if u != nil {
		t.Fatal(u)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}()
	mine := r.cpus
	if !off.Empty() {
		mine = cpulist.Of(off.Last())
	}
	if err := r.kernel.setAffinity(cmd.Process.Pid, mine); err != nil {
		t.Fatal(err)
	}
	for _, s := range holdAndUndo(t, r, newMoversLayer(r), newSMTLayer(r)) {
		if !s.Held {
			t.Errorf("not held: %+v", s)
		}
	}
	if mask, err := r.kernel.affinity(cmd.Process.Pid); err != nil || !mask.Equal(mine) {
		t.Errorf("a bystander had %s and has %s, %v", mine, mask, err)
	}
}

func TestMachineClock(t *testing.T) {
	for _, m := range []Mode{{Governor: "performance"}, {Frequency: "100%"}, {Frequency: "70%"}, {Turbo: ptr(false)}} {
		t.Run(fmt.Sprint(m.Governor, m.Frequency, m.Turbo != nil), func(t *testing.T) {
			r := machineRun(t, m)
			for _, l := range []layer{newTurboLayer(r), newGovernorLayer(r), newFrequencyLayer(r)} {
				if l == nil {
					continue
				}
				if s := holdAndUndo(t, r, l)[0]; !s.Held {
					t.Errorf("not held: %+v", s)
				}
			}
		})
	}
}

// A task in the limits of both controllers is where they are, and cannot use
// more memory than it may.
func TestMachineLimits(t *testing.T) {
	r := machineRun(t, Mode{Memory: "64MiB", CPUQuota: "50%"})
	h := &Held{run: r, cpus: r.cpus, pin: newPin(r.cpus)}
	for _, l := range []layer{newMemoryLayer(r), newCPUQuotaLayer(r)} {
		if u := l.probe(r); u != nil {
			t.Skipf("unsupported here: %v", u)
		}
		if err := l.enforce(r); err != nil {
			t.Error(err)
			break
		}
		l.check(r, moment{phase: beforeRun})
		h.layers = append(h.layers, l)
	}
	if !t.Failed() {
		// tail keeps what it reads: /dev/zero has no line end.
		cmd := exec.Command("tail", "/dev/zero")
		err := startInCgroups(t, h, cmd)
		if err == nil {
			err = cmd.Wait()
		}
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Success() {
			t.Errorf("a task that takes all memory: %v", err)
		}
	}
	for _, l := range h.layers {
		l.check(r, moment{phase: afterRun})
		if s := l.state(); !s.Held || s.Achieved != s.Asked || l.key() == "memory" && !strings.Contains(s.Note, "the kernel ended 1 process ") {
			t.Errorf("%+v", s)
		}
		if err := l.(*limitLayer).close(); err != nil {
			t.Error(err)
		}
	}
	dirs := []string{}
	for _, l := range h.layers {
		dirs = append(dirs, l.(*limitLayer).group.dir)
	}
	if u := r.journal.UndoTo(0); u.Err != nil || len(u.Left) > 0 {
		t.Errorf("undo: %+v", u)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// startInCgroups starts a command that is born in a cgroup, or is put into some
// by the calls of its birth.
func startInCgroups(t *testing.T, h *Held, cmd *exec.Cmd) error {
	t.Helper()
	b, err := h.birth()
	if err != nil {
		return err
	}
	if b.Cgroup >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: b.Cgroup}
		return cmd.Start()
	}
	// Version 1: a shell waits at its stdin until it is put there.
	args := cmd.Args
	*cmd = *exec.Command("sh", append([]string{"-c", `read _ && exec "$@"`, "sh"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for _, l := range h.layers {
		if err := h.run.kernel.writeFile(l.(*limitLayer).group.dir+"/cgroup.procs", fmt.Sprint(cmd.Process.Pid)); err != nil {
			t.Error(err)
		}
	}
	_, err = in.Write([]byte("\n"))
	return errors.Join(err, in.Close())
}

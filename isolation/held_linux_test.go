package isolation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"goset/cpulist"
	"goset/host"
)

// applyAlone is Apply for modes whose layers change nothing but the child.
func applyAlone(m Mode, cpus cpulist.Set) (*Held, error) { return (*Session)(nil).Apply(m, cpus) }

// twoCPUs returns the CPUs of this process, of which the tests need two.
func twoCPUs(t *testing.T) cpulist.Set {
	t.Helper()
	allowed, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if allowed.Len() < 2 {
		t.Skip("unsupported here: only one CPU is allowed")
	}
	return allowed
}

// ownMasks reads the mask of every thread of this process.
func ownMasks(t *testing.T) []cpulist.Set {
	t.Helper()
	var masks []cpulist.Set
	err := eachThread(func(tid int) error {
		mask, err := affinity(tid)
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		masks = append(masks, setOf(mask))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return masks
}

func TestMasksOfManyCPUs(t *testing.T) {
	for _, cpus := range [][]int{{}, {0}, {63, 64}, {0, 1023, 1024, 8191}} {
		set := cpulist.Of(cpus...)
		if got := setOf(maskOf(set)); !got.Equal(set) {
			t.Errorf("%v became %v", set, got)
		}
	}
}

func TestWhyLacking(t *testing.T) {
	top, err := host.Local.Topology()
	if err != nil {
		t.Fatal(err)
	}
	if top.Present == nil {
		t.Skip("unsupported here: the kernel does not tell which CPUs are present")
	}
	// A CPU that is present and online lacks only because this process may not
	// use it.
	got := whyLacking(cpulist.Of(top.Online.First(), top.Present.Last()+1))
	for _, part := range []string{"is not on this machine", "is not allowed to this process"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %q", got, part)
		}
	}
}

func TestKeepOff(t *testing.T) {
	allowed := twoCPUs(t)
	task := cpulist.Of(allowed.Last())
	before := ownMasks(t)

	// Threads that are born before and while the others are moved.
	stop := make(chan struct{})
	var all sync.WaitGroup
	locked := func() {
		runtime.LockOSThread()
		<-stop
	}
	for range 4 {
		all.Go(locked)
	}
	var kept *Kept
	var err error
	moved := make(chan struct{})
	all.Go(func() {
		for range 8 {
			all.Go(locked)
		}
	})
	go func() {
		kept, err = KeepOff(task)
		close(moved)
	}()
	<-moved
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		all.Go(locked)
	}
	for _, mask := range ownMasks(t) {
		if mask.Intersects(task) {
			t.Errorf("a thread may run on %v", mask)
		}
	}
	if cores, err := host.Local.Siblings(task); err != nil || kept.Note() != "" && !allowed.SubsetOf(cores) {
		t.Errorf("note %q, siblings %v, %v", kept.Note(), cores, err)
	}
	if err := kept.Restore(); err != nil {
		t.Fatal(err)
	}
	for _, mask := range ownMasks(t) {
		if !slices.ContainsFunc(before, mask.Equal) {
			t.Errorf("a thread was left on %v, before they had %v", mask, before)
		}
	}
	close(stop)
	all.Wait()
}

func TestKeepOffFromEverything(t *testing.T) {
	allowed, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := KeepOff(allowed)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(kept.Note(), "shares the task's CPUs") {
		t.Errorf("note %q", kept.Note())
	}
	if now, err := Allowed(); err != nil || !now.Equal(allowed) {
		t.Errorf("the threads were moved to %v, %v", now, err)
	}
	if err := kept.Restore(); err != nil {
		t.Error(err)
	}
}

// startCat starts a child that ends with its stdin, under a Held.
func startCat(t *testing.T, h *Held) (cmd *exec.Cmd, in io.WriteCloser) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := affinity(0)
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("cat")
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Start(func(b Birth) (int, error) {
		// Package exec makes no calls in its children: this thread makes them,
		// and hands on what they did.
		for _, c := range b.Calls {
			if _, _, e := unix.RawSyscall6(c.Nr, c.Args[0], c.Args[1], c.Args[2], c.Args[3], c.Args[4], 0); e != 0 {
				return 0, e
			}
		}
		err := cmd.Start()
		if err = errors.Join(err, setAffinity(0, before)); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	}); err != nil {
		t.Fatal(err)
	}
	if after, err := affinity(0); err != nil || !slices.Equal(before, after) {
		t.Errorf("the starting thread had %v and has %v, %v", setOf(before), setOf(after), err)
	}
	return cmd, in
}

// end lets a child of startCat end.
func end(t *testing.T, cmd *exec.Cmd, in io.Closer) {
	t.Helper()
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestHeldUnpinned(t *testing.T) {
	h, err := applyAlone(Mode{Name: "unpinned"}, cpulist.Set{})
	if err != nil {
		t.Fatal(err)
	}
	cmd, in := startCat(t, h)
	h.ReadBack(cmd.Process.Pid)
	end(t, cmd, in)
	if err := h.Release(); err != nil || h.Pinned() || h.States() != nil {
		t.Errorf("an unpinned run: %v, pinned %t, states %v", err, h.Pinned(), h.States())
	}
}

func TestHeldReadsBack(t *testing.T) {
	allowed := twoCPUs(t)
	cpus := cpulist.Of(allowed.First())
	for _, test := range []struct {
		summary string
		asked   cpulist.Set
		then    cpulist.Set // what the child's mask becomes; empty: as it is
		held    bool
		note    string
	}{
		{"one CPU", cpus, cpulist.Set{}, true, ""},
		{"widened", cpus, allowed, false, "was allowed on CPUs"},
		{"moved away", cpus, allowed.Minus(cpus), false, "was allowed on CPU"},
		{"narrowed", allowed, cpus, true, "kept to CPU "},
	} {
		h, err := applyAlone(Mode{CPUs: test.asked.String()}, test.asked)
		if err != nil {
			t.Fatal(err)
		}
		cmd, in := startCat(t, h)
		want := test.asked
		h.ReadBack(cmd.Process.Pid)
		if !test.then.Empty() {
			if err := setAffinity(cmd.Process.Pid, maskOf(test.then)); err != nil {
				t.Fatal(err)
			}
			want = want.Union(test.then)
			h.ReadBack(cmd.Process.Pid)
		}
		end(t, cmd, in)
		h.ReadBack(cmd.Process.Pid) // gone: passed over
		if err := h.Release(); err != nil {
			t.Fatal(err)
		}
		s := h.States()
		if len(s) != 1 || s[0].Layer != "cpus" || s[0].Asked != test.asked.String() || s[0].Achieved != want.String() || s[0].Held != test.held || !strings.Contains(s[0].Note, test.note) {
			t.Errorf("%s: states %+v; want achieved %v, held %t, note %q", test.summary, s, want, test.held, test.note)
		}
	}
	if now, err := Allowed(); err != nil || !now.Equal(allowed) {
		t.Errorf("this process is left on %v, %v", now, err)
	}
}

// A task that is moved to a cpuset without some of its CPUs has a narrower mask,
// as one has that binds its threads, and is not held.
func TestHeldThatTheKernelNarrows(t *testing.T) {
	needRoot(t)
	allowed := twoCPUs(t)
	sets, err := findCpusets(machine{})
	if err != nil || sets.unified {
		t.Skipf("unsupported here: it needs cpusets of version 1 (%v)", err)
	}
	id, err := newID()
	if err != nil {
		t.Fatal(err)
	}
	k, dir := machine{}, filepath.Join(sets.root, id)
	mems, err := k.readFile(sets.file(sets.root, "mems"))
	if err != nil {
		t.Fatal(err)
	}
	first := cpulist.Of(allowed.First())
	if err := errors.Join(k.mkdir(dir), k.writeFile(sets.file(dir, "mems"), mems), k.writeFile(sets.file(dir, "cpus"), first.String())); err != nil {
		t.Skipf("unsupported here: cpusets cannot be made: %v", err)
	}
	defer func() {
		if err := removeCgroup(k, dir); err != nil {
			t.Error(err)
		}
	}()
	h, err := applyAlone(Mode{CPUs: allowed.String()}, allowed)
	if err != nil {
		t.Fatal(err)
	}
	cmd, in := startCat(t, h)
	h.ReadBack(cmd.Process.Pid)
	if err := k.writeFile(filepath.Join(dir, "cgroup.procs"), fmt.Sprint(cmd.Process.Pid)); err != nil {
		t.Error(err)
	}
	h.ReadBack(cmd.Process.Pid)
	end(t, cmd, in)
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	if s := h.States()[0]; s.Held || !strings.Contains(s.Note, "the cpuset of process") || !strings.Contains(s.Note, named(allowed.Minus(first))) {
		t.Errorf("state %+v", s)
	}
}

func TestHeldThatNobodyReadBackIsNotHeld(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	h, err := applyAlone(Mode{CPUs: cpus.String()}, cpus)
	if err != nil {
		t.Fatal(err)
	}
	if s := h.States(); len(s) != 1 || s[0].Held || s[0].Achieved != "" || !strings.Contains(s[0].Note, "no thread") {
		t.Errorf("states %+v", s)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}

func TestStartThatFails(t *testing.T) {
	allowed := twoCPUs(t)
	cpus := cpulist.Of(allowed.First())
	h, err := applyAlone(Mode{CPUs: cpus.String()}, cpus)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	boom := errors.New("boom")
	pid, err := h.Start(func(b Birth) (int, error) {
		if own, err := affinity(0); err != nil || bornByCalls() && setOf(own).Intersects(cpus) {
			t.Errorf("start ran on %v, %v; the task has %v", setOf(own), err, cpus)
		}
		if bornByCalls() && (len(b.Calls) != 1 || b.Calls[0].Layer != "cpus") {
			t.Errorf("the child is to make %v", b.Calls)
		}
		return 0, boom
	})
	if pid != 0 || !errors.Is(err, boom) {
		t.Errorf("Start returned %d, %v", pid, err)
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if own, err := affinity(0); err != nil || !setOf(own).Equal(allowed) {
		t.Errorf("the thread is left on %v, %v", setOf(own), err)
	}
}

func TestApplyRefuses(t *testing.T) {
	var u *Unsupported
	if _, err := applyAlone(Mode{Fence: true}, cpulist.Set{}); !errors.As(err, &u) || u.Layer != "fence" {
		t.Errorf("a layer that is not there: %v", err)
	}
	lacking := cpulist.Of(8000)
	m := Mode{CPUs: "8000", Fence: true}
	if _, err := applyAlone(m, lacking); !errors.As(err, &u) || u.Layer != "cpus" {
		t.Errorf("a CPU that is not there: %v", err)
	}
	if _, err := applyAlone(m.BestEffort(), lacking); !errors.As(err, &u) || u.Layer != "cpus" || !u.Binding {
		t.Errorf("best effort without the CPUs that are named: %v", err)
	}
	m.CPUs = "rotate"
	h, err := applyAlone(m.BestEffort(), lacking)
	if err != nil {
		t.Fatal(err)
	}
	s := h.States()
	if h.Pinned() || len(s) != 2 || s[0].Layer != "cpus" || s[0].Asked != "8000" || s[1].Layer != "fence" {
		t.Errorf("best effort: pinned %t, states %+v", h.Pinned(), s)
	}
	for _, s := range s {
		if s.Held || !s.Optional || s.Note == "" {
			t.Errorf("state %+v of a layer that was let go of", s)
		}
	}
}

func TestDropPeak(t *testing.T) {
	if err := DropPeak(); errors.Is(err, os.ErrNotExist) {
		t.Skip("unsupported here: ", err)
	} else if err != nil {
		t.Error(err)
	}
}

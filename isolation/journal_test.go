//go:build linux

package isolation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// testJournal is a journal of a fake machine, in a file.
func testJournal(t *testing.T, k kernel) *Journal {
	t.Helper()
	file, err := memoryFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return newJournal(k, file, "boot-1")
}

// change is one Set.
type change struct {
	kind          Kind
	object, value string
}

// everyKind has a change of each kind that the fake machine can be asked for.
func everyKind() []change {
	const own = fakeRoot + "/goset-0123456789abcdef"
	return []change{
		{KindUnit, "irqbalance.service", valueInactive},
		{KindProcess, "101:901", valueStopped},
		{KindNumber, "/sys/devices/system/cpu/cpu5/online", "0"},
		{KindNumber, "/proc/sys/kernel/nmi_watchdog", "0"},
		{KindCPUs, "/proc/irq/24/smp_affinity_list", "0-1,4-7"},
		{KindWorkqueues, workqueueMask, "f3"},
		{KindAffinity, "100:900", "4"},
		{KindController, fakeRoot + "/cgroup.subtree_control#cpuset", valueOn},
		{KindShelter, fakeRoot + "/goset-fedcba9876543210", valuePresent},
		{KindCgroup, own, valuePresent},
		{KindAttribute, own + "/cpuset.cpus", "2-3"},
		{KindPartition, own + "/cpuset.cpus.partition", cgroupIsolated},
		{KindController, own + "/cgroup.subtree_control#cpuset", valueOn},
		{KindCgroup, own + "/job", valuePresent},
	}
}

func setAll(j *Journal, changes []change) error {
	for _, c := range changes {
		if err := j.Set(c.kind, c.object, c.value); err != nil {
			return err
		}
	}
	return nil
}

// quiet makes a machine whose cgroups overwrite nobody's mask, so that every
// entry stands for itself.
func quiet(t *testing.T) *fakeKernel {
	k := newFake(t, false)
	k.release = "6.2.0"
	k.threads[30].cpus, k.threads[2].cpus = cpus(t, "0-7"), cpus(t, "0-7")
	return k
}

func TestSetAndUndo(t *testing.T) {
	k := quiet(t)
	before := k.snapshot()
	j := testJournal(t, k)
	for n, c := range everyKind() {
		if err := j.Set(c.kind, c.object, c.value); err != nil {
			t.Fatalf("change %d: %v", n, err)
		}
		changes := k.changes
		if err := j.Set(c.kind, c.object, c.value); err != nil || k.changes != changes {
			t.Errorf("setting %s again: %v, %d changes", c.object, err, k.changes-changes)
		}
	}
	if k.snapshot() == before {
		t.Fatal("nothing changed")
	}
	u := j.UndoTo(0)
	if u.Err != nil || len(u.Left) != 0 || k.snapshot() != before {
		t.Errorf("undone %+v:\n%s\nwant\n%s", u, k.snapshot(), before)
	}
	if j.Mark() != 0 || j.end() != 0 {
		t.Errorf("%d entries left", j.Mark())
	}
}

// The write-ahead rule: whatever a change does, its entry is on disk before.
func TestEntryIsOnDiskBeforeItsChange(t *testing.T) {
	k := quiet(t)
	j := testJournal(t, k)
	entries := func() int {
		file, err := os.Open(j.file.Name())
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		entries, faults := parseJournal(file)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		return len(entries)
	}
	sets := 0
	k.fault = func(_ *fakeKernel, what string) error {
		if n := entries(); n != sets+1 {
			t.Errorf("%s with %d entries on disk", what, n)
		}
		return nil
	}
	for _, c := range everyKind() {
		if err := j.Set(c.kind, c.object, c.value); err != nil {
			t.Fatal(err)
		}
		sets++
	}
}

// The k-th change fails, for every k and cause: the error names the object and
// an undo, that may fail at the k-th change itself, restores everything.
func TestEveryChangeFails(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.EPERM, syscall.ENOSPC, syscall.ENOENT, syscall.EBUSY} {
		for nth := 1; ; nth++ {
			k := quiet(t)
			before := k.snapshot()
			failed := ""
			k.fault = func(k *fakeKernel, what string) error {
				if k.changes == nth {
					failed = what
					return cause
				}
				return nil
			}
			j := testJournal(t, k)
			err := setAll(j, everyKind())
			u := j.UndoTo(0)
			if failed == "" {
				break
			}
			if k.snapshot() != before {
				t.Errorf("%v at change %d (%s): set %v, undone %+v:\n%s\nwant\n%s", cause, nth, failed, err, u, k.snapshot(), before)
			}
			var refused *SetError
			if err != nil && (!errors.As(err, &refused) || !errors.Is(err, cause) || !strings.Contains(err.Error(), refused.Object)) {
				t.Errorf("%v at change %d (%s): %v", cause, nth, failed, err)
			}
		}
	}
}

// Killed after any number of changes, a replay from the file restores
// everything, and another one after it changes nothing.
func TestReplayAfterEveryChange(t *testing.T) {
	killed := errors.New("killed")
	for nth := 1; ; nth++ {
		k := quiet(t)
		before := k.snapshot()
		hit := false
		k.fault = func(k *fakeKernel, _ string) error {
			if hit = hit || k.changes == nth; hit {
				return killed
			}
			return nil
		}
		j := testJournal(t, k)
		err := setAll(j, everyKind())
		k.fault = nil
		for range 2 {
			file, oerr := os.Open(j.file.Name())
			if oerr != nil {
				t.Fatal(oerr)
			}
			u, faults := replay(k, file)
			file.Close()
			if u.Err != nil || len(faults) > 0 || len(u.Left) > 0 || k.snapshot() != before {
				t.Errorf("killed at change %d: %+v, %v:\n%s\nwant\n%s", nth, u, faults, k.snapshot(), before)
			}
		}
		if err == nil {
			break
		}
	}
}

func TestUndoLeavesWhatOthersChanged(t *testing.T) {
	k := quiet(t)
	j := testJournal(t, k)
	if err := setAll(j, everyKind()); err != nil {
		t.Fatal(err)
	}
	k.files["/proc/irq/24/smp_affinity_list"] = "5"
	k.threads[100].cpus = cpus(t, "6")
	k.threads[101].start = 5000 // another process has the number now
	u := j.UndoTo(0)
	if u.Err != nil || len(u.Left) != 2 {
		t.Fatalf("undone %+v", u)
	}
	for _, part := range []string{`/proc/irq/24/smp_affinity_list is "5"`, `100:900 is "6"`} {
		if !strings.Contains(strings.Join(u.Left, "\n"), part) {
			t.Errorf("%q is not in %q", part, u.Left)
		}
	}
	if k.files["/proc/irq/24/smp_affinity_list"] != "5" || k.threads[100].cpus.String() != "6" || !k.threads[101].stopped {
		t.Errorf("somebody else's change is gone:\n%s", k.snapshot())
	}
}

func TestUndoOfWhatIsGone(t *testing.T) {
	k := quiet(t)
	j := testJournal(t, k)
	if err := setAll(j, everyKind()); err != nil {
		t.Fatal(err)
	}
	delete(k.files, "/proc/irq/24/smp_affinity_list")
	delete(k.threads, 100)
	if u := j.UndoTo(0); u.Err != nil || len(u.Left) != 0 {
		t.Errorf("undone %+v", u)
	}
}

// A worker that the kernel bound after it had been moved is the kernel's; a task
// that refuses its old CPUs for another reason is a failure.
func TestUndoOfWhatTheKernelBound(t *testing.T) {
	for _, tc := range []struct {
		flags uint64
		fails bool
	}{{flagKthread | flagNoSetAffinity, false}, {flagNoSetAffinity, true}} {
		k := quiet(t)
		j := testJournal(t, k)
		k.threads[31] = &fakeThread{name: "kworker/u10:1", start: 4, flags: flagKthread, cpus: cpus(t, "0-7")}
		for _, kind := range []Kind{KindAffinity, KindBystander} {
			if err := j.Set(kind, taskObject(31, 4), "0-3"); err != nil {
				t.Fatal(err)
			}
		}
		k.threads[31].flags = tc.flags
		u := j.UndoTo(0)
		if (u.Err != nil) != tc.fails || len(u.Left) != 0 || u.Restored != 0 {
			t.Errorf("flags %x: undone %+v", tc.flags, u)
		}
	}
}

func TestUndoKillsBeforeAllElse(t *testing.T) {
	k := quiet(t)
	j := testJournal(t, k)
	changes := everyKind()
	if err := setAll(j, append(changes, change{KindNumber, "/proc/sys/kernel/nmi_watchdog", "1"})); err != nil {
		t.Fatal(err)
	}
	k.threads[500] = &fakeThread{start: 7, cgroup: fakeRoot + "/goset-0123456789abcdef/job", cpus: cpus(t, "2")}
	k.log = nil
	if u := j.UndoTo(0); u.Err != nil {
		t.Fatal(u.Err)
	}
	if len(k.log) == 0 || !strings.Contains(k.log[0], "cgroup.kill") || k.threads[500] != nil {
		t.Errorf("the first change was %q", k.log[0])
	}
}

func TestUndoToMark(t *testing.T) {
	k := quiet(t)
	j := testJournal(t, k)
	changes := everyKind()
	if err := setAll(j, changes[:3]); err != nil {
		t.Fatal(err)
	}
	mark, there := j.Mark(), k.snapshot()
	if err := setAll(j, changes[3:]); err != nil {
		t.Fatal(err)
	}
	if u := j.UndoTo(mark); u.Err != nil || k.snapshot() != there || j.Mark() != mark {
		t.Errorf("undone %+v, %d entries", u, j.Mark())
	}
	// What is written after a part was undone follows what is left.
	if err := setAll(j, changes[3:4]); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(j.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if entries, faults := parseJournal(file); len(entries) != 4 || len(faults) > 0 {
		t.Errorf("%d entries, %v", len(entries), faults)
	}
}

func TestReplayOfAnotherBoot(t *testing.T) {
	k := quiet(t)
	j := testJournal(t, k)
	if err := setAll(j, everyKind()); err != nil {
		t.Fatal(err)
	}
	k.boot = "boot-2"
	there := k.snapshot()
	file, err := os.Open(j.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	u, faults := replay(k, file)
	if u.Err != nil || len(faults) > 0 || len(u.Left) != 1 || !strings.Contains(u.Left[0], "another boot") || k.snapshot() != there {
		t.Errorf("replayed %+v, %v", u, faults)
	}
}

func TestJournalThatCannotBeWritten(t *testing.T) {
	k := quiet(t)
	j := testJournal(t, k)
	j.file.Close()
	before := k.snapshot()
	err := j.Set(KindNumber, "/proc/sys/kernel/nmi_watchdog", "0")
	if !errors.Is(err, fs.ErrClosed) || k.snapshot() != before {
		t.Errorf("set without a journal: %v", err)
	}
}

func TestMismatchAfterAWrite(t *testing.T) {
	k := quiet(t)
	k.reason = "Cpu list in cpuset.cpus not exclusive"
	before := k.snapshot()
	j := testJournal(t, k)
	err := setAll(j, everyKind())
	var refused *SetError
	if !errors.As(err, &refused) || refused.Got != "isolated invalid (Cpu list in cpuset.cpus not exclusive)" {
		t.Errorf("set: %v", err)
	}
	if u := j.UndoTo(0); u.Err != nil || k.snapshot() != before {
		t.Errorf("undone %+v", u)
	}
}

func TestObjectsThatAreRefused(t *testing.T) {
	for _, c := range []change{
		{KindWords, "/etc/passwd", "x"}, {KindWords, "/proc/../etc/passwd", "x"}, {KindWords, "/sys//x", "x"}, {KindWords, "sys/x", "x"},
		{KindWords, "/sys/./x", "x"}, {KindWords, "/sys/x\n", "x"}, {KindWords, "/proc/self/../../etc/x", "x"}, {KindWords, "/sys/..", "x"},
		{KindCgroup, "/sys/fs/cgroup/system.slice", valuePresent}, {KindCgroup, "/sys/fs/cgroup/goset-0123456789abcdeg", valuePresent},
		{KindCgroup, "/sys/fs/cgroup/goset-0123456789abcdef/../system.slice", valuePresent}, {KindCgroup, "/sys/fs/cgroup/system.slice/job", valuePresent},
		{KindCgroup, "/proc/goset-0123456789abcdef", valuePresent}, {KindAttribute, "/sys/fs/cgroup/cpuset.cpus", "0"},
		{KindPartition, "/sys/fs/cgroup/goset-0123456789abcdef/cpuset.cpus", "root"},
		{KindController, "/sys/fs/cgroup/cgroup.subtree_control#pids", valueOn}, {KindController, "/sys/fs/cgroup/cgroup.procs#cpuset", valueOn},
		{KindController, "/sys/fs/cgroup/cgroup.subtree_control", valueOn},
		{KindUnit, "-h.service", valueActive}, {KindUnit, "a b.service", valueActive}, {KindUnit, "reboot.target", valueActive},
		{KindProcess, "1", valueStopped}, {KindProcess, "-1:5", valueStopped}, {KindProcess, "0:5", valueStopped}, {KindProcess, "01:5", valueStopped},
		{KindAffinity, "1:2:3", "0"}, {KindMember, "/etc#1:1", "/"}, {KindMember, "1:1", "/"}, {"exec", "/bin/sh", "x"}, {"", "", ""},
		{KindWorkqueues, "/sys/x", "f"},
	} {
		k := quiet(t)
		j := testJournal(t, k)
		before := k.snapshot()
		if err := j.Set(c.kind, c.object, c.value); err == nil || k.snapshot() != before || k.changes != 0 {
			t.Errorf("kind %q took %q: %v", c.kind, c.object, err)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		kind Kind
		a, b string
		want bool
	}{
		{KindNumber, "10", "010", true}, {KindNumber, "-1", "-1", true}, {KindNumber, "1", "2", false}, {KindNumber, "a", "a ", true}, {KindNumber, "a", "1", false},
		{KindCPUs, "0-3", "0,1,2,3", true}, {KindCPUs, "", "\n", true}, {KindCPUs, "0", "1", false}, {KindCPUs, "x", "x", true},
		{KindMask, "ff", "00000000,000000ff", true}, {KindMask, "f", "ff", false},
		{KindWords, "a  b\n", "a b", true}, {KindWords, "a", "b", false},
		{KindPartition, "isolated", "isolated", true}, {KindPartition, "isolated", "isolated invalid (x)", false},
	} {
		k, ok := kindOf(test.kind)
		if !ok || k.equal(test.a, test.b) != test.want {
			t.Errorf("kind %q: %q and %q: want %t", test.kind, test.a, test.b, test.want)
		}
	}
}

// journalText writes the changes of everyKind as a journal.
func journalText(t testing.TB) []byte {
	var text []byte
	for _, c := range everyKind() {
		line, err := Entry{Kind: c.kind, Object: c.object, Old: "old", New: c.value, Boot: "boot-1"}.line()
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	return text
}

func TestJournalCutOff(t *testing.T) {
	text := journalText(t)
	all, faults := parseJournal(bytes.NewReader(text))
	if len(all) != len(everyKind()) || len(faults) > 0 {
		t.Fatalf("%d entries, %v", len(all), faults)
	}
	for n := range text {
		entries, faults := parseJournal(bytes.NewReader(text[:n]))
		if len(faults) > 0 || len(entries) != bytes.Count(text[:n], []byte("\n")) {
			t.Errorf("cut off at %d: %d entries, %v", n, len(entries), faults)
		}
	}
}

func TestJournalWithAnyByteChanged(t *testing.T) {
	text := journalText(t)
	was := map[Entry]bool{}
	all, _ := parseJournal(bytes.NewReader(text))
	for _, e := range all {
		was[e] = true
	}
	for n := range text {
		for _, b := range []byte{text[n] ^ 1, '\n', 0, '9'} {
			if b == text[n] {
				continue
			}
			bad := bytes.Clone(text)
			bad[n] = b
			entries, faults := parseJournal(bytes.NewReader(bad))
			for _, e := range entries {
				if !was[e] {
					t.Fatalf("byte %d as %q made %+v", n, b, e)
				}
			}
			if len(entries) < len(all)-2 || len(entries) == len(all) && len(faults) == 0 {
				t.Errorf("byte %d as %q: %d entries, %v", n, b, len(entries), faults)
			}
		}
	}
}

// Whatever stands in a journal, what comes out of it was written as an entry,
// names nothing but what a kind may name, and its replay changes nothing else.
func FuzzJournal(f *testing.F) {
	text := journalText(f)
	f.Add(text)
	f.Add(text[:len(text)-7])
	f.Add([]byte("00000000 {}\n"))
	f.Add([]byte("\n\n"))
	line, err := Entry{Kind: KindWords, Object: "/etc/passwd", New: "x", Boot: "boot-1"}.line()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, _ := parseJournal(bytes.NewReader(text))
		named := map[string]bool{}
		for _, e := range entries {
			line, err := e.line()
			if err != nil || !bytes.Contains(text, line) {
				t.Fatalf("%+v does not stand in the journal: %v", e, err)
			}
			named[e.Object] = true
			if !strings.HasPrefix(e.Object, "/proc/") && !strings.HasPrefix(e.Object, "/sys/") && strings.Contains(e.Object, "/") {
				t.Fatalf("entry names %q", e.Object)
			}
		}
		k := &fakeKernel{files: map[string]string{}, threads: map[int]*fakeThread{}, units: map[string]string{}, boot: "boot-1"}
		u, _ := replay(k, bytes.NewReader(text))
		if len(entries) == 0 && (k.changes > 0 || u.Restored > 0) {
			t.Fatalf("a journal of nothing changed %v", k.log)
		}
	})
}

func FuzzTaskStat(f *testing.F) {
	f.Add("1 (a) b) S 1 1 1 0 -1 2097152 0 0 0 0 0 0 0 0 20 0 1 0 12 0 0")
	f.Add("1 (")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseTaskStat(text)
		if err == nil && !strings.Contains(text, fmt.Sprint(s.start)) && !strings.Contains(text, fmt.Sprint(s.flags)) && !strings.Contains(text, "0") {
			t.Errorf("%q gave %+v", text, s)
		}
	})
}

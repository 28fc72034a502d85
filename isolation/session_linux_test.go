package isolation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be a guard and a session that is to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 {
		switch os.Args[1] {
		case "__guard":
			if err := Guard(os.Args[2], os.Args[3], os.Stdin, os.Stdout, func(s string) { fmt.Fprintln(os.Stderr, s) }); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "__session":
			if err := beSession(os.Args[2], os.Args[3]); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// testOptions are a folder and a lock of a test's own.
func testOptions(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	lock := filepath.Join(dir, "lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := sessionOptions(dir)
	o.Say = func(text string) { t.Log(text) }
	return o
}

func sessionOptions(dir string) Options {
	return Options{State: filepath.Join(dir, "state"), Lock: filepath.Join(dir, "lock"), Guard: []string{"/proc/self/exe", "__guard"}}
}

// beSession opens a session, pins a thread of another process, says so and
// waits to be killed, or for the end of stdin.
func beSession(dir, target string) error {
	s, err := Open(context.Background(), sessionOptions(dir))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(target)
	if err != nil {
		return err
	}
	j, err := s.openJournal()
	if err != nil {
		return err
	}
	start, err := startOf(machine{}, pid)
	if err != nil {
		return err
	}
	cpus, err := machine{}.affinity(pid)
	if err != nil {
		return err
	}
	one := strconv.Itoa(cpus.First())
	if err := j.Set(KindAffinity, taskObject(pid, start), one); err != nil {
		return err
	}
	fmt.Printf("ready %d\n", s.guard.cmd.Process.Pid)
	word, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if string(word) == "panic" {
		// In a goroutine that nobody recovers: no deferred call is made.
		go panic("on purpose")
		select {}
	}
	return s.Close()
}

// needRoot skips what only root can do.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// killed is a session in another process that pinned a bystander.
type killed struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	guard     int
	bystander *exec.Cmd
	before    string
}

func startSession(t *testing.T, o Options) *killed {
	t.Helper()
	twoCPUs(t)
	k := &killed{bystander: exec.Command("sleep", "1000")}
	if err := k.bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = k.bystander.Process.Kill()
		_ = k.bystander.Wait()
	})
	k.before = k.mask(t)
	k.cmd = exec.Command("/proc/self/exe", "__session", filepath.Dir(o.State), strconv.Itoa(k.bystander.Process.Pid))
	k.cmd.Stderr = os.Stderr
	var err error
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, serr := fmt.Sscanf(line, "ready %d", &k.guard); err != nil || serr != nil {
		t.Fatalf("the session said %q: %v", line, err)
	}
	if k.mask(t) == k.before {
		t.Fatal("the session changed nothing")
	}
	return k
}

// mask is the CPUs of the bystander.
func (k *killed) mask(t *testing.T) string {
	t.Helper()
	set, err := machine{}.affinity(k.bystander.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return set.String()
}

// kill ends the session as the kernel would when memory runs out.
func (k *killed) kill(t *testing.T) {
	t.Helper()
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = k.cmd.Wait()
}

// gone waits until a process that is not a child has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000); err != nil || n == 0 {
		t.Fatalf("process %d does not end: %v", pid, err)
	}
}

// leftovers lists what a session may leave behind.
func leftovers(t *testing.T, o Options) []string {
	t.Helper()
	names, err := filepath.Glob(o.State + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// ownCgroups lists the cgroups of goset's on this machine.
func ownCgroups(t *testing.T) []string {
	t.Helper()
	mounts, err := cgroupMounts(machine{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range mounts {
		names, err := filepath.Glob(m.path + "/goset-*")
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	return found
}

// shelterOf finds the cgroups that a process is in, of goset's.
func shelterOf(t *testing.T, pid int) []string {
	t.Helper()
	var in []string
	for _, dir := range ownCgroups(t) {
		text, err := os.ReadFile(dir + "/cgroup.procs")
		if err == nil && slices.Contains(strings.Fields(string(text)), strconv.Itoa(pid)) {
			in = append(in, dir)
		}
	}
	return in
}

func stillThere(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		_, err := os.Stat(p)
		return errors.Is(err, os.ErrNotExist)
	})
}

func TestGuardUndoesWhenTheSessionIsKilled(t *testing.T) {
	needRoot(t)
	o := testOptions(t)
	k := startSession(t, o)
	shelters := shelterOf(t, k.guard)
	k.kill(t)
	gone(t, k.guard)
	if got := k.mask(t); got != k.before {
		t.Errorf("the bystander has CPUs %s, before %s", got, k.before)
	}
	if left := append(leftovers(t, o), stillThere(shelters)...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestGuardUndoesWhenTheSessionPanics(t *testing.T) {
	needRoot(t)
	o := testOptions(t)
	k := startSession(t, o)
	shelters := shelterOf(t, k.guard)
	if _, err := io.WriteString(k.in, "panic"); err != nil {
		t.Fatal(err)
	}
	if err := k.in.Close(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := k.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("the session ended with %v, want the status of a panic", err)
	}
	gone(t, k.guard)
	if left := append(leftovers(t, o), stillThere(shelters)...); len(left) > 0 || k.mask(t) != k.before {
		t.Errorf("left behind: %q, CPUs %s, before %s", left, k.mask(t), k.before)
	}
}

func TestGuardIsItsOwn(t *testing.T) {
	needRoot(t)
	o := testOptions(t)
	k := startSession(t, o)
	sid, err := unix.Getsid(k.guard)
	if err != nil || sid != k.guard {
		t.Errorf("the guard is in session %d, %v", sid, err)
	}
	// What a terminal and a service manager send to all.
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := syscall.Kill(k.guard, sig); err != nil {
			t.Fatal(err)
		}
	}
	shelters := shelterOf(t, k.guard)
	if err := k.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Wait(); err != nil {
		t.Error(err)
	}
	gone(t, k.guard)
	if left := append(leftovers(t, o), stillThere(shelters)...); len(left) > 0 || k.mask(t) != k.before {
		t.Errorf("left behind: %q, CPUs %s, before %s", left, k.mask(t), k.before)
	}
}

func TestRestoreAfterBothWereKilled(t *testing.T) {
	needRoot(t)
	o := testOptions(t)
	k := startSession(t, o)
	shelters := shelterOf(t, k.guard)
	if err := syscall.Kill(k.guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.kill(t)
	var stale *StaleError
	if _, err := Open(context.Background(), o); !errors.As(err, &stale) || !strings.Contains(err.Error(), "goset-bench restore -state "+o.State) {
		t.Fatalf("opened a changed machine: %v", err)
	}
	named := o
	named.Tool = "goset"
	if _, err := Open(context.Background(), named); err == nil || !strings.Contains(err.Error(), "sudo goset restore -state "+o.State) {
		t.Errorf("opened a changed machine, or names another way out: %v", err)
	}
	if found := Stale(named); found == nil || !strings.Contains(found.Left(), "(journal-") || !strings.HasSuffix(found.Left(), "sudo goset restore -state "+o.State) {
		t.Errorf("found %v", found)
	}
	if n, err := Restore(o); n != 1 || err != nil {
		t.Errorf("restored %d, %v", n, err)
	}
	if found := Stale(named); found != nil {
		t.Errorf("found after the restore: %v", found)
	}
	if left := append(leftovers(t, o), stillThere(shelters)...); len(left) > 0 || k.mask(t) != k.before {
		t.Errorf("left behind: %q, CPUs %s, before %s", left, k.mask(t), k.before)
	}
	if n, err := Restore(o); n != 0 || err != nil {
		t.Errorf("restored %d again, %v", n, err)
	}
}

func TestRestoreLeavesSessionsThatLive(t *testing.T) {
	needRoot(t)
	o := testOptions(t)
	k := startSession(t, o)
	there := k.mask(t)
	if n, err := Restore(o); n != 0 || err != nil || k.mask(t) != there {
		t.Errorf("restored %d, %v", n, err)
	}
	k.kill(t)
	gone(t, k.guard)
}

func TestGuardIsReplaced(t *testing.T) {
	needRoot(t)
	s, err := Open(context.Background(), testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.openJournal(); err != nil {
		t.Fatal(err)
	}
	first, shelters := s.guard.cmd.Process.Pid, shelterOf(t, s.guard.cmd.Process.Pid)
	// Also while something is in force.
	bystander := exec.Command("sleep", "1000")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = bystander.Process.Kill()
		_ = bystander.Wait()
	}()
	pid := bystander.Process.Pid
	start, err := startOf(machine{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	before, err := machine{}.affinity(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.journal.Set(KindAffinity, taskObject(pid, start), strconv.Itoa(twoCPUs(t).First())); err != nil {
		t.Fatal(err)
	}
	if err := s.guard.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, first)
	if _, err := s.openJournal(); err != nil {
		t.Fatal(err)
	}
	if s.guard.cmd.Process.Pid == first || !s.guard.alive() {
		t.Error("the guard was not replaced")
	}
	if again := shelterOf(t, s.guard.cmd.Process.Pid); !slices.Equal(again, shelters) {
		t.Errorf("the new guard is in %q, the old one was in %q", again, shelters)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after, err := (machine{}).affinity(pid); err != nil || !after.Equal(before) || len(stillThere(shelters)) > 0 {
		t.Errorf("the bystander has %v, before %v; left %q", after, before, stillThere(shelters))
	}
}

func TestLock(t *testing.T) {
	o := testOptions(t)
	first, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := Open(context.Background(), o); !errors.As(err, &locked) || locked.Holder.PID != os.Getpid() || locked.Holder.Since.IsZero() {
		t.Errorf("a second session: %v", err)
	}
	for _, part := range []string{fmt.Sprintf("process %d", os.Getpid()), "running since", "-wait"} {
		if !strings.Contains(locked.Error(), part) {
			t.Errorf("%q lacks %q", locked, part)
		}
	}
	// A waiter gets its turn.
	told := make(chan string, 10)
	o.Wait, o.Say = time.Minute, func(text string) { told <- text }
	opened := make(chan error)
	var second *Session
	go func() {
		var err error
		second, err = Open(context.Background(), o)
		opened <- err
	}()
	if text := <-told; !strings.Contains(text, "waiting up to 1m0s") || !strings.Contains(text, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("the waiter said %q", text)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.Say = func(string) { cancel() }
	if _, err := Open(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a waiter that is interrupted: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// A session inside a run of another one is its guest.
func TestLockOfAnAncestor(t *testing.T) {
	needRoot(t)
	o := testOptions(t)
	outer, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	k := startSession(t, o)
	if err := k.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Wait(); err != nil || k.mask(t) != k.before {
		t.Errorf("the inner session: %v, CPUs %s, before %s", err, k.mask(t), k.before)
	}
	if err := outer.Close(); err != nil {
		t.Error(err)
	}
}

func TestParseLocks(t *testing.T) {
	const text = `1: FLOCK  ADVISORY  WRITE 7855 00:16:3564 0 EOF
1: -> FLOCK  ADVISORY  WRITE 9999 00:16:3564 0 EOF
2: POSIX  ADVISORY  WRITE 12 00:16:77 0 EOF
3: FLOCK  ADVISORY  WRITE 0 00:16:78 0 EOF
4: FLOCK  ADVISORY  READ 55 fd:01:79 0 EOF
5: FLOCK  ADVISORY  READ 56 fd:01:79 0 EOF`
	for _, test := range []struct {
		dev   uint64
		inode uint64
		want  []int
	}{{unix.Mkdev(0, 0x16), 3564, []int{7855}}, {unix.Mkdev(0, 0x16), 77, nil}, {unix.Mkdev(0, 0x16), 78, nil}, {unix.Mkdev(0xfd, 1), 79, []int{55, 56}}, {0, 0, nil}} {
		if got := parseLocks(text, test.dev, test.inode); !slices.Equal(got, test.want) {
			t.Errorf("inode %d: %v, want %v", test.inode, got, test.want)
		}
	}
}

func TestFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name string
		make func(path string) error
		part string
	}{
		{"writable", func(p string) error { return errors.Join(os.Mkdir(p, 0o755), os.Chmod(p, 0o777)) }, "others than its owner"},
		{"sticky", func(p string) error { return errors.Join(os.Mkdir(p, 0o755), os.Chmod(p, 0o1777|os.ModeSticky)) }, "others than its owner"},
		{"link", func(p string) error { return os.Symlink("/", p) }, ""},
		{"file", func(p string) error { return os.WriteFile(p, nil, 0o600) }, "not a directory"},
		{"under/writable/x", func(p string) error {
			return errors.Join(os.MkdirAll(p, 0o755), os.Chmod(filepath.Dir(p), 0o777))
		}, "others than its owner"},
		{"missing/x", func(string) error { return nil }, "no such file"},
	} {
		path := filepath.Join(dir, test.name)
		if err := test.make(path); err != nil {
			t.Fatal(err)
		}
		f, err := openFolder(path, true)
		if err == nil {
			f.close()
		}
		if err == nil || !strings.Contains(err.Error(), test.part) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestJournalFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	f, err := openFolder(filepath.Join(dir, "state"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	in := func(name string) string { return filepath.Join(f.path, name) }
	secret := filepath.Join(dir, "secret")
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(secret, nil, 0o600),
		os.Symlink(secret, in("journal-1-1")),
		os.Link(secret, in("journal-2-2")),
		os.WriteFile(in("journal-3-3"), nil, 0o600), os.Chmod(in("journal-3-3"), 0o666),
		unix.Mkfifo(in("journal-4-4"), 0o600),
		os.Mkdir(in("journal-5-5"), 0o700))
	for _, name := range []string{"journal-1-1", "journal-2-2", "journal-3-3", "journal-4-4", "journal-5-5", "../secret", "journal-1-1/../../secret", "journal-01-1", ""} {
		if file, err := f.open(name); err == nil {
			file.Close()
			t.Errorf("opened %q", name)
		}
	}
	if os.Geteuid() == 0 {
		must(os.WriteFile(in("journal-6-6"), nil, 0o600), os.Chown(in("journal-6-6"), 12345, -1))
		if file, err := f.open("journal-6-6"); err == nil {
			file.Close()
			t.Error("root opened a journal of another user's")
		}
	}
	if _, err := f.create("journal-1-1"); err == nil {
		t.Error("a journal was made through a link")
	}
}

// A journal that cannot be trusted keeps the machine from use, and is told of once
// although it is looked at again and again.
func TestJournalThatCannotBeTrusted(t *testing.T) {
	o := testOptions(t)
	o.Guard = nil
	var said []string
	o.Say = func(text string) { said = append(said, text) }
	f, err := openFolder(o.State, true)
	if err != nil {
		t.Fatal(err)
	}
	f.close()
	if err := os.Symlink("/etc/passwd", filepath.Join(o.State, "journal-4000000-1")); err != nil {
		t.Fatal(err)
	}
	var stale *StaleError
	if _, err := Open(context.Background(), o); !errors.As(err, &stale) {
		t.Errorf("opened a machine with a journal that is a link: %v", err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "journal-4000000-1") {
		t.Errorf("said %q", said)
	}
}

func TestJournalOfAnotherBootIsDropped(t *testing.T) {
	o := testOptions(t)
	o.Guard = nil
	var said []string
	o.Say = func(text string) { said = append(said, text) }
	f, err := openFolder(o.State, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	line, err := Entry{Kind: KindNumber, Object: "/proc/sys/kernel/nmi_watchdog", Old: "1", New: "0", Boot: "another"}.line()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(o.State, "journal-999999999-1")
	if err := os.WriteFile(name, line, 0o600); err != nil {
		t.Fatal(err)
	}
	if found := Stale(o); found != nil {
		t.Errorf("found stale: %v", found)
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) || len(said) != 1 || !strings.Contains(said[0], "another boot") {
		t.Errorf("the journal: %v, said %q", err, said)
	}
}

// Root's own kernel writes only to files of the kernel's.
func TestWritesOnlyToTheKernel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (machine{}).writeFile(file, "new"); err == nil {
		t.Error("wrote to a plain file")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "old" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if err := (machine{}).writeFile("/proc/self/exe", "x"); err == nil {
		t.Error("wrote through a link")
	}
}

// The cpuset of this machine: held, read back, undone.
func TestCpusetHere(t *testing.T) {
	needRoot(t)
	allowed := twoCPUs(t)
	o := testOptions(t)
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := ownCgroups(t)
	task := strconv.Itoa(allowed.Last())
	h, err := s.Apply(Mode{Name: "m", CPUs: task, Cgroup: "true"}, cpus(t, task))
	var u *Unsupported
	if errors.As(err, &u) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, rerr := os.ReadFile(h.run.cgroup + "/cgroup.procs")
	if rerr != nil || len(text) > 0 {
		t.Errorf("the cgroup of the task holds %q, %v", text, rerr)
	}
	made := h.run.cgroup
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	if left := stillThere([]string{made}); len(left) > 0 {
		t.Errorf("left %q (before %q)", left, before)
	}
	if st := stateOf(t, h, "cgroup"); !st.Held {
		t.Errorf("state %+v", st)
	}
}

// What a user who is not root is told of root's journal.
func TestStaleOfRoot(t *testing.T) {
	needRoot(t)
	o := testOptions(t)
	o.Tool = "goset"
	for dir := filepath.Dir(o.State); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := openFolder(o.State, true)
	if err != nil {
		t.Fatal(err)
	}
	f.close()
	boot, err := machine{}.bootID()
	if err != nil {
		t.Fatal(err)
	}
	line, err := Entry{Kind: KindNumber, Object: "/proc/sys/kernel/nmi_watchdog", Old: "1", New: "0", Boot: boot}.line()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.State, "journal-999999999-1"), line, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0)); e != 0 {
			done <- e
			return
		}
		if found := Stale(o); found == nil || !slices.Equal(found.Journals, []string{"journal-999999999-1"}) {
			t.Errorf("found %v", found)
		}
		_, err := Restore(o)
		done <- err
	}()
	if err := <-done; !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "run it as root: sudo goset restore -state "+o.State) {
		t.Errorf("restored as nobody: %v", err)
	}
}

package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"goset/isolation"
)

// needUser skips where this process may not become a user, or fails: root may.
func needUser(t *testing.T, name string) {
	t.Helper()
	if f := isolation.Check(isolation.Mode{User: name}); len(f) > 0 {
		t.Skipf("unsupported here: %v", f.Err())
	}
}

// everybodysFolder is a folder that everybody may enter and write into, and
// where what is made belongs to who made it alone.
func everybodysFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeScript(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// person is a user as the processes of that user tell of it.
type person struct{ uid, gid, groups, home string }

// whoIs is the person of a name or number; a number without an entry has
// nothing but that number.
func whoIs(t *testing.T, name string) person {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		return person{name, name, name, "/"}
	}
	ids, err := u.GroupIds()
	if err != nil {
		t.Fatal(err)
	}
	ids = append([]string{u.Gid}, slices.DeleteFunc(ids, func(id string) bool { return id == u.Gid })...)
	return person{u.Uid, u.Gid, strings.Join(ids, ","), u.HomeDir}
}

// tellingTools makes a folder with a git and a go that write into a log who runs
// them.
func tellingTools(t *testing.T) (bin, log string) {
	t.Helper()
	dir := everybodysFolder(t)
	bin, log = filepath.Join(dir, "bin"), filepath.Join(dir, "log")
	if err := errors.Join(os.WriteFile(log, nil, 0o644), os.Chmod(log, 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"go", "git"} {
		writeScript(t, filepath.Join(bin, tool), `echo "${0##*/} $(id -u) $(id -g) $(id -G | tr ' ' ,) $HOME" >> `+log+"\necho c0ffee\n")
	}
	return bin, log
}

// told is what the tools wrote: their names, and who ran each.
func told(t *testing.T, log string) (tools []string, by []person) {
	t.Helper()
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(said)) {
		f := strings.Fields(line)
		tools, by = append(tools, f[0]), append(by, person{f[1], f[2], f[3], f[4]})
	}
	return tools, by
}

// git and go run as the user, with that user's groups and HOME, and what the
// builder makes is that user's, also where the user is who runs the builder.
func TestBuilderWorksAsTheUser(t *testing.T) {
	self := strconv.Itoa(os.Getuid())
	for _, name := range []string{"", self, "root", "nobody", "65534", "12345"} {
		t.Run("user="+name, func(t *testing.T) {
			needUser(t, name)
			worksAs(t, name, name == "" || whoIs(t, name).uid == self)
		})
	}
}

func worksAs(t *testing.T, name string, self bool) {
	t.Helper()
	want := person{strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid()), "", "/given"}
	if !self {
		want = whoIs(t, name)
	}
	base := everybodysFolder(t)
	t.Setenv("TMPDIR", base)
	bin, log := tellingTools(t)
	b, err := NewGoBuilder(BuilderOptions{Env: []string{"HOME=/given", "PATH=" + bin + ":" + os.Getenv("PATH")}, User: name, Sweeper: testSweeper()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Packages(t.Context(), GoTask{Package: "./...", Dir: base, Ref: "."}, "."); err != nil {
		t.Error(err)
	}
	for _, sub := range []string{"", "lock", "bin", "work"} {
		if got := ownerOf(t, filepath.Join(b.temp.dir, sub)); got != want.uid+":"+want.gid {
			t.Errorf("folder/%s belongs to %s, want %s:%s", sub, got, want.uid, want.gid)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, base)
	tools, by := told(t, log)
	if !slices.Equal(tools, []string{"git", "git", "go"}) {
		t.Errorf("ran %q", tools)
	}
	for i, got := range by {
		if self {
			got.groups = "" // whatever groups this process has
		}
		if got != want {
			t.Errorf("%s ran as %+v, want %+v", tools[i], got, want)
		}
	}
}

// nothingLeft holds a folder to having no folder of builds.
func nothingLeft(t *testing.T, base string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(base, tempPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

func ownerOf(t *testing.T, file string) string {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d", st.Uid, st.Gid)
}

// The tools are those that the user can reach; what the user cannot reach is
// named, with who that is.
func TestBuilderToolsOfTheUser(t *testing.T) {
	const name = "65534"
	needUser(t, name)
	base := everybodysFolder(t)
	t.Setenv("TMPDIR", base)
	closed, open := filepath.Join(base, "closed"), filepath.Join(base, "open")
	writeScript(t, filepath.Join(closed, "go"), "")
	writeScript(t, filepath.Join(open, "go"), "")
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := NewGoBuilder(BuilderOptions{Env: []string{"PATH=" + closed + ":" + open}, User: name, Sweeper: testSweeper()})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(open, "go"); b.goTool != want {
		t.Errorf("go is %s, want %s", b.goTool, want)
	}
	for _, ref := range []string{".", "main"} {
		_, err := b.Packages(t.Context(), GoTask{Package: "./...", Dir: closed, Ref: ref}, ".")
		says(t, "a closed folder, ref "+ref, err, closed+`": user "65534" may not enter it`, "-user root")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		user, path, temp string
		want             []string
	}{
		{name, "/nowhere", base, []string{`"go": not found in PATH`, `PATH is "/nowhere"`, `sudo env "PATH=$PATH" goset-bench`}},
		{"", "/nowhere", base, []string{`PATH is "/nowhere")`}},
		{name, closed, base, []string{"permission denied"}},
		{name, open, closed, []string{closed, "TMPDIR", `user "65534" may not make one`}},
		{"no-such-user", open, base, []string{`cannot build Go benchmarks: there is no user "no-such-user"`}},
	} {
		t.Setenv("TMPDIR", test.temp)
		_, err := NewGoBuilder(BuilderOptions{Env: []string{"PATH=" + test.path}, User: test.user, Sweeper: testSweeper()})
		says(t, fmt.Sprintf("%+v", test), err, test.want...)
	}
	nothingLeft(t, base)
}

// says holds an error to what it has to say.
func says(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %v, want %q in it", what, err, w)
		}
	}
}

// hostileTree is a folder of builds of a user who had it hold what a careless
// remover would follow, or could not remove: links to what is root's, a folder
// that is closed, and one of root's own. The victim is what the links are to.
func hostileTree(t *testing.T, name string) (tree *tempTree, victim string) {
	t.Helper()
	base := everybodysFolder(t)
	t.Setenv("TMPDIR", base)
	victim = filepath.Join(t.TempDir(), "victim")
	if err := os.MkdirAll(filepath.Join(victim, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(victim)), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"file", "deep/file"} {
		if err := os.WriteFile(filepath.Join(victim, file), []byte("root's"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	as, _, err := newWorker(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tree, err = newTempTree(as, testSweeper()); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(tree.dir, "work")
	err = as.do(func() error {
		return errors.Join(
			os.Symlink(victim, filepath.Join(work, "link")),
			os.Symlink(filepath.Join(victim, "file"), filepath.Join(work, "file")),
			os.Symlink("..", filepath.Join(work, "up")),
			os.Mkdir(filepath.Join(work, "closed"), 0o755),
			os.Symlink(victim, filepath.Join(work, "closed", "link")),
			os.Chmod(filepath.Join(work, "closed"), 0),
			os.Remove(filepath.Join(tree.dir, "bin")),
			os.Symlink(victim, filepath.Join(tree.dir, "bin")),
		)
	})
	// As a benchmark leaves it that a mode runs as root.
	roots := filepath.Join(work, "roots")
	err = errors.Join(err, os.Mkdir(roots, 0o700), os.WriteFile(filepath.Join(roots, "file"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return tree, victim
}

// A folder of the user's is gone whatever the user put there, whoever removes
// it, and nothing else is.
func TestRemovalFollowsNoLinks(t *testing.T) {
	const name = "65534"
	needUser(t, name)
	removers := map[string]func(*testing.T, *tempTree){
		"Close": func(t *testing.T, tree *tempTree) {
			if err := tree.remove(); err != nil {
				t.Error(err)
			}
		},
		"the process that outlives this one": func(t *testing.T, tree *tempTree) {
			// What the end of this process would do.
			if err := errors.Join(tree.alive.Close(), tree.sweeps.Wait(), tree.lock.Close()); err != nil {
				t.Error(err)
			}
		},
		"the next builder": func(t *testing.T, tree *tempTree) {
			if err := errors.Join(tree.sweeps.Process.Kill(), tree.alive.Close(), tree.lock.Close()); err != nil {
				t.Error(err)
			}
			_ = tree.sweeps.Wait() // it was killed
			sweepTemp(tree.as, filepath.Dir(tree.dir), time.Now())
		},
	}
	for what, remove := range removers {
		t.Run(what, func(t *testing.T) {
			tree, victim := hostileTree(t, name)
			before := fingerprint(t, victim)
			remove(t, tree)
			if _, err := os.Lstat(tree.dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder is still there: %v", err)
			}
			if fingerprint(t, victim) != before {
				t.Error("what the links are to has changed")
			}
		})
	}
}

// The user's processes put a link in the place of a folder and back, over and
// over, while root removes it.
func TestRemovalWhileLinksCome(t *testing.T) {
	const name, rounds = "65534", 20
	needUser(t, name)
	tree, victim := hostileTree(t, name)
	before := fingerprint(t, victim)
	s := swapper{base: filepath.Join(tree.dir, "work", "base"), links: filepath.Join(tree.dir, "work", "links")}
	for range rounds {
		if err := tree.as.do(func() error { return s.make(victim) }); err != nil {
			t.Fatal(err)
		}
		s.stop.Store(false)
		s.begun = make(chan struct{})
		swapped := make(chan error, 1)
		go func() { swapped <- tree.as.do(s.swap) }()
		select {
		case <-s.begun:
		case err := <-swapped:
			t.Fatal(err)
		}
		_ = os.RemoveAll(s.base) // as removeTree does where the user may not
		s.stop.Store(true)
		if err := <-swapped; err != nil {
			t.Fatal(err)
		}
		if fingerprint(t, victim) != before {
			t.Fatal("what the links are to has changed")
		}
		if err := errors.Join(os.RemoveAll(s.base), os.RemoveAll(s.links)); err != nil {
			t.Fatal(err)
		}
	}
	if s.swaps == 0 {
		t.Error("no link came")
	}
	if err := tree.remove(); err != nil {
		t.Error(err)
	}
}

// swapper has as many folders as links, and swaps each folder with its link.
type swapper struct {
	base, links string
	begun       chan struct{} // closed when each was swapped once
	stop        atomic.Bool
	swaps       int
}

const swapFolders = 50

func (s *swapper) pair(i int) (folder, link string) {
	return filepath.Join(s.base, "folder"+strconv.Itoa(i)), filepath.Join(s.links, "link"+strconv.Itoa(i))
}

func (s *swapper) make(victim string) error {
	err := os.Mkdir(s.links, 0o755)
	for i := range swapFolders {
		folder, link := s.pair(i)
		err = errors.Join(err, os.MkdirAll(filepath.Join(folder, "deep"), 0o755), os.Symlink(victim, link))
	}
	return err
}

func (s *swapper) swap() error {
	for i := 0; !s.stop.Load(); i++ {
		if i == swapFolders {
			close(s.begun)
		}
		// It may be gone already.
		if exchange(s.pair(i%swapFolders)) == 0 {
			s.swaps++
		}
	}
	return nil
}

// exchange swaps two names at once (renameat2 with RENAME_EXCHANGE).
func exchange(a, b string) syscall.Errno {
	const atFDCWD, renameExchange = -100, 2
	nr := uintptr(316)
	if runtime.GOARCH == "arm64" {
		nr = 276
	}
	at := atFDCWD
	pa, aerr := syscall.BytePtrFromString(a)
	pb, berr := syscall.BytePtrFromString(b)
	if aerr != nil || berr != nil {
		return syscall.EINVAL
	}
	_, _, e := syscall.Syscall6(nr, uintptr(at), uintptr(unsafe.Pointer(pa)), uintptr(at), uintptr(unsafe.Pointer(pb)), renameExchange, 0)
	return e
}

// What is another user's, or no folder of builds, is nobody's to sweep.
func TestSweepsOnlyTheOwn(t *testing.T) {
	const name = "65534"
	needUser(t, name)
	base := everybodysFolder(t)
	as, _, err := newWorker(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"roots", "users", "others"} {
		if err := os.Mkdir(filepath.Join(base, tempPrefix+dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chown(filepath.Join(base, tempPrefix+"users"), 65534, 65534), os.Chown(filepath.Join(base, tempPrefix+"others"), 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	sweepTemp(as, base, time.Now().Add(time.Hour))
	left, err := filepath.Glob(filepath.Join(base, "*"))
	if want := []string{filepath.Join(base, tempPrefix+"others"), filepath.Join(base, tempPrefix+"roots")}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	if err := SweepBuilds(base, name, strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "no folder of builds") {
		t.Errorf("a folder of another name: %v", err)
	}
}

// The process that removes the folder ends the group that works there.
func TestSweepEndsTheGroup(t *testing.T) {
	for _, test := range []struct {
		lines string
		ended bool
	}{{"%d\n", true}, {"%d\n\n", false}, {"1\n\n%d\n", true}, {"", false}} {
		dir := filepath.Join(t.TempDir(), tempPrefix+"x")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := test.lines
		if strings.Contains(lines, "%d") {
			lines = fmt.Sprintf(lines, cmd.Process.Pid)
		}
		if err := SweepBuilds(dir, "", strings.NewReader(lines)); err != nil {
			t.Error(err)
		}
		if !test.ended {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		_ = cmd.Wait()
		want := syscall.SIGTERM
		if test.ended {
			want = syscall.SIGKILL
		}
		if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != want {
			t.Errorf("%q: ended by %v, want %v", test.lines, got, want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: the folder is still there: %v", test.lines, err)
		}
	}
}

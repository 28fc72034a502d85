package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// toyModule makes a git repository with two commits: "old" and "main", whose
// benchmark differs, with uncommitted changes, a stash and an untracked file.
func toyModule(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatalf("%v: scripts/test tools installs it", err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	const bench = "package toy\n\nimport \"testing\"\n\nfunc BenchmarkWork(b *testing.B) {\n\tfor b.Loop() {\n\t\tsink = work(%s)\n\t}\n}\n"
	write("go.mod", "module example.org/toy\n\ngo 1.24\n")
	write("toy.go", "package toy\n\nvar sink uint64\n\nfunc work(n int) (x uint64) {\n\tx = 1\n\tfor range n {\n\t\tx ^= x << 13\n\t\tx ^= x >> 7\n\t}\n\treturn x\n}\n")
	write("toy_test.go", fmt.Sprintf(bench, "100"))
	write("sub/plain.go", "package sub\n")
	git("init", "-q", "-b", "main", ".")
	// A hook that runs would show: it writes into the repository.
	write(".git/hooks/post-index-change", "#!/bin/sh\ntouch "+filepath.Join(dir, ".git", "hooked")+"\n")
	write(".git/hooks/post-checkout", "#!/bin/sh\ntouch "+filepath.Join(dir, ".git", "hooked")+"\n")
	for _, h := range []string{"post-index-change", "post-checkout"} {
		if err := os.Chmod(filepath.Join(dir, ".git/hooks", h), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	git("tag", "old")
	write("toy_test.go", fmt.Sprintf(bench, "110"))
	git("commit", "-q", "-a", "-m", "two")
	write("broken.go", "package toy\n\nvar broken = undefinedName\n")
	git("checkout", "-q", "-b", "broken")
	git("add", "-A")
	git("commit", "-q", "-m", "three")
	git("checkout", "-q", "main")
	write("toy_test.go", fmt.Sprintf(bench, "77"))
	git("stash", "-q")
	write("toy_test.go", fmt.Sprintf(bench, "120"))
	write("untracked_test.go", "package toy\n\nimport \"testing\"\n\nfunc BenchmarkUntracked(b *testing.B) {}\n")
	os.Remove(filepath.Join(dir, ".git", "hooked"))
	return dir
}

// fingerprint is of every file below a folder, with mode and content.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(sum, path)
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintln(sum, path, info.Mode(), info.ModTime().UnixNano(), len(text))
		sum.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// sweepRole makes this test binary a SweepBuilds, on every system.
const sweepRole = "sweep-builds"

func init() {
	if len(os.Args) != 4 || os.Args[1] != sweepRole {
		return
	}
	if err := SweepBuilds(os.Args[2], os.Args[3], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func testSweeper() []string { return []string{os.Args[0], sweepRole} }

func newBuilder(t *testing.T, env ...string) *GoBuilder {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	b, err := NewGoBuilder(BuilderOptions{Env: append(os.Environ(), env...), Sweeper: testSweeper()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b != nil {
			b.Close()
		}
	})
	return b
}

// The refs and the working tree are built from what they are, and the user's
// repository is as before, to the byte.
func TestBuildRefs(t *testing.T) {
	dir := toyModule(t)
	before := fingerprint(t, dir)
	b := newBuilder(t)
	var tasks []GoTask
	for _, ref := range []string{"old", "main", ".", "HEAD~1"} {
		tasks = append(tasks, GoTask{Package: ".", Dir: dir, Ref: ref})
	}
	builds, err := b.Build(context.Background(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range builds {
		if o.Import != "example.org/toy" || o.GoVersion == "" || len(o.Commit) != 40 || o.Modified != (o.Ref == ".") {
			t.Errorf("build %d: %+v", i, o)
		}
		// One length, or the stack would start elsewhere.
		if len(o.Binary) != len(builds[0].Binary) {
			t.Errorf("binary %q and %q", o.Binary, builds[0].Binary)
		}
	}
	if builds[0].SHA256 == builds[1].SHA256 || builds[1].SHA256 == builds[2].SHA256 || builds[0].SHA256 == builds[2].SHA256 {
		t.Error("builds of different sources are equal")
	}
	if builds[0].SHA256 != builds[3].SHA256 || builds[0].Commit != builds[3].Commit {
		t.Error("two names of one commit build to two binaries")
	}
	if dirOf := builds[2].RunDir; dirOf != dir {
		t.Errorf("the working tree runs in %q, want %q", dirOf, dir)
	}
	list := func(i int) string {
		cmd := exec.Command(builds[i].Binary, "-test.list=.")
		cmd.Dir = builds[i].RunDir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := list(2); !strings.Contains(got, "BenchmarkUntracked") {
		t.Errorf("the working tree lacks its untracked file: %s", got)
	}
	if got := list(1); strings.Contains(got, "BenchmarkUntracked") {
		t.Errorf("ref main has an untracked file: %s", got)
	}
	temp := b.temp.dir
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if after := fingerprint(t, dir); after != before {
		t.Error("the user's tree or repository has changed")
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("%s is still there", temp)
	}
}

func TestBuildFaults(t *testing.T) {
	dir := toyModule(t)
	b := newBuilder(t)
	for _, c := range []struct {
		task GoTask
		want []string
	}{
		{GoTask{Package: ".", Ref: "broken"}, []string{`package "." of ref "broken"`, "undefined: undefinedName", "broken.go:3"}},
		{GoTask{Package: ".", Ref: "nowhere"}, []string{`ref "nowhere"`, "names no commit"}},
		{GoTask{Package: "./sub", Ref: "main"}, []string{`package "./sub" of ref "main"`, "no test files"}},
		{GoTask{Package: "./missing", Ref: "main"}, []string{`package "./missing" of ref "main"`}},
		{GoTask{Package: ".", Ref: "main", GCFlags: "-nosuchflag"}, []string{`ref "main"`, "nosuchflag"}},
		{GoTask{Package: ".", Ref: "main", Toolchain: "go1.0.nonsense"}, []string{`ref "main"`, `toolchain "go1.0.nonsense"`}},
	} {
		c.task.Dir = dir
		_, err := b.Build(context.Background(), []GoTask{c.task})
		if err == nil {
			t.Errorf("%+v: no error", c.task)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v\nlacks %q", c.task, err, want)
			}
		}
	}
}

// A go command that does not heed GOTOOLCHAIN is found out by its binary.
func TestBuildToolchain(t *testing.T) {
	dir := toyModule(t)
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := "#!/bin/sh\nunset GOTOOLCHAIN\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t, "PATH="+bin+":"+os.Getenv("PATH"))
	_, err = b.Build(context.Background(), []GoTask{{Package: ".", Dir: dir, Ref: "main", Toolchain: "go1.22.3"}})
	if err == nil || !strings.Contains(err.Error(), `toolchain must be "go1.22.3"`) || !strings.Contains(err.Error(), runtime.Version()) {
		t.Errorf("error %v", err)
	}
	version := strings.Fields(runtime.Version())[0]
	builds, err := b.Build(context.Background(), []GoTask{{Package: ".", Dir: dir, Ref: "main", Toolchain: version}})
	if err != nil || !strings.HasPrefix(builds[0].GoVersion, version) {
		t.Errorf("builds %+v, %v", builds, err)
	}
}

// Another layout is another binary, and the same one is the same.
func TestBuildLayouts(t *testing.T) {
	dir := toyModule(t)
	b := newBuilder(t)
	task := GoTask{Package: ".", Dir: dir, Ref: "main"}
	tasks := []GoTask{task, task, task}
	tasks[1].Layout, tasks[2].Layout = 5, 6
	builds, err := b.Build(context.Background(), append(tasks, tasks[1]))
	if err != nil {
		t.Fatal(err)
	}
	if builds[0].SHA256 == builds[1].SHA256 || builds[1].SHA256 == builds[2].SHA256 || builds[1].SHA256 != builds[3].SHA256 {
		t.Error("the layouts are not what their seeds say")
	}
}

func TestPackages(t *testing.T) {
	dir := toyModule(t)
	b := newBuilder(t)
	for _, c := range []struct {
		ref, bench string
		want       []string
	}{
		{"main", ".", []string{"."}},
		{"main", "Untracked", nil},
		{".", "Nothing|Untracked/x=(1|2)", []string{"."}},
	} {
		got, err := b.Packages(context.Background(), GoTask{Package: "./...", Dir: dir, Ref: c.ref}, c.bench)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, %v, want %q", c.ref, c.bench, got, err, c.want)
		}
	}
}

// Submodules are written at the commit that a ref has, and theirs too; one that
// the user's tree does not hold stays empty, and a commit that is missing is
// named.
func TestBuildSubmodules(t *testing.T) {
	dir := toyModule(t)
	inner := filepath.Join(t.TempDir(), "inner")
	deep := filepath.Join(t.TempDir(), "deep")
	git := func(at string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", "-C", at}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	commit := func(at, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(at, "data"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git(at, "add", "-A")
		git(at, "commit", "-q", "-m", text)
	}
	for _, at := range []string{inner, deep} {
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		git(at, "init", "-q", "-b", "main", ".")
	}
	commit(deep, "deep")
	git(inner, "submodule", "--quiet", "add", deep, "deep")
	commit(inner, "first")
	git(dir, "stash", "-q", "-u")
	git(dir, "submodule", "--quiet", "add", inner, "lib")
	git(dir, "submodule", "--quiet", "add", deep, "empty")
	git(dir, "submodule", "--quiet", "update", "--init", "--recursive")
	git(dir, "commit", "-q", "-m", "with submodules")
	git(dir, "tag", "with")
	git(dir, "submodule", "--quiet", "deinit", "-f", "empty")
	commit(filepath.Join(dir, "lib"), "second")
	before := fingerprint(t, dir)

	b := newBuilder(t)
	builds, err := b.Build(t.Context(), []GoTask{{Package: ".", Dir: dir, Ref: "with"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"lib/data": "first", "lib/deep/data": "deep", "empty/data": ""} {
		if got, _ := os.ReadFile(filepath.Join(builds[0].RunDir, name)); string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if fingerprint(t, dir) != before {
		t.Error("the user's tree has changed")
	}
	// A ref from before, at which there were none.
	if _, err := b.Build(t.Context(), []GoTask{{Package: ".", Dir: dir, Ref: "old"}}); err != nil {
		t.Error(err)
	}
	git(dir, "update-index", "--cacheinfo", "160000,1111111111111111111111111111111111111111,lib")
	git(dir, "commit", "-q", "-m", "a commit that nobody has")
	_, err = b.Build(t.Context(), []GoTask{{Package: ".", Dir: dir, Ref: "main"}})
	if err == nil || !strings.Contains(err.Error(), `submodule "lib": commit 1111111111111111111111111111111111111111 is not in`) {
		t.Errorf("error %v", err)
	}
}

// Folders of processes that are gone are removed by the next start, those of
// living ones are not.
func TestSweepTemp(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	living, err := newTempTree(worker{}, testSweeper())
	if err != nil {
		t.Fatal(err)
	}
	dead, young := filepath.Join(base, tempPrefix+"dead"), filepath.Join(base, tempPrefix+"young")
	other := filepath.Join(base, "other")
	for _, dir := range []string{dead, young, other} {
		if err := os.MkdirAll(filepath.Join(dir, "src"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sweepTemp(worker{}, base, time.Now())
	for dir, want := range map[string]bool{dead: false, young: true, other: true, living.dir: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", dir, err == nil, want)
		}
	}
	if err := living.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(living.dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there", living.dir)
	}
}

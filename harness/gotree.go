package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// goTree is the files of a ref.
type goTree struct {
	dir      string // what stands for GoTask.Dir
	commit   string
	modified bool
}

// tree gives the files of a ref; each is checked out once.
func (b *GoBuilder) tree(ctx context.Context, dir, ref string) (goTree, error) {
	key := dir + "\x00" + ref
	if t, ok := b.trees[key]; ok {
		return t, nil
	}
	var t goTree
	var err error
	if name, ok := strings.CutPrefix(dir, bundledPrefix); ok {
		t, err = b.bundled(name, ref)
	} else if ref == "." || ref == "" {
		t, err = b.worktree(ctx, dir)
	} else {
		t, err = b.checkout(ctx, dir, ref)
	}
	if err == nil {
		b.trees[key] = t
	}
	return t, err
}

// bundledPrefix begins a dir that is no folder but a bundled package.
const bundledPrefix = "bundled:"

// bundled writes a bundled package, as a module of its name, into the builder's
// own folder.
func (b *GoBuilder) bundled(name, ref string) (goTree, error) {
	fail := func(err error) (goTree, error) {
		return goTree{}, fmt.Errorf("cannot build the bundled benchmark %q: %v", name, err)
	}
	if ref != "." && ref != "" {
		return fail(fmt.Errorf("it has no ref %q: it comes with this program", ref))
	}
	if b.packs == nil {
		return fail(errors.New("none are bundled here"))
	}
	files, err := fs.Glob(b.packs, name+"/*.go")
	if err != nil || len(files) == 0 || strings.ContainsAny(name, "/*?[\\") {
		return fail(errors.New("there is none of that name"))
	}
	dir := filepath.Join(b.temp.dir, "bundled", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	// The oldest language version that the packages are in.
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+name+"\n\ngo 1.22\n"), 0o644); err != nil {
		return fail(err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(b.packs, file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644)
		}
		if err != nil {
			return fail(err)
		}
	}
	return goTree{dir: dir}, nil
}

// worktree describes the user's own tree.
func (b *GoBuilder) worktree(ctx context.Context, dir string) (goTree, error) {
	t := goTree{dir: dir}
	if err := b.enterable(dir); err != nil {
		return t, fmt.Errorf("cannot build Go benchmarks in %q: %w", dir, err)
	}
	commit, err := b.git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return t, ctx.Err() // no repository, or one without a commit
	}
	status, err := b.git(ctx, dir, nil, "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain", "--ignore-submodules=none")
	if err != nil {
		return t, err
	}
	t.commit, t.modified = commit, status != ""
	return t, nil
}

// enterable says why git and go could not work in a folder: what comes of trying
// names git or go.
func (b *GoBuilder) enterable(dir string) error {
	info, err := os.Stat(dir + "/.") // also asks for the right to enter it
	switch {
	case errors.Is(err, fs.ErrPermission):
		return b.as.mayNot("enter it")
	case err != nil || !info.IsDir():
		return errors.New("no such folder")
	}
	return nil
}

// checkout writes the files of a ref into the builder's own folder.
func (b *GoBuilder) checkout(ctx context.Context, dir, ref string) (goTree, error) {
	fail := func(err error) (goTree, error) {
		return goTree{}, fmt.Errorf("cannot check out ref %q of %q: %w", ref, dir, err)
	}
	if err := b.enterable(dir); err != nil {
		return fail(err)
	}
	commit, err := b.git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		if _, rerr := b.git(ctx, dir, nil, "rev-parse", "--git-dir"); rerr != nil {
			return fail(rerr)
		}
		return fail(errors.New("it names no commit"))
	}
	prefix, err := b.git(ctx, dir, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return fail(err)
	}
	gitDir, err := b.git(ctx, dir, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return fail(err)
	}
	// Folders of one length, whatever the ref is called.
	top := filepath.Join(b.temp.dir, "src", commit)
	if err := os.MkdirAll(top, 0o755); err != nil {
		return fail(err)
	}
	if err := b.writeFiles(ctx, gitDir, commit, top); err != nil {
		return fail(err)
	}
	if err := b.submodules(ctx, dir, top); err != nil {
		return fail(err)
	}
	sub := filepath.Join(top, filepath.FromSlash(prefix))
	if info, err := os.Stat(sub); err != nil || !info.IsDir() {
		return fail(fmt.Errorf("it has no folder %q", prefix))
	}
	return goTree{dir: sub, commit: commit}, nil
}

// writeFiles writes the files of a commit into a folder, with an index of our
// own, which then holds them.
func (b *GoBuilder) writeFiles(ctx context.Context, gitDir, commit, to string) error {
	// What would write into the repository, or leave files out, is off.
	off := []string{"-c", "core.splitIndex=false", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.sparseCheckout=false",
		"-c", "core.hooksPath=/dev/null", "-c", "core.bare=false", "-c", "submodule.recurse=false"}
	for _, args := range [][]string{{"read-tree", commit}, {"checkout-index", "--all", "--force", "--quiet"}} {
		if _, err := b.git(ctx, to, b.ownIndex(gitDir, to), append(off[:len(off):len(off)], args...)...); err != nil {
			return err
		}
	}
	return nil
}

// ownIndex has git use a repository with our own index and another folder.
func (b *GoBuilder) ownIndex(gitDir, to string) []string {
	return []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + to, "GIT_INDEX_FILE=" + filepath.Join(b.temp.dir, "index")}
}

// submodules writes the files of the submodules that the user's tree holds, and
// of theirs, at the commits that the tree just written into a folder has. One
// that is empty in the user's tree stays empty, as it is for ".".
func (b *GoBuilder) submodules(ctx context.Context, dir, to string) error {
	home, err := b.git(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return ctx.Err() // a repository without a working tree has none
	}
	gitDir, err := b.git(ctx, dir, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	listed, err := b.git(ctx, to, b.ownIndex(gitDir, to), "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(listed, "\x00") {
		// mode, object and stage, a tab, the path; 160000 is a submodule's mode
		words, path, _ := strings.Cut(entry, "\t")
		link := strings.Fields(words)
		if len(link) != 3 || link[0] != "160000" {
			continue
		}
		theirs := filepath.Join(home, filepath.FromSlash(path))
		if _, err := os.Lstat(filepath.Join(theirs, ".git")); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := b.submodule(ctx, theirs, link[1], filepath.Join(to, filepath.FromSlash(path))); err != nil {
			return fmt.Errorf("submodule %q: %v", path, err)
		}
	}
	return nil
}

// submodule writes one submodule, and those in it.
func (b *GoBuilder) submodule(ctx context.Context, dir, commit, to string) error {
	if _, err := b.git(ctx, dir, nil, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return fmt.Errorf("commit %s is not in %q (git fetch there brings it)", commit, dir)
	}
	gitDir, err := b.git(ctx, dir, nil, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := b.writeFiles(ctx, gitDir, commit, to); err != nil {
		return err
	}
	return b.submodules(ctx, dir, to)
}

// git runs git and returns its stdout without the newline at the end.
func (b *GoBuilder) git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	file, err := b.as.lookUp("git", b.env)
	if err != nil {
		return "", err
	}
	cmd := b.command(ctx, dir, file, args...)
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(said.String())
		if text == "" {
			text = err.Error()
		}
		return "", fmt.Errorf("git %s: %s", args[len(args)-1], beginning(text))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

package harness

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Packages lists the packages that a task's pattern matches and that have a
// benchmark which bench matches, each as a path relative to the task's folder:
// "./parse". Nothing is built for it.
func (b *GoBuilder) Packages(ctx context.Context, t GoTask, bench string) (found []string, err error) {
	err = b.as.do(func() error {
		found, err = b.list(ctx, t, bench)
		return err
	})
	return found, err
}

func (b *GoBuilder) list(ctx context.Context, t GoTask, bench string) ([]string, error) {
	tree, err := b.tree(ctx, t.Dir, t.Ref)
	if err != nil {
		return nil, err
	}
	const format = "{{.Dir}}\x1f{{.ImportPath}}\x1f{{range .TestGoFiles}}{{.}}\x1e{{end}}{{range .XTestGoFiles}}{{.}}\x1e{{end}}"
	var out bytes.Buffer
	args := append([]string{"list", "-f", format}, tagFlags(t.Tags)...)
	if err := b.goCommand(ctx, tree, &t, &out, append(args, t.Package)...); err != nil {
		return nil, err
	}
	base, err := filepath.EvalSymlinks(tree.dir)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %v", t.label(), err)
	}
	var found []string
	for line := range strings.Lines(out.String()) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\x1f")
		if len(fields) != 3 {
			continue // what a tool of the toolchain line says on stdout
		}
		has, err := hasBenchmark(fields[0], strings.Split(fields[2], "\x1e"), bench)
		if err != nil {
			return nil, fmt.Errorf("cannot list %s: %v", t.label(), err)
		}
		if !has {
			continue
		}
		name := fields[1]
		if rel, err := filepath.Rel(base, fields[0]); err == nil && filepath.IsLocal(rel) {
			name = "./" + filepath.ToSlash(rel)
		}
		found = append(found, strings.TrimSuffix(name, "/."))
	}
	return found, nil
}

// hasBenchmark looks for a benchmark in the test files of a package.
func hasBenchmark(dir string, files []string, bench string) (bool, error) {
	for _, name := range files {
		if name == "" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Benchmark") && matchesBench(bench, fn.Name.Name)
		}) {
			return true, nil
		}
	}
	return false, nil
}

// matchesBench says whether a -bench pattern can match a top-level benchmark.
func matchesBench(bench, name string) bool {
	for _, alternative := range splitPattern(bench, '|') {
		re, err := regexp.Compile(splitPattern(alternative, '/')[0])
		if err == nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

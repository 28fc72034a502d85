// Package arch holds the import policy of the project as a test: who may
// import whom, and which outside module may be used where. An arrow that runs
// another way fails the build; the remedy is to move the code, not the table.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// may lists, for each package, the packages of ours that it may import. A name
// that ends in "/..." stands for the package and all below it.
var may = map[string][]string{
	"cpulist":               {},
	"metric":                {},
	"stats":                 {},
	"internal/texttab":      {},
	"internal/arch":         {},
	"internal/cli":          {},
	"internal/clitest":      {},
	"internal/publicdata":   {},
	"internal/lazy":         {},
	"internal/load":         {},
	"internal/vmtest":       {"internal/vmtest/wire"},
	"internal/vmtest/wire":  {},
	"internal/vmtest/proof": {"internal/vmtest", "harness", "isolation"},
	"internal/vmtest/agent": {"internal/vmtest/wire"},
	"experiments":           {},
	"experiments/*":         {},
	"host":                  {"cpulist"},
	"host/doctor":           {"cpulist", "host"},
	"rank":                  {"cpulist", "host"},
	"isolation":             {"cpulist", "host", "internal/lazy"},
	"workloads":             {"metric"},
	"workloads/*":           {"metric", "workloads/..."},
	"harness":               {"cpulist", "metric", "host", "rank", "isolation", "internal/lazy", "internal/load"},
	"report":                {"cpulist", "metric", "stats", "internal/texttab", "internal/lazy", "host", "rank", "isolation", "harness"},
	"cmd/*":                 {"..."},
	"scripts/*":             {"..."},
}

// only lists the outside modules that belong to some packages alone.
var only = map[string][]string{
	"github.com/BurntSushi/toml": {"harness"},
	"github.com/spf13/viper":     {"cmd/*"},
	"github.com/spf13/cobra":     {"cmd/*", "internal/clitest"},
	"github.com/spf13/pflag":     {"cmd/*", "internal/clitest"},
	"gonum.org/v1/gonum":         {"stats", "report", "scripts/*"},
	"gonum.org/v1/plot":          {"report"},
	"golang.org/x/sys/unix":      {"host", "isolation", "internal/vmtest/..."},
}

// forTests are ours that tests may import anywhere, and nothing else may.
var forTests = []string{"internal/clitest", "internal/publicdata"}

// testOnly and browser run whole commands and drive Chromium: modules of tests
// and of what is for tests.
const (
	testOnly = "github.com/rogpeppe/go-internal/testscript"
	browser  = "github.com/chromedp"
)

func TestImports(t *testing.T) {
	const root = "../.."
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		files++
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		checkFile(t, name, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Fatalf("read %d files below %s: the policy was not tested", files, root)
	}
}

func checkFile(t *testing.T, name, rel string) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	pkg := path.Dir(rel)
	allowed, known := rule(may, pkg)
	if !known {
		t.Errorf("%s: package %q has no rule: add it to the house on purpose", rel, pkg)
		return
	}
	for _, imp := range f.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			t.Error(err)
			continue
		}
		if why := refuse(pkg, p, allowed, strings.HasSuffix(rel, "_test.go")); why != "" {
			t.Errorf("%s: imports %q: %s", rel, p, why)
		}
	}
}

// refuse says why pkg may not import p; "" when it may.
func refuse(pkg, p string, allowed []string, inTest bool) string {
	if ours, ok := strings.CutPrefix(p, "goset/"); ok {
		if inTest && ours == "experiments" {
			return "" // test data for whoever decodes experiments
		}
		if slices.Contains(forTests, ours) {
			if inTest {
				return ""
			}
			return "it is for tests"
		}
		if ours == pkg || slices.ContainsFunc(allowed, func(a string) bool { return matches(a, ours) }) {
			return ""
		}
		return "that arrow is not in the design"
	}
	if (p == testOnly || strings.HasPrefix(p, browser+"/")) && !inTest && !slices.Contains(forTests, pkg) {
		return "it is for tests"
	}
	for module, where := range only {
		if p != module && !strings.HasPrefix(p, module+"/") {
			continue
		}
		if !slices.ContainsFunc(where, func(w string) bool { return matches(w, pkg) }) {
			return "only " + strings.Join(where, ", ") + " may"
		}
	}
	return ""
}

func rule(rules map[string][]string, pkg string) ([]string, bool) {
	if r, ok := rules[pkg]; ok {
		return r, true
	}
	for pattern, r := range rules {
		if matches(pattern, pkg) {
			return r, true
		}
	}
	return nil, false
}

// matches reports whether pkg is pattern, one level below "x/*", or anywhere
// at or below "x/...".
func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(pkg) == base
	}
	return pattern == pkg
}

func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		pkg, imp string
		test, ok bool
	}{
		{"stats", "goset/harness", false, false},
		{"harness", "goset/report", false, false},
		{"harness", "goset/isolation", false, true},
		{"workloads/jitter", "goset/workloads", false, true},
		{"workloads/jitter", "goset/host", false, false},
		{"report", "github.com/BurntSushi/toml", false, false},
		{"harness", "github.com/BurntSushi/toml", false, true},
		{"harness", "golang.org/x/sys/unix", false, false},
		{"harness", "golang.org/x/sys/cpu", false, true},
		{"stats", "gonum.org/v1/gonum/stat/distuv", false, true},
		{"host", "gonum.org/v1/gonum/stat", false, false},
		{"harness", testOnly, false, false},
		{"cmd/goset-bench", testOnly, true, true},
		{"internal/clitest", testOnly, false, true},
		{"cmd/goset", "goset/internal/clitest", true, true},
		{"cmd/goset", "goset/internal/clitest", false, false},
		{"stats", "goset/internal/publicdata", true, true},
		{"stats", "goset/internal/publicdata", false, false},
		{"report", browser + "/chromedp", true, true},
		{"report", browser + "/chromedp", false, false},
		{"report", "gonum.org/v1/plot/plotter", false, true},
		{"stats", "gonum.org/v1/plot", false, false},
	} {
		allowed, known := rule(may, c.pkg)
		if !known {
			t.Fatalf("no rule for %q", c.pkg)
		}
		if got := refuse(c.pkg, c.imp, allowed, c.test) == ""; got != c.ok {
			t.Errorf("%s importing %s: allowed %v, want %v", c.pkg, c.imp, got, c.ok)
		}
	}
}

// TestOneLineMains holds every command to a main of one statement: everything
// else takes its streams and arguments as parameters.
func TestOneLineMains(t *testing.T) {
	mains, err := filepath.Glob("../../cmd/*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("commands: %v, %v", mains, err)
	}
	for _, name := range mains {
		if n := statementsOfMain(t, name); n != 1 {
			t.Errorf("%s: main has %d statements, want 1", name, n)
		}
	}
}

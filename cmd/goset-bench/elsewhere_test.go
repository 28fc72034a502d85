package main

import (
	"encoding/json"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goset/internal/clitest"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestWithoutLinux runs goset-bench as it is on a Mac. It is built for this
// system from the files that are macOS's: what stands behind "!linux" runs, and
// nothing that is Linux's is in the binary. What macOS itself does is not
// tested by it.
func TestWithoutLinux(t *testing.T) {
	bin := t.TempDir()
	cmd := exec.Command("go", "build", "-overlay", macOverlay(t), "-o", filepath.Join(bin, "goset-bench"), ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/elsewhere",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", e.WorkDir+"/bin:"+bin+":"+e.Getenv("PATH"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
			if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
				e.Setenv("HOST_GOCACHE", strings.TrimSpace(string(out)))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": clitest.Exits},
	})
}

// macOverlay is a file for go build -overlay that swaps our files for those of
// macOS, and the name of the system with them.
func macOverlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	swapped := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".s" {
			return err
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		here, there := build.Default, build.Default
		there.GOOS = "darwin"
		isHere, err1 := here.MatchFile(filepath.Dir(full), d.Name())
		isThere, err2 := there.MatchFile(filepath.Dir(full), d.Name())
		if err1 != nil || err2 != nil {
			return nil // a file that is no Go, below testdata
		}
		switch {
		case isHere && !isThere:
			replace[full] = "" // not there
		case isThere:
			text, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			mac := regexp.MustCompile(`(?m)^//go:build .*$`).ReplaceAllString(string(text), "")
			mac = strings.ReplaceAll(mac, "runtime.GOOS", `"dar"+"win"+runtime.GOOS[:0]`)
			if isHere && mac == string(text) {
				return nil
			}
			swapped++
			copied := filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "+"))
			replace[full] = copied
			return os.WriteFile(copied, []byte(mac), 0o644)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if swapped < 10 {
		t.Fatalf("%d files are macOS's own: the rest would be Linux", swapped)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// Package publicdata finds, for tests, the collected public inputs: kernel
// files, machine dumps and other tools' answers, which are too large and too
// much other people's to stand in this tree.
package publicdata

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Variable names the folder of the inputs. Without it they are looked for
// beside the checkout, and a test whose inputs are not there skips.
const Variable = "GOSET_TEST_DATA"

// Path is a file or folder of the inputs. Where it is absent the test skips,
// and fails if somebody said by the variable that it is there.
func Path(t testing.TB, name string) string {
	t.Helper()
	root, promised := os.LookupEnv(Variable)
	if !promised {
		root = filepath.Join(module(t), "..", "shared", "data")
	}
	path := filepath.Join(root, name)
	switch _, err := os.Stat(path); {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && !promised:
		t.Skipf("no public inputs here: %v (set %s to their folder)", err, Variable)
	default:
		t.Fatalf("cannot find public inputs: %v", err)
	}
	return path
}

// module is the folder of go.mod: a test starts in that of its package.
func module(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			t.Fatalf("cannot find the module's folder: %v", err)
		}
		dir = up
	}
}

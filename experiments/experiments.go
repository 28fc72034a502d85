// Package experiments holds the experiment files that are built into
// goset-bench, so that `goset-bench run quickstart` needs no file.
package experiments

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.toml
var files embed.FS

//go:embed makebuffer/*.go
var benchmarks embed.FS

// Benchmarks are the bundled Go benchmarks: a folder with the files of one
// package each, without a go.mod.
func Benchmarks() fs.FS { return benchmarks }

// Names are the names of the experiments, without ".toml", in the order of
// the alphabet.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("experiments: cannot list the embedded files: " + err.Error()) // the compiler put them there
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	slices.Sort(names) // without their endings they have another order
	return names
}

// Read is the text of an experiment.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("cannot read experiment %q: it is none of %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}

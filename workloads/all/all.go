// Package all is the table of the bundled kernels by name, for commands that
// get a kernel's name and parameters as text.
package all

import (
	"fmt"
	"io"
	"strings"

	"goset/workloads"
	"goset/workloads/chase"
	"goset/workloads/jitter"
	"goset/workloads/matmul"
	"goset/workloads/stream"
)

// Kernel is one bundled kernel.
type Kernel struct {
	Name   string
	Params []workloads.Param
	run    func(params map[string]string, stdout io.Writer) error
}

// Kernels returns the kernels in the order of the published table.
func Kernels() []Kernel {
	return []Kernel{
		{jitter.Name, jitter.Params(), runner(jitter.Parse, jitter.Run)},
		{chase.Name, chase.Params(), runner(chase.Parse, chase.Run)},
		{matmul.Name, matmul.Params(), runner(matmul.Parse, matmul.Run)},
		{stream.Name, stream.Params(), runner(stream.Parse, stream.Run)},
	}
}

func runner[C any](parse func(map[string]string) (C, error), run func(C, io.Writer) error) func(map[string]string, io.Writer) error {
	return func(params map[string]string, stdout io.Writer) error {
		cfg, err := parse(params)
		if err != nil {
			return err
		}
		return run(cfg, stdout)
	}
}

// Run runs the named kernel; parameters that are left out have their default.
// Faults of usage are (joined) *workloads.ParamError: errors.As finds them.
// Nothing is written before the measurement has ended.
func Run(name string, params map[string]string, stdout io.Writer) error {
	var names []string
	for _, k := range Kernels() {
		if k.Name == name {
			return k.run(params, stdout)
		}
		names = append(names, k.Name)
	}
	return &workloads.ParamError{Kernel: name, Param: "kernel", Rule: fmt.Sprintf("must be one of %s", strings.Join(names, ", ")), Value: name}
}

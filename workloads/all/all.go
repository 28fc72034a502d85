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
	"goset/workloads/yield"
)

// Kernel is one bundled kernel.
type Kernel struct {
	Name   string
	Params []workloads.Param
	run    func(params map[string]string, stdout io.Writer) error
	check  func(params map[string]string) error
}

// Kernels returns the kernels in the order of the published table.
func Kernels() []Kernel {
	return []Kernel{
		{jitter.Name, jitter.Params(), runner(jitter.Parse, jitter.Run), checker(jitter.Parse, anywhere)},
		{chase.Name, chase.Params(), runner(chase.Parse, chase.Run), checker(chase.Parse, anywhere)},
		{matmul.Name, matmul.Params(), runner(matmul.Parse, matmul.Run), checker(matmul.Parse, func(c matmul.Config) error { return path(matmul.Name, c.Path) })},
		{stream.Name, stream.Params(), runner(stream.Parse, stream.Run), checker(stream.Parse, func(c stream.Config) error { return path(stream.Name, c.Path) })},
		{yield.Name, yield.Params(), runner(yield.Parse, yield.Run), checker(yield.Parse, func(c yield.Config) error { return yield.Available(c.Yield) })},
	}
}

// anywhere is for kernels that run on every machine and with every toolchain.
func anywhere[C any](C) error { return nil }

func path(kernel, want string) error {
	_, err := workloads.ResolvePath(kernel, want)
	return err
}

func checker[C any](parse func(map[string]string) (C, error), available func(C) error) func(map[string]string) error {
	return func(params map[string]string) error {
		cfg, err := parse(params)
		if err != nil {
			return err
		}
		return available(cfg)
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
	k, err := find(name)
	if err != nil {
		return err
	}
	return k.run(params, stdout)
}

// Check returns the error that Run would give before it measures anything: of
// parameters, and of what this machine or this toolchain does not have.
func Check(name string, params map[string]string) error {
	k, err := find(name)
	if err != nil {
		return err
	}
	return k.check(params)
}

func find(name string) (Kernel, error) {
	var names []string
	for _, k := range Kernels() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kernel{}, &workloads.ParamError{Kernel: name, Param: "kernel", Rule: fmt.Sprintf("must be one of %s", strings.Join(names, ", ")), Value: name}
}

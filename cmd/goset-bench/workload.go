package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/workloads"
	"goset/workloads/all"
)

// kernelFault tells a parameter that breaks its rule from a kernel that failed.
func kernelFault(err error) error {
	var p *workloads.ParamError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return &exitError{exitUsage, err}
	}
	return failed(err)
}

// kernelFindings asks every kernel of an experiment whether it can run here with
// its parameters, before anything runs: the instructions of a path, or a
// function of the toolchain, may be missing. Each fault is there once.
func kernelFindings(e *harness.Experiment) ([]error, error) {
	treatments, err := e.Treatments()
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	var found []error
	for i := range treatments {
		spec := &treatments[i].Spec
		if spec.Kernel == "" {
			continue
		}
		params := map[string]string{}
		for _, p := range spec.Params {
			params[p.Name] = p.Levels[0]
		}
		err := all.Check(spec.Kernel, params)
		if err != nil && !slices.ContainsFunc(found, func(f error) bool { return f.Error() == err.Error() }) {
			found = append(found, err)
		}
	}
	return found, nil
}

// plainKernel reads "workload KERNEL -name value …" without the command tree,
// whose making alone costs a kernel's process half a millisecond of Go, in
// which the runtime's monitor thread wakes up some ten times. It knows only
// what experiments write; ok is false for all else (help, a fault), which the
// tree then answers.
func plainKernel(args []string) (k harness.Kernel, params map[string]string, ok bool) {
	if len(args) < 2 || args[0] != "workload" {
		return k, nil, false
	}
	kernels := harness.Kernels()
	i := slices.IndexFunc(kernels, func(k harness.Kernel) bool { return k.Name == args[1] })
	if i < 0 {
		return k, nil, false
	}
	k, params = kernels[i], map[string]string{}
	for rest := args[2:]; len(rest) > 0; {
		name, value, glued := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(rest[0], "-"), "-"), "=")
		j := slices.IndexFunc(k.Params, func(p harness.KernelParam) bool { return p.Name == name })
		switch {
		case j < 0 || !strings.HasPrefix(rest[0], "-"):
			return k, nil, false
		case glued:
			rest = rest[1:]
		case k.Params[j].Kind == "bool":
			value, rest = "true", rest[1:]
		case len(rest) < 2:
			return k, nil, false
		default:
			value, rest = rest[1], rest[2:]
		}
		if _, twice := params[name]; twice {
			return k, nil, false
		}
		params[name] = value
	}
	return k, params, true
}

// runPlain runs what plainKernel reads. done is false where the command tree
// must answer; nothing has run then.
func (a *app) runPlain(args []string) (code int, done bool) {
	k, params, ok := plainKernel(args)
	if !ok {
		return 0, false
	}
	err := all.Run(k.Name, params, a.stdout)
	var p *workloads.ParamError
	switch {
	case err == nil:
		return exitDone, true
	case errors.As(err, &p):
		return 0, false
	}
	fmt.Fprintf(a.stderr, "goset-bench: %v\n", err)
	return exitFailed, true
}

// workloadCommand has one command per bundled kernel, with the flags that
// harness.Kernels describes: an experiment's keys and these flags are one table.
func (a *app) workloadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload KERNEL",
		Short: "Run a bundled kernel in this process and print its benchmark lines",
		Long: `workload runs one kernel and prints a line per iteration in the Go benchmark
format, so that benchstat reads it too. Experiments start kernels this way.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("cannot run a workload: name a kernel: %s", kernelNames())
			}
			return usagef("cannot run workload %q: the kernels are %s", args[0], kernelNames())
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	for _, k := range harness.Kernels() {
		cmd.AddCommand(a.kernelCommand(k))
	}
	return cmd
}

func kernelNames() string {
	var names []string
	for _, k := range harness.Kernels() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

func (a *app) kernelCommand(k harness.Kernel) *cobra.Command {
	cmd := &cobra.Command{
		Use:   k.Name,
		Short: "Run the " + k.Name + " kernel: " + k.Short,
		Long:  k.Long,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := map[string]string{}
			for _, p := range k.Params {
				params[p.Name] = cmd.Flags().Lookup(p.Name).Value.String()
			}
			return kernelFault(all.Run(k.Name, params, a.stdout))
		},
	}
	for _, p := range k.Params {
		switch p.Kind {
		case "bool":
			cmd.Flags().Bool(p.Name, p.Default == "true", p.Help)
		case "int":
			n, _ := strconv.ParseInt(p.Default, 10, 64)
			cmd.Flags().Int64(p.Name, n, p.Help)
		case "duration":
			d, _ := time.ParseDuration(p.Default)
			cmd.Flags().Duration(p.Name, d, p.Help)
		default:
			cmd.Flags().String(p.Name, p.Default, fmt.Sprintf("%s: one of %v", p.Help, p.Words))
		}
	}
	return cmd
}

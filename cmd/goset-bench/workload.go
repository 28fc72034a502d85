package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"goset/harness"
	"goset/workloads"
	"goset/workloads/all"
)

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
	names := ""
	for i, k := range harness.Kernels() {
		if i > 0 {
			names += ", "
		}
		names += k.Name
	}
	return names
}

func (a *app) kernelCommand(k harness.Kernel) *cobra.Command {
	cmd := &cobra.Command{
		Use:   k.Name,
		Short: "Run the " + k.Name + " kernel",
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
		default:
			cmd.Flags().String(p.Name, p.Default, fmt.Sprintf("%s: one of %v", p.Help, p.Words))
		}
	}
	return cmd
}

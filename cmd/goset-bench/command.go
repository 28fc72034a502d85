package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"goset/internal/cli"
)

// The exit codes of goset-bench.
const (
	exitDone        = 0
	exitFailed      = 1 // a run or a layer failed
	exitUsage       = 2 // usage or experiment faults
	exitWorse       = 3 // -fail-on: something is surely worse
	exitUnresolved  = 4 // -strict: a comparison cannot be told from its bound
	exitInterrupted = 130
)

// exitError carries the exit code that an error stands for.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef is for what the caller typed: exit code 2.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// failed is for what went wrong while doing it: exit code 1.
func failed(err error) error { return &exitError{exitFailed, err} }

// app is what the commands share: the streams.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin, stdout, stderr}
	if code, done := a.runPlain(args); done {
		return code
	}
	if code, done := a.runHelper(args); done {
		return code
	}
	root := a.root()
	if err := completeFlags(root); err != nil {
		fmt.Fprintf(stderr, "goset-bench: cannot prepare completion: %v\n", err)
		return exitFailed
	}
	root.SetArgs(cli.OneDash(args))
	root.SetIn(stdin)
	out := &cli.CheckedWriter{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var e *exitError
	known := errors.As(err, &e)
	if out.Err != nil && !known {
		err = failed(fmt.Errorf("cannot print: %v", out.Err))
		known = errors.As(err, &e)
	}
	if err == nil {
		return exitDone
	}
	if !known {
		// cobra's own errors are all about what was typed.
		e = &exitError{exitUsage, err}
	}
	fmt.Fprintf(stderr, "goset-bench: %v\n", e.err)
	if e.code == exitUsage && e == err {
		return e.code
	}
	if e.code == exitUsage {
		fmt.Fprintf(stderr, "Try '%s -h'.\n", cmd.CommandPath())
	}
	return e.code
}

// root builds the command tree anew for every call: nothing is global.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "goset-bench",
		Short:         "Run benchmark experiments under modes of CPU isolation",
		Long:          rootHelp,
		Version:       cli.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(noSuchFlag)
	root.SetVersionTemplate("goset-bench {{.Version}}\n")
	root.AddCommand(a.runCommand(), a.goCommand(), a.planCommand(), a.resumeCommand(), a.reportCommand(), a.listCommand(), a.workloadCommand(),
		a.compareCommand(), a.aaCommand(), a.doctorCommand(), a.restoreCommand(), a.guardCommand())
	return root
}

// noSuchCommand refuses words that are no command, with the one that was meant.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), cli.Nearest(args[0], names))
}

// noSuchFlag adds to pflag's error the flag that was meant.
func noSuchFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) == 1 {
		return err // one letter is near every other
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "-"+f.Name) })
	return fmt.Errorf("%w%s", err, cli.Nearest("-"+unknown.GetSpecifiedName(), names))
}

const rootHelp = `goset-bench runs declared experiments. A TOML file names workloads (bundled
kernels or any command), modes (unpinned, pinned, isolated) and conditions
(background load); goset-bench expands them into a randomized run matrix, runs every cell in a process of its
own, and prints median, interval, sd and spread per mode, with CSV beside it.

  goset-bench run quickstart            four kernels under three modes, a minute
  goset-bench run three-conditions      a Go benchmark idle, loaded, and pinned
  goset-bench plan published            what a file would do here; changes nothing
  goset-bench run -runs 10 -- ./task    any command, without a file
  goset-bench go -ref main -ref . ./... Go benchmarks of two refs
  goset-bench compare MONDAY TUESDAY    which cells differ, and how sure that is
  goset-bench report DAY1 DAY2 DAY3     intervals over sessions of one experiment
  goset-bench aa quickstart             the noise floor of this machine
  goset-bench doctor                    what on this machine will spoil numbers

Flags may be written with one dash or two. Exit codes: 0 done, 1 a run or a
layer failed, 2 usage or experiment faults, 3 worse than -fail-on allows, 4
with -strict that cannot be told, 130 interrupted.`

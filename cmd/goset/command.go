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

// exitFailed is goset's own failure. A command that ran has its own status,
// 128+n for signal n; 126 and 127 are as shells have them.
const exitFailed = 1

// exitError carries an exit code through an error.
type exitError struct {
	code int
	err  error // nil: there is nothing to say
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is for what the caller typed.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// app is what the commands share: the streams. The task has the process's own.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	opt            options
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(cli.OneDash(args))
	root.SetIn(stdin)
	help := &cli.CheckedWriter{Writer: stdout}
	root.SetOut(help)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = help.Err
	}
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		if e.err != nil {
			fmt.Fprintf(stderr, "goset: %v\n", e.err)
		}
		return e.code
	}
	fmt.Fprintf(stderr, "goset: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(stderr, "Try '%s -h'.\n", cmd.CommandPath())
	}
	return exitFailed
}

// root builds the command tree anew for every call: nothing is global.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "goset [flags] [-- COMMAND [ARG...]]",
		Short: "Run one command on the quietest CPUs and explain its variance",
		Long:  rootHelp,
		Example: `  goset -- ./task                      # one quiet CPU, no root
  goset -n 5 -- ./task                 # five CPUs, one shared mask
  sudo goset -n 1 -cgroup -steer -fence -- ./task
  sudo goset -n 1 -cgroup -steer -plan # what that would change, without doing it
  goset                                # what is this machine, and what can be done on it`,
		Version:           cli.Version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE:              a.dispatch,
	}
	root.SetVersionTemplate("goset {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SetGlobalNormalizationFunc(dashes)
	a.opt.addOutput(root.Flags())
	a.opt.addSysroot(root.Flags())
	a.opt.addState(root.Flags())
	a.opt.addCount(root.Flags())
	a.opt.addChoice(root.Flags())
	a.opt.addLayers(root.Flags())
	a.opt.addTask(root.Flags())
	root.AddCommand(a.rankCommand(), a.auditCommand(), a.restoreCommand(), a.guardCommand())
	return root
}

// dashes lets the keys of a mode be written as they stand in a file:
// -stable_env is -stable-env.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	text := []byte(name)
	for i, c := range text {
		if c == '_' {
			text[i] = '-'
		}
	}
	return pflag.NormalizedName(text)
}

const rootHelp = `goset ranks the CPUs of this machine by how little they are disturbed, runs one
command on the quietest, keeps itself off them, and reports on stderr what the
operating system did to the command. Without a command it shows the machine and
what can be done on it.

Everything after "--" is the command's. It has the terminal, stdin, stdout and
stderr, gets the signals that goset gets, and its exit status is goset's (128+n
for signal n, 127 not found, 126 not runnable, 1 when goset itself failed).

Flags may be written with one dash or two.`

// dispatch is goset itself: with a command, a shell, or neither.
func (a *app) dispatch(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash < 0 && len(args) > 0, dash > 0:
		return usagef("unknown command %q%s; a command to run stands after --: goset -- %s",
			args[0], cli.Nearest(args[0], names(cmd)), args[0])
	case a.opt.plan:
		return a.plan(cmd, args)
	case dash == 0 && len(args) == 0:
		return usagef("cannot run: no command after --")
	case a.opt.shell && dash == 0:
		return usagef("cannot run both -shell and a command: give one of them")
	case dash == 0 || a.opt.shell:
		return a.task(cmd, args)
	}
	return a.show(cmd)
}

func names(cmd *cobra.Command) []string {
	var all []string
	for _, c := range cmd.Commands() {
		all = append(all, c.Name())
	}
	return all
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goset/experiments"
	"goset/harness"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the shipped experiments, the bundled kernels and the results here",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			prefs, err := readPreferences(cmd.Flags())
			if err != nil {
				return err
			}
			return a.list(cmd.OutOrStdout(), prefs.text("results", defaultResults))
		},
	}
}

// list prints the three kinds of thing that other commands take by name.
func (a *app) list(w io.Writer, results string) error {
	width := 0 // of the names of both lists
	for _, name := range experiments.Names() {
		width = max(width, len(name))
	}
	fmt.Fprintln(w, "experiments (goset-bench run NAME, or a file of your own):")
	for _, name := range experiments.Names() {
		text, err := experiments.Read(name)
		if err != nil {
			return failed(err)
		}
		e, err := harness.Load(name+".toml", text, harness.LoadOptions{})
		if err != nil {
			return failed(err)
		}
		fmt.Fprintf(w, "  %-*s  %s\n", width, name, e.Title)
	}
	fmt.Fprintln(w, "kernels (goset-bench workload NAME -h):")
	for _, k := range harness.Kernels() {
		fmt.Fprintf(w, "  %-*s  %s\n  %-*s  %s\n", width, k.Name, k.Short, width, "", kernelParams(k))
	}
	return listResults(w, results)
}

func kernelParams(k harness.Kernel) string {
	var parts []string
	for _, p := range k.Params {
		parts = append(parts, p.Name+"="+p.Default)
	}
	return strings.Join(parts, " ")
}

// listResults lists the result folders below dir, in the order of their names,
// which begin with the experiment and end with the time.
func listResults(w io.Writer, dir string) error {
	manifests, err := filepath.Glob(filepath.Join(dir, "*", "manifest.json"))
	if err != nil {
		return failed(fmt.Errorf("cannot list results in %q: %v", dir, err))
	}
	fmt.Fprintf(w, "results in %s (goset-bench report DIR):\n", dir)
	for _, m := range manifests {
		info, err := os.Stat(m)
		if err != nil {
			fmt.Fprintf(w, "  %s (%v)\n", filepath.Dir(m), err)
			continue
		}
		fmt.Fprintf(w, "  %s  %s\n", filepath.Dir(m), info.ModTime().Format(time.DateTime))
	}
	if len(manifests) == 0 {
		fmt.Fprintln(w, "  none")
	}
	return nil
}

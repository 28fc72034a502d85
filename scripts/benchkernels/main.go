// Command benchkernels holds the bundled kernels to their plain C forms.
//
// Both run pinned to the same CPU, alternating in short runs, so that a change
// of the machine's speed meets both; a pair of neighbours gives one ratio, and
// the median ratio counts. A run's own value is its median iteration. Context
// switches are those of the whole run as wait4 gives them, children included;
// others that want the CPU can only add to them, so the least of the runs
// counts.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"goset/workloads/matmul"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are the command's flags.
type options struct {
	binary string
	cpu    int
	pairs  int
	only   string
	peak   string
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("bench-kernels", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "goset-bench", "", "the goset-bench to measure; empty: build ./cmd/goset-bench")
	flags.IntVar(&o.cpu, "cpu", -1, "the CPU that everything is pinned to; -1: the last one allowed")
	flags.IntVar(&o.pairs, "pairs", 9, "alternated pairs of runs per target")
	flags.StringVar(&o.only, "only", "", "measure only targets whose name contains this")
	flags.StringVar(&o.peak, "peak", "", "print the peak of this matmul path and end (used by the command itself)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	missed, err := bench(o, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "bench-kernels:", err)
		return 1
	}
	if missed > 0 {
		fmt.Fprintf(stderr, "bench-kernels: %d targets missed\n", missed)
		return 1
	}
	return 0
}

func bench(o options, stdout io.Writer) (missed int, err error) {
	if o.peak != "" {
		return 0, printPeak(o.peak, stdout)
	}
	if o.pairs < 1 {
		return 0, fmt.Errorf("pairs must be at least 1, got %d", o.pairs)
	}
	dir, err := os.MkdirTemp("", "bench-kernels-")
	if err != nil {
		return 0, fmt.Errorf("cannot make a build folder: %w", err)
	}
	defer os.RemoveAll(dir)
	p, err := build(o, dir)
	if err != nil {
		return 0, err
	}
	if p.cpu, err = chooseCPU(o.cpu); err != nil {
		return 0, err
	}
	fmt.Fprintf(stdout, "CPU %d, %d pairs of runs each, load %s\n", p.cpu, o.pairs, loadAverage())
	if !p.hasC {
		fmt.Fprintln(stdout, "gcc is not there: only what needs no C form is measured")
	}
	for _, t := range targets() {
		if !strings.Contains(t.name, o.only) || (t.needsC() && !p.hasC) {
			continue
		}
		n, err := p.measure(t, o.pairs, stdout)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", t.name, err)
		}
		missed += n
	}
	return missed, nil
}

// printPeak prints in the format of the kernels, so that one parser reads all.
func printPeak(path string, stdout io.Writer) error {
	slices, err := matmul.Peak(path, 150*time.Millisecond)
	for _, flops := range slices {
		fmt.Fprintf(stdout, "BenchmarkPeak/path=%s 1 %.8g MFLOP/s\n", path, flops/1e6)
	}
	return err
}

// programs is where everything to be measured is.
type programs struct {
	dir  string // C forms by name, and outputs
	hasC bool
	self string
	tool string // goset-bench
	cpu  int
}

func build(o options, dir string) (*programs, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program: %w", err)
	}
	p := &programs{dir: dir, self: self, tool: o.binary}
	if p.tool == "" {
		p.tool = filepath.Join(dir, "goset-bench")
		if err := command("go", "build", "-o", p.tool, "./cmd/goset-bench"); err != nil {
			return nil, err
		}
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		return p, nil
	}
	p.hasC = true
	native := []string{"-O3", "-march=native"}
	for _, c := range []struct {
		form, source string
		flags        []string
	}{
		{"jitter", "jitter", []string{"-O2"}},
		{"chase", "chase", []string{"-O2"}},
		{"matmul", "matmul", native},
		{"stream", "stream", native},
		{"stream-loop", "stream", append(native[:2:2], "-fno-tree-loop-distribute-patterns")},
	} {
		args := append(c.flags, "-Wall", "-o", filepath.Join(dir, c.form), "scripts/kernels-c/"+c.source+".c", "-lm")
		if err := command("gcc", args...); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot run %s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

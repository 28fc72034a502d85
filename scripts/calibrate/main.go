// Command calibrate simulates the false-positive rate of every test and the
// coverage of every interval that a table of goset-bench prints, and writes
// them as Markdown. docs/calibration.md is its output:
//
//	go run ./scripts/calibrate > docs/calibration.md
//
// The stance: a level is what a test does on data that look like benchmark runs
// (tails, skew, spikes, rounds that have something in common), not what its
// derivation promises. Where a level leaves 0.03 to 0.065 or a 95% interval
// covers less than 0.92 the cell is bold and listed below the table.
//
// The pipeline: condition (law, round effect, n) → trials drawn from a seeded
// PCG → hits of every check → table. The same flags give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type config struct {
	trials int
	seed   uint64
	sizes  []int
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("calibrate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	trials := flags.Int("trials", 2000, "simulated experiments per condition")
	seed := flags.Uint64("seed", 1, "seed of the simulation")
	short := flags.Bool("short", false, "few trials at n = 6 and 10 only, as the tests run it")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if *trials < 1 {
		fmt.Fprintf(stderr, "calibrate: cannot simulate: -trials must be 1 or more, got %d\n", *trials)
		return 2
	}
	c := config{trials: *trials, seed: *seed, sizes: []int{6, 10, 20, 30}}
	if *short {
		c.trials, c.sizes = min(c.trials, 40), []int{6, 10}
	}
	results, err := simulate(c)
	if err == nil {
		err = write(stdout, c, results)
	}
	if err != nil {
		fmt.Fprintf(stderr, "calibrate: %v\n", err)
		return 1
	}
	return 0
}

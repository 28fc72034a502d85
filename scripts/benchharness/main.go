// Command benchharness measures goset-bench itself: whole processes, with
// hyperfine beside it in the same rounds. See scripts/bench-harness.
package main

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"goset/scripts/bench"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench-harness", flag.ContinueOnError)
	rounds := flags.Int("rounds", 11, "rounds of goset-bench and hyperfine, alternating")
	records := flags.Int("records", 1_000_000, "records of the report, runs of the plan")
	return bench.Run(flags, "goset-bench", args, stdout, stderr, func(b *bench.Bench) error {
		if err := againstHyperfine(b, *rounds); err != nil {
			return err
		}
		if err := plan(b, *records); err != nil {
			return err
		}
		return report(b, *records)
	})
}

// againstHyperfine alternates the two tools, also in who is first of a round, so
// that a change of the machine hits both, and compares medians over the rounds.
//
// Both run 1,000 times `true` without a warm-up and without a shell, with the
// same environment, in the same folder, with their own stdout thrown away. Where
// they differ, hyperfine has less to do: it gives its children /dev/null for
// stdout and stderr, and not pipes that are read; it writes one file at its end,
// and not a record on disk before each next run; and it waits for no disk.
func againstHyperfine(b *bench.Bench, rounds int) error {
	var total, median []float64 // ours over hyperfine's
	for i := range rounds {
		measure := []func() (trueRuns, error){
			func() (trueRuns, error) { return ourTrue(b, filepath.Join(b.Dir, "true-"+strconv.Itoa(i))) },
			func() (trueRuns, error) { return hyperfineTrue(b) },
		}
		var of [2]trueRuns
		for j := range of {
			which := (i + j) % 2
			var err error
			if of[which], err = measure[which](); err != nil {
				return err
			}
		}
		ours, theirs := of[0], of[1]
		fmt.Fprintf(b.Out, "round %d: total %.0f ms and hyperfine %.0f ms, median wall of true %.1f and %.1f µs\n",
			i+1, bench.Milliseconds(ours.total), bench.Milliseconds(theirs.total), ours.median*1e6, theirs.median*1e6)
		total = append(total, ours.total.Seconds()/theirs.total.Seconds())
		median = append(median, ours.median/theirs.median)
	}
	b.Most("1,000 runs of true: total over hyperfine's", bench.Median(total), 1, "×")
	b.Most("1,000 runs of true: median wall over hyperfine's", bench.Median(median), 1, "×")
	return nil
}

// trueRuns is what 1,000 runs of `true` took.
type trueRuns struct {
	total  time.Duration // the whole process
	median float64       // of the runs, in seconds
}

func ourTrue(b *bench.Bench, out string) (trueRuns, error) {
	u, err := bench.Measure(b.Dir, b.Tool, "run", "-runs", "1000", "-warmup", "0", "-set", "plan.control=false", "-modes", "unpinned", "-quiet", "-o", out, "--", "true")
	if err != nil {
		return trueRuns{}, err
	}
	median, err := medianWall(filepath.Join(out, "summary.csv"))
	return trueRuns{u.Wall, median}, err
}

func hyperfineTrue(b *bench.Bench) (trueRuns, error) {
	exported := filepath.Join(b.Dir, "hyperfine.json")
	u, err := bench.Measure(b.Dir, "hyperfine", "-N", "--runs", "1000", "--style", "none", "--export-json", exported, "true")
	if err != nil {
		return trueRuns{}, err
	}
	median, err := hyperfineMedian(exported)
	return trueRuns{u.Wall, median}, err
}

// medianWall reads the median of metric "wall" from a summary.csv, in seconds.
func medianWall(file string) (float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("cannot read %q: %v", file, err)
	}
	at := slices.Index(rows[0], "median")
	name := slices.Index(rows[0], "metric")
	for _, row := range rows[1:] {
		if row[name] == "wall" {
			return strconv.ParseFloat(row[at], 64)
		}
	}
	return 0, fmt.Errorf("cannot find metric wall in %q", file)
}

func hyperfineMedian(file string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var doc struct{ Results []struct{ Median float64 } }
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Results) != 1 {
		return 0, fmt.Errorf("cannot read %q: %v, %d results", file, err, len(doc.Results))
	}
	return doc.Results[0].Median, nil
}

// plan expands a large experiment in a process of its own.
func plan(b *bench.Bench, runs int) error {
	file := filepath.Join(b.Dir, "large.toml")
	text := fmt.Sprintf("title = \"large\"\n[plan]\nruns = %d\nwarmup = 0\n[workload.a]\ncommand = [\"true\"]\n[workload.b]\ncommand = [\"true\"]\n[mode.x]\n[mode.y]\n", runs/4)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	u, err := bench.Measure(b.Dir, b.Tool, "plan", file, "-runs-as", "csv")
	if err != nil {
		return err
	}
	b.Most(fmt.Sprintf("plan of %d runs", runs), u.Wall.Seconds(), 3, "s")
	b.Most(fmt.Sprintf("plan of %d runs", runs), u.Memory, 1, "GiB")
	return nil
}

// report computes tables over records that are copies of a real one.
func report(b *bench.Bench, n int) error {
	dir := filepath.Join(b.Dir, "many")
	if err := manyRecords(b.Tool, dir, n); err != nil {
		return err
	}
	u, err := bench.Measure(b.Dir, b.Tool, "report", dir)
	if err != nil {
		return err
	}
	b.Most(fmt.Sprintf("report over %d records", n), u.Wall.Seconds(), 15, "s")
	b.Most(fmt.Sprintf("report over %d records", n), u.Memory, 1, "GiB")
	return nil
}

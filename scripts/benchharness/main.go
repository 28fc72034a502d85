// Command benchharness measures goset-bench itself: whole processes, with
// hyperfine beside it in the same rounds. See scripts/bench-harness.
package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("bench-harness", flag.ContinueOnError)
	fs.SetOutput(stderr)
	rounds := fs.Int("rounds", 5, "rounds of goset-bench and hyperfine, alternating")
	records := fs.Int("records", 1_000_000, "records of the report, runs of the plan")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	b := &bench{out: stdout}
	if err := b.all(*rounds, *records); err != nil {
		fmt.Fprintf(stderr, "bench-harness: %v\n", err)
		return 1
	}
	if b.missed > 0 {
		fmt.Fprintf(stdout, "%d targets missed\n", b.missed)
		return 1
	}
	return 0
}

// bench holds the folder of one measurement and the targets it missed.
type bench struct {
	out    io.Writer
	dir    string
	tool   string
	missed int
}

func (b *bench) all(rounds, records int) (err error) {
	if b.dir, err = os.MkdirTemp("", "bench-harness-"); err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(b.dir); err == nil {
			err = e
		}
	}()
	b.tool = filepath.Join(b.dir, "goset-bench")
	if out, err := exec.Command("go", "build", "-o", b.tool, "./cmd/goset-bench").CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build goset-bench: %v\n%s", err, out)
	}
	if err := b.againstHyperfine(rounds); err != nil {
		return err
	}
	if err := b.plan(records); err != nil {
		return err
	}
	return b.report(records)
}

// target prints a figure with its bound and counts a miss.
func (b *bench) target(name string, got, bound float64, unit string) {
	verdict := "ok"
	if got > bound {
		verdict = "MISSED"
		b.missed++
	}
	fmt.Fprintf(b.out, "%-52s %9.3f %s (at most %g) %s\n", name, got, unit, bound, verdict)
}

// usage is what a whole process took.
type usage struct {
	wall   time.Duration
	memory float64 // GiB, peak of the process
}

// measure runs a command to its end; what it prints goes to a buffer that is
// shown when it fails.
func measure(dir string, argv ...string) (usage, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	start := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(start)}
	if err != nil {
		return u, fmt.Errorf("cannot run %q: %v\n%s", argv, err, said.Bytes())
	}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = float64(r.Maxrss) / (1 << 20) // Linux: KiB
	}
	return u, nil
}

// againstHyperfine alternates the two tools, so that a change of the machine
// hits both, and compares medians over the rounds.
func (b *bench) againstHyperfine(rounds int) error {
	var total, median []float64 // ours over hyperfine's
	for i := range rounds {
		out := filepath.Join(b.dir, "true-"+strconv.Itoa(i))
		ours, err := measure(b.dir, b.tool, "run", "-runs", "1000", "-warmup", "0", "-set", "plan.control=false", "-modes", "unpinned", "-quiet", "-o", out, "--", "true")
		if err != nil {
			return err
		}
		exported := filepath.Join(b.dir, "hyperfine.json")
		theirs, err := measure(b.dir, "hyperfine", "-N", "--runs", "1000", "--style", "none", "--export-json", exported, "true")
		if err != nil {
			return err
		}
		our, err := medianWall(filepath.Join(out, "summary.csv"))
		if err != nil {
			return err
		}
		their, err := hyperfineMedian(exported)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "round %d: total %.0f ms and hyperfine %.0f ms, median wall of true %.1f and %.1f µs\n",
			i+1, ms(ours.wall), ms(theirs.wall), our*1e6, their*1e6)
		total = append(total, ours.wall.Seconds()/theirs.wall.Seconds())
		median = append(median, our/their)
	}
	b.target("1,000 runs of true: total over hyperfine's", middle(total), 1, "×")
	b.target("1,000 runs of true: median wall over hyperfine's", middle(median), 1, "×")
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func middle(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
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
func (b *bench) plan(runs int) error {
	file := filepath.Join(b.dir, "large.toml")
	text := fmt.Sprintf("title = \"large\"\n[plan]\nruns = %d\nwarmup = 0\n[workload.a]\ncommand = [\"true\"]\n[workload.b]\ncommand = [\"true\"]\n[mode.x]\n[mode.y]\n", runs/4)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	u, err := measure(b.dir, b.tool, "plan", file, "-runs-as", "csv")
	if err != nil {
		return err
	}
	b.target(fmt.Sprintf("plan of %d runs", runs), u.wall.Seconds(), 3, "s")
	b.target(fmt.Sprintf("plan of %d runs", runs), u.memory, 1, "GiB")
	return nil
}

// report computes tables over records that are copies of a real one.
func (b *bench) report(n int) error {
	dir := filepath.Join(b.dir, "many")
	if err := manyRecords(b.tool, dir, n); err != nil {
		return err
	}
	u, err := measure(b.dir, b.tool, "report", dir)
	if err != nil {
		return err
	}
	b.target(fmt.Sprintf("report over %d records", n), u.wall.Seconds(), 15, "s")
	b.target(fmt.Sprintf("report over %d records", n), u.memory, 1, "GiB")
	return nil
}

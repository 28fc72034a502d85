// Command benchgoset measures goset itself. See scripts/bench-goset.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"goset/scripts/bench"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench-goset", flag.ContinueOnError)
	pairs := flags.Int("pairs", 200, "pairs of goset and taskset, alternating")
	seconds := flags.Int("seconds", 20, "how long the housekeeper is watched")
	return bench.Run(flags, "goset", args, stdout, stderr, func(b *bench.Bench) error {
		if err := overhead(b, *pairs); err != nil {
			return err
		}
		if err := parsing(b); err != nil {
			return err
		}
		return housekeeper(b, *seconds)
	})
}

// overhead alternates goset and taskset, so that a change of the machine hits
// both, and takes the median of the differences.
func overhead(b *bench.Bench, pairs int) error {
	cpu := "1"
	if _, err := bench.Measure("", "taskset", "-c", cpu, "true"); err != nil {
		cpu = "0"
	}
	var ours, theirs, above []float64
	for range pairs {
		our, err := bench.Measure("", b.Tool, "-sample", "0", "--", "true")
		if err != nil {
			return err
		}
		their, err := bench.Measure("", "taskset", "-c", cpu, "true")
		if err != nil {
			return err
		}
		ours, theirs, above = append(ours, bench.Milliseconds(our.Wall)), append(theirs, bench.Milliseconds(their.Wall)), append(above, bench.Milliseconds(our.Wall-their.Wall))
	}
	fmt.Fprintf(b.Out, "goset -sample 0 -- true %.2f ms, taskset -c %s true %.2f ms (medians of %d)\n", bench.Median(ours), cpu, bench.Median(theirs), pairs)
	b.Most("goset -sample 0 -- true above taskset", bench.Median(above), 8, "ms")
	return nil
}

// parsing runs the benchmarks of the parser and of its peer in one process, in
// turns, and takes the best of each: what else the machine does can only make
// either slower.
func parsing(b *bench.Bench) error {
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", "Interrupts(Parse|ParsePeer|Procfs)$", "-count", "5", "-cpu", "1", "./host").CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot run the benchmarks: %v\n%s", err, out)
	}
	speed, allocs := map[string]float64{}, map[string]float64{}
	line := regexp.MustCompile(`(?m)^Benchmark(\w+?)(?:-\d+)?\s+\d+\s.*\s([\d.]+) MB/s\s+\d+ B/op\s+(\d+) allocs/op`)
	for _, m := range line.FindAllSubmatch(out, -1) {
		v, err1 := strconv.ParseFloat(string(m[2]), 64)
		n, err2 := strconv.ParseFloat(string(m[3]), 64)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("cannot read %q", m[0])
		}
		name := string(m[1])
		speed[name], allocs[name] = max(speed[name], v), max(allocs[name], n)
	}
	if speed["InterruptsProcfs"] == 0 {
		return fmt.Errorf("no benchmark of the peer in:\n%s", out)
	}
	b.Least("poll of 512 CPUs and 1,000 rows", speed["InterruptsParse"]/1000, 1, "GB/s")
	b.Most("its allocations", allocs["InterruptsParse"], 0, "")
	b.Least("the same over prometheus/procfs", speed["InterruptsParsePeer"]/speed["InterruptsProcfs"], 10, "×")
	return nil
}

// housekeeper compares a long and a short run of the same task: what starting
// and ending cost falls out.
func housekeeper(b *bench.Bench, seconds int) error {
	const short = 2
	at := func(n int) (time.Duration, error) {
		u, err := bench.Measure("", b.Tool, "-sample", "0", "-interval", "100ms", "-quiet", "--", "sleep", strconv.Itoa(n))
		return u.CPU, err
	}
	first, err := at(short)
	if err != nil {
		return err
	}
	second, err := at(short + seconds)
	if err != nil {
		return err
	}
	b.Most("housekeeper at 100 ms, of one CPU", 100*(second-first).Seconds()/float64(seconds), 0.2, "%")
	return nil
}

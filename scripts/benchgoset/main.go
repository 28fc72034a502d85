// Command benchgoset measures goset itself. See scripts/bench-goset.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("bench-goset", flag.ContinueOnError)
	fs.SetOutput(stderr)
	pairs := fs.Int("pairs", 200, "pairs of goset and taskset, alternating")
	seconds := fs.Int("seconds", 20, "how long the housekeeper is watched")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	b := &bench{out: stdout}
	if err := b.all(*pairs, *seconds); err != nil {
		fmt.Fprintf(stderr, "bench-goset: %v\n", err)
		return 1
	}
	if b.missed > 0 {
		fmt.Fprintf(stdout, "%d targets missed\n", b.missed)
		return 1
	}
	return 0
}

// bench holds the tool that is measured and the targets it missed.
type bench struct {
	out    io.Writer
	tool   string
	missed int
}

func (b *bench) all(pairs, seconds int) (err error) {
	dir, err := os.MkdirTemp("", "bench-goset-")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil {
			err = e
		}
	}()
	b.tool = filepath.Join(dir, "goset")
	build := exec.Command("go", "build", "-o", b.tool, "./cmd/goset")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build goset: %v\n%s", err, out)
	}
	if err := b.overhead(pairs); err != nil {
		return err
	}
	if err := b.parsing(); err != nil {
		return err
	}
	return b.housekeeper(seconds)
}

// most and least print a figure with its bound and count a miss.
func (b *bench) most(name string, got, bound float64, unit string) {
	b.verdict(name, got, "at most", bound, unit, got <= bound)
}

func (b *bench) least(name string, got, bound float64, unit string) {
	b.verdict(name, got, "at least", bound, unit, got >= bound)
}

func (b *bench) verdict(name string, got float64, word string, bound float64, unit string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		b.missed++
	}
	fmt.Fprintf(b.out, "%-58s %9.3f %s (%s %g) %s\n", name, got, unit, word, bound, verdict)
}

// timed runs a command to its end.
func timed(argv ...string) (wall, cpu time.Duration, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	err = cmd.Run()
	wall = time.Since(start)
	if err != nil {
		return 0, 0, fmt.Errorf("cannot run %q: %v\n%s", argv, err, said.Bytes())
	}
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// overhead alternates goset and taskset, so that a change of the machine hits
// both, and takes the median of the differences.
func (b *bench) overhead(pairs int) error {
	cpu := "1"
	if _, _, err := timed("taskset", "-c", cpu, "true"); err != nil {
		cpu = "0"
	}
	var ours, theirs, above []float64
	for range pairs {
		our, _, err := timed(b.tool, "-sample", "0", "--", "true")
		if err != nil {
			return err
		}
		their, _, err := timed("taskset", "-c", cpu, "true")
		if err != nil {
			return err
		}
		ours, theirs, above = append(ours, ms(our)), append(theirs, ms(their)), append(above, ms(our-their))
	}
	fmt.Fprintf(b.out, "goset -sample 0 -- true %.2f ms, taskset -c %s true %.2f ms (medians of %d)\n", median(ours), cpu, median(theirs), pairs)
	b.most("goset -sample 0 -- true above taskset", median(above), 8, "ms")
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// parsing runs the benchmarks of the parser and of its peer in one process, in
// turns, and takes the best of each: what else the machine does can only make
// either slower.
func (b *bench) parsing() error {
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
	b.least("poll of 512 CPUs and 1,000 rows", speed["InterruptsParse"]/1000, 1, "GB/s")
	b.most("its allocations", allocs["InterruptsParse"], 0, "")
	b.least("the same over prometheus/procfs", speed["InterruptsParsePeer"]/speed["InterruptsProcfs"], 10, "×")
	return nil
}

// housekeeper compares a long and a short run of the same task: what starting
// and ending cost falls out.
func (b *bench) housekeeper(seconds int) error {
	const short = 2
	at := func(n int) (time.Duration, error) {
		_, cpu, err := timed(b.tool, "-sample", "0", "-interval", "100ms", "-quiet", "--", "sleep", strconv.Itoa(n))
		return cpu, err
	}
	first, err := at(short)
	if err != nil {
		return err
	}
	second, err := at(short + seconds)
	if err != nil {
		return err
	}
	b.most("housekeeper at 100 ms, of one CPU", 100*(second-first).Seconds()/float64(seconds), 0.2, "%")
	return nil
}

// Package bench is what the scripts that measure the tools have in common: a
// tool built for one measurement, whole processes timed, and figures held to
// their bounds.
package bench

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Bench is one measurement.
type Bench struct {
	Out    io.Writer
	Dir    string // removed at the end
	Tool   string // the built program
	missed int
}

// Run parses the flags, builds the tool ("goset") from ./cmd, measures, and
// gives the exit code: 0, 1 when a target is missed or nothing could be
// measured, 2 for wrong flags.
func Run(flags *flag.FlagSet, tool string, args []string, stdout, stderr io.Writer, measure func(*Bench) error) int {
	flags.SetOutput(stderr)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	b := &Bench{Out: stdout}
	if err := b.with(tool, measure); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", flags.Name(), err)
		return 1
	}
	if b.missed > 0 {
		fmt.Fprintf(stdout, "%d targets missed\n", b.missed)
		return 1
	}
	return 0
}

// with builds the tool in a folder of its own and removes that afterwards.
func (b *Bench) with(tool string, measure func(*Bench) error) (err error) {
	if b.Dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.Dir)) }()
	b.Tool = filepath.Join(b.Dir, tool)
	if out, err := exec.Command("go", "build", "-o", b.Tool, "./cmd/"+tool).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %v\n%s", tool, err, out)
	}
	return measure(b)
}

// Most prints a figure that is to be at most bound, and counts a miss.
func (b *Bench) Most(name string, got, bound float64, unit string) {
	b.verdict(name, got, "at most", bound, unit, got <= bound)
}

// Least prints a figure that is to be at least bound, and counts a miss.
func (b *Bench) Least(name string, got, bound float64, unit string) {
	b.verdict(name, got, "at least", bound, unit, got >= bound)
}

func (b *Bench) verdict(name string, got float64, word string, bound float64, unit string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		b.missed++
	}
	fmt.Fprintf(b.Out, "%-58s %9.3f %s (%s %g) %s\n", name, got, unit, word, bound, verdict)
}

// Usage is what a whole process took.
type Usage struct {
	Wall, CPU time.Duration
	Memory    float64 // GiB, its peak
}

// Measure runs a command in dir ("": here) to its end. What it complained of is
// in the error when it fails.
func Measure(dir string, argv ...string) (Usage, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	err := cmd.Run()
	u := Usage{Wall: time.Since(start)}
	if err != nil {
		return u, fmt.Errorf("cannot run %q: %v\n%s", argv, err, said.Bytes())
	}
	u.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.Memory = float64(r.Maxrss) / (1 << 20) // Linux: KiB
	}
	return u, nil
}

// Milliseconds is d as a number of them.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Median is the middle of at least one number.
func Median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

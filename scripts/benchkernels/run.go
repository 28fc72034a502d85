package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// outcome is what one run printed and cost.
type outcome struct {
	argv     []string
	output   []byte
	switches int64 // context switches, voluntary and not, with its children's
}

// runPinned runs a program on the CPU. Its output goes to a file: a pipe would
// have to be read while it runs.
func (p *programs) runPinned(argv []string) (outcome, error) {
	name := filepath.Join(p.dir, "output")
	out, err := os.Create(name)
	if err != nil {
		return outcome{}, fmt.Errorf("cannot keep output: %w", err)
	}
	defer out.Close()
	var stderr bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, &stderr
	if err := startPinned(cmd, p.cpu); err != nil {
		return outcome{}, err
	}
	if err := cmd.Wait(); err != nil {
		return outcome{}, fmt.Errorf("cannot run %s: %w\n%s", strings.Join(argv, " "), err, stderr.Bytes())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return outcome{}, fmt.Errorf("cannot read output: %w", err)
	}
	return outcome{argv: argv, output: text, switches: contextSwitches(cmd.ProcessState)}, nil
}

// median returns the median value of the lines whose name contains match, as
// printed: benchfmt's own values are in base units.
func (o outcome) median(match, unit string) (float64, error) {
	var values []float64
	r := benchfmt.NewReader(bytes.NewReader(o.output), o.argv[0])
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			return 0, rec
		case *benchfmt.Result:
			for _, v := range rec.Values {
				if v.OrigUnit == unit && strings.Contains(string(rec.Name), match) {
					values = append(values, v.OrigValue)
				} else if v.Unit == unit && strings.Contains(string(rec.Name), match) {
					values = append(values, v.Value)
				}
			}
		}
	}
	if err := r.Err(); err != nil {
		return 0, err
	}
	if len(values) == 0 {
		return 0, fmt.Errorf("%s printed no %s for %q", strings.Join(o.argv, " "), unit, match)
	}
	return median(values), nil
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

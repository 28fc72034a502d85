// Package stream is the kernel that shows memory bandwidth: McCalpin's STREAM,
// with his byte counts and his validation of the arrays
// (https://www.cs.virginia.edu/stream/).
//
//	copy   c = a          16 bytes per element
//	scale  b = 3 c        16
//	add    c = a + b      24
//	triad  a = b + 3 c    24
//
// The counts leave out what a store reads first to fill its cache line, as
// his do. Every operation starts at its own barrier, as the loops of an OpenMP
// STREAM end at theirs.
package stream

import (
	"fmt"
	"io"
	"strconv"

	"goset/workloads"
)

// Name is the kernel's name.
const Name = "stream"

// Config is what a run does.
type Config struct {
	Elements    int64 // float64 of each array, of each thread
	Iterations  int64 // timed, after one untimed
	Threads     int   // processes side by side, each with its own arrays
	Path        string
	NonTemporal bool // stores that bypass the caches

	inProcess bool
}

// Params returns the kernel's parameters.
func Params() []workloads.Param {
	return []workloads.Param{
		{Name: "elements", Kind: workloads.KindInt, Default: "20000000", Min: 8, Max: 1 << 36},
		workloads.IterationsParam("20"),
		workloads.ThreadsParam(),
		workloads.PathParam(),
		{Name: "nontemporal", Kind: workloads.KindBool, Default: "false"},
	}
}

// Parse reads parameters from their texts; what is left out has its default.
// Faults are joined *workloads.ParamError.
func Parse(params map[string]string) (Config, error) {
	v, err := workloads.ParseParams(Name, Params(), params)
	return Config{
		Elements: v.Int("elements"), Iterations: v.Int("iterations"), Threads: int(v.Int("threads")),
		Path: v.Word("path"), NonTemporal: v.Bool("nontemporal"),
	}, err
}

func (c Config) check() error {
	return workloads.CheckParams(Name, Params(), map[string]string{
		"elements":    strconv.FormatInt(c.Elements, 10),
		"iterations":  strconv.FormatInt(c.Iterations, 10),
		"threads":     strconv.Itoa(c.Threads),
		"path":        c.Path,
		"nontemporal": strconv.FormatBool(c.NonTemporal),
	})
}

// Run measures and writes one line of MB/s (10^6 bytes) per operation and
// iteration: the bytes of all threads over the slowest thread's time.
func Run(cfg Config, stdout io.Writer) error {
	if err := cfg.check(); err != nil {
		return err
	}
	path, err := choosePath(cfg)
	if err != nil {
		return err
	}
	cfg.Path = path
	res, err := workloads.Measure(cfg.measurement())
	if err != nil {
		return err
	}
	if err := verify(cfg, res); err != nil {
		return err
	}
	return write(cfg, res, stdout)
}

// choosePath resolves the path; plain Go has no store that bypasses the
// caches.
func choosePath(cfg Config) (string, error) {
	path, err := workloads.ResolvePath(Name, cfg.Path)
	if err == nil && cfg.NonTemporal && path == workloads.PathPortable {
		return "", &workloads.ParamError{Kernel: Name, Param: "nontemporal", Rule: "must be false on path portable", Value: "true"}
	}
	return path, err
}

func write(cfg Config, res *workloads.Result, stdout io.Writer) error {
	o := workloads.NewOutput(stdout, Name, res)
	o.Config("elements", strconv.FormatInt(cfg.Elements, 10))
	o.Config("path", cfg.Path)
	o.Config("nontemporal", strconv.FormatBool(cfg.NonTemporal))
	a, b, c := reference(generation(cfg.Iterations + 1))
	o.Config("checksum", fmt.Sprintf("a=%g b=%g c=%g", a, b, c))
	o.Unit("MB/s", "higher")
	for i := range cfg.Iterations {
		for op, name := range opNames() {
			work := float64(opBytes(op)) * float64(cfg.Elements) * float64(cfg.Threads)
			o.Line("Stream/op="+name, 1, work/res.Nanoseconds(i, op)*1e3, "MB/s")
		}
	}
	return o.Flush()
}

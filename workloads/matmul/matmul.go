// Package matmul is the kernel that shows the floating-point units: products
// of two 32×32 float64 matrices, which stay in the first-level cache with
// their result.
package matmul

import (
	"fmt"
	"io"
	"strconv"

	"goset/workloads"
)

// Name is the kernel's name.
const Name = "matmul"

// N is the order of the matrices; a product is 2 N³ floating-point operations.
const N = 32

// Config is what a run does.
type Config struct {
	Multiplications int64 // products in one iteration
	Iterations      int64 // timed, after one untimed
	Threads         int   // processes side by side
	Path            string

	inProcess bool
}

// Params returns the kernel's parameters.
func Params() []workloads.Param {
	return []workloads.Param{
		{Name: "multiplications", Kind: workloads.KindInt, Default: "2000", Min: 1, Max: 1 << 40},
		workloads.IterationsParam("300"),
		workloads.ThreadsParam(),
		workloads.PathParam(),
	}
}

// Parse reads parameters from their texts; what is left out has its default.
// Faults are joined *workloads.ParamError.
func Parse(params map[string]string) (Config, error) {
	v, err := workloads.ParseParams(Name, Params(), params)
	return Config{
		Multiplications: v.Int("multiplications"), Iterations: v.Int("iterations"), Threads: int(v.Int("threads")), Path: v.Word("path"),
	}, err
}

func (c Config) check() error {
	return workloads.CheckParams(Name, Params(), map[string]string{
		"multiplications": strconv.FormatInt(c.Multiplications, 10),
		"iterations":      strconv.FormatInt(c.Iterations, 10),
		"threads":         strconv.Itoa(c.Threads),
		"path":            c.Path,
	})
}

// Run measures and writes one line of MFLOP/s per iteration: the operations of
// all threads over the slowest thread's time.
func Run(cfg Config, stdout io.Writer) error {
	if err := cfg.check(); err != nil {
		return err
	}
	path, err := workloads.ResolvePath(Name, cfg.Path)
	if err != nil {
		return err
	}
	cfg.Path = path
	res, err := workloads.Measure(cfg.measurement())
	if err != nil {
		return err
	}
	sum, err := verify(cfg, res)
	if err != nil {
		return err
	}
	return write(cfg, res, sum, stdout)
}

func write(cfg Config, res *workloads.Result, sum float64, stdout io.Writer) error {
	o := workloads.NewOutput(stdout, Name, res)
	o.Config("path", cfg.Path)
	o.Config("checksum", strconv.FormatFloat(sum, 'g', -1, 64))
	o.Unit("MFLOP/s", "higher")
	name := fmt.Sprintf("Matmul/n=%d", N)
	work := 2 * N * N * N * float64(cfg.Multiplications) * float64(cfg.Threads)
	for i := range cfg.Iterations {
		o.Line(name, cfg.Multiplications, work/res.Nanoseconds(i, 0)*1e3, "MFLOP/s")
	}
	return o.Flush()
}

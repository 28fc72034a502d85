// Package metric holds the small word that kernels, the harness and the
// report share: a measured quantity with its unit and its good direction.
//
// Values are kept in base units (seconds, bytes, operations per second) from
// the moment they are read; only the report scales them for people.
package metric

// Direction says which way a metric is better.
type Direction string

// The directions. A metric of no known direction gets no verdict.
const (
	Lower   Direction = "lower"
	Higher  Direction = "higher"
	Unknown Direction = ""
)

// Iterations is the Line of the metric that holds b.N.
const Iterations = "b.N"

// Metric describes one measured quantity of a workload.
type Metric struct {
	// Name identifies the metric within its workload: "wall", "triad",
	// "p99 latency".
	Name string `json:"name"`
	// Unit is the base unit of the stored values: "s", "s/load", "B/s",
	// "FLOP/s", "B", "" for a count.
	Unit string `json:"unit"`
	// Show is the unit people expect in a table ("ms/iteration", "MFLOP/s"):
	// Unit with a prefix. Empty: the report picks a prefix.
	Show string `json:"show,omitempty"`
	// Better is the good direction.
	Better Direction `json:"better,omitempty"`
	// Shown is whether tables show the metric unless told otherwise.
	Shown bool `json:"shown,omitempty"`
	// Benchmark and Package are the Go benchmark that the metric is of, with
	// its sub-benchmark and without GOMAXPROCS ("Parse/size=10"), and the import
	// path of its package; Line is its unit as the benchmark prints it
	// ("ns/op"), or Iterations.
	Benchmark string `json:"benchmark,omitempty"`
	Package   string `json:"package,omitempty"`
	Line      string `json:"line,omitempty"`
	// Found is true of a metric that nobody declared: a number found in the
	// output. Tables show it when its values vary.
	Found bool `json:"found,omitempty"`
}

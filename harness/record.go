package harness

import (
	"time"

	"goset/isolation"
	"goset/metric"
)

// Outcome says whether a run's values count.
type Outcome string

// The outcomes. Kept runs enter the statistics; void and failed ones stay in
// the data with their reason.
const (
	Kept   Outcome = "kept"
	Void   Outcome = "void"   // it ran, but its numbers cannot be used
	Failed Outcome = "failed" // it did not end well
)

// Record is one attempt at one run: one line of records.jsonl.
type Record struct {
	Run       int     `json:"run"`     // index into Plan.Runs
	Attempt   int     `json:"attempt"` // 1, 2, ...: retries of the same run
	Block     int     `json:"block"`   // 0: warm-up
	Position  int     `json:"position"`
	Treatment int     `json:"treatment"`
	Previous  int     `json:"previous"` // treatment that ran before, -1: none
	Workload  string  `json:"workload"`
	Mode      string  `json:"mode"`
	Condition string  `json:"condition,omitempty"`
	Levels    []Level `json:"levels,omitempty"`
	Warmup    bool    `json:"warmup,omitempty"`

	Start   time.Time `json:"start"`
	Outcome Outcome   `json:"outcome"`
	Reason  string    `json:"reason,omitempty"`
	Exit    int       `json:"exit"`             // exit status; 128+n for signal n
	Signal  string    `json:"signal,omitempty"` // name of the signal that ended it

	CPUs   string                 `json:"cpus,omitempty"`  // the CPUs it was held to
	Procs  int                    `json:"procs,omitempty"` // GOMAXPROCS of Go benchmarks
	Layers []isolation.LayerState `json:"layers,omitempty"`
	Choice *Choice                `json:"choice,omitempty"`
	// Load is what the background load of the condition got during the run.
	Load []LoadState `json:"load,omitempty"`

	// Values holds the run's value of every metric, in base units.
	Values map[string]float64 `json:"values"`
	// Iterations holds, in time order, what was timed inside the run.
	Iterations map[string][]float64 `json:"iterations,omitempty"`
	// Counters holds what the kernel counted; what it does not have is absent.
	Counters map[string]float64 `json:"counters,omitempty"`
	// Metrics describes the metrics of this workload that no earlier record
	// described.
	Metrics  []metric.Metric `json:"metrics,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	// Shape is the fingerprint of the output's form, given where it is not the
	// one that the workload's record before had.
	Shape string `json:"shape,omitempty"`
	// Output is the kept output of a failed or void run: the files OUTPUT.out
	// and OUTPUT.err, relative to the result folder; of an empty stream there
	// is none.
	Output string `json:"output,omitempty"`

	// Superseded is true when a later attempt at the same run is on file, so
	// that this one is no longer the run's outcome. Only Results.Each sets it.
	Superseded bool `json:"-"`
}

// Choice is how the CPUs of "quietest" were picked. It stands whole in the
// record of every run that got them, of those too that took over what another
// run had chosen (choose = "block" or "experiment"): what became of that one's
// record then does not matter.
type Choice struct {
	// Run and Attempt are those of the record whose run chose; At is when it
	// did. Zero where records of an earlier form do not say it.
	Run     int           `json:"run"`
	Attempt int           `json:"attempt"`
	At      time.Time     `json:"at"`
	Sample  time.Duration `json:"sample_ns"`
	Ranking []Ranked      `json:"ranking"`
	// Left counts the places at the end of a long ranking that are not kept.
	Left int `json:"left,omitempty"`
}

// Own is true when the run of r chose for itself.
func (c *Choice) Own(r *Record) bool { return c.Run == r.Run && c.Attempt == r.Attempt }

// Ranked is one CPU in the order of a ranking.
type Ranked struct {
	CPU  int     `json:"cpu"`
	Cost float64 `json:"cost"` // see rank.Place: own and siblings' noise
	Own  float64 `json:"own"`
	Why  string  `json:"why,omitempty"`
}

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

	CPUs   string                 `json:"cpus,omitempty"` // the CPUs it was held to
	Layers []isolation.LayerState `json:"layers,omitempty"`
	Choice *Choice                `json:"choice,omitempty"`

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
	// Output is the kept output of a run, relative to the result folder.
	Output string `json:"output,omitempty"`
}

// Choice is how the CPUs of "quietest" were picked.
type Choice struct {
	Sample  time.Duration `json:"sample_ns"`
	Ranking []Ranked      `json:"ranking"`
	// Left counts the places at the end of a long ranking that are not kept.
	Left int `json:"left,omitempty"`
}

// Ranked is one CPU in the order of a ranking.
type Ranked struct {
	CPU  int     `json:"cpu"`
	Cost float64 `json:"cost"` // see rank.Place: own and siblings' noise
	Own  float64 `json:"own"`
	Why  string  `json:"why,omitempty"`
}

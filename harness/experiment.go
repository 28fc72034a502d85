package harness

import (
	"time"

	"goset/isolation"
	"goset/metric"
)

// Experiment is a decoded and validated experiment file. It is pure: the same
// text gives the same value on every machine, and nothing here touches one.
type Experiment struct {
	Name  string // the file's base name without ".toml"
	Title string
	// Text is the file as run: the source with every override spliced in.
	Text []byte
	// Dir is what relative paths in commands are relative to; "" for embedded
	// experiments and for `run -- command`.
	Dir string

	Plan       PlanSpec
	Workloads  []Workload  // in file order
	Modes      []ModeSpec  // in file order
	Conditions []Condition // in file order; none: every run is as it comes
}

// PlanSpec is the [plan] table.
type PlanSpec struct {
	Runs     int           // blocks: runs per treatment
	Warmup   int           // discarded runs per treatment, before block 1
	Idle     time.Duration // gap before every run
	Order    string        // OrderShuffled, OrderInterleaved, OrderSequential
	Seed     *uint64       // nil: drawn when the plan is made, and recorded
	Timeout  time.Duration // per run
	Retries  int           // further attempts at a failed or void run
	Output   int64         // bytes of each stream of a run that are kept
	Baseline string        // mode name
	// Sticky leaves the layers of the whole machine (irqbalance, SMT, clocks)
	// in force between neighbouring runs that ask for the same.
	Sticky  bool
	Control *bool      // run the baseline twice per block; nil: see Controlled
	Until   *Until     // stop early; nil: never
	Compare []ModePair // pairs of modes; empty: every mode with the baseline
	// Equivalence bounds the sd ratio that counts as the same; the zero value
	// claims no equivalence.
	Equivalence Range
	Skip        []map[string]string // each: factor (or "workload", "mode") -> level text
}

// Until says when a plan may end before its last block: when the intervals of
// all cells are narrow enough. Never on a p-value, which would make one out of
// chance.
type Until struct {
	// Median is how far the interval of each cell's median may reach to each
	// side, as a share of the median (half its width): 0.01 is ±1%. 0: not asked.
	Median float64
	// SDRatio is the same for the interval of each sd ratio to the baseline.
	SDRatio float64
	// Max is the number of blocks that the plan has.
	Max int
}

// ModePair is two modes to compare: x against y.
type ModePair struct {
	X string `json:"x"`
	Y string `json:"y"`
}

// Range is from lo to hi.
type Range struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

// ControlSuffix is what the second runs of the baseline add to its name: no
// mode of a file can be called so.
const ControlSuffix = "#2"

// The orders of a plan.
const (
	OrderShuffled    = "shuffled"    // randomized complete blocks
	OrderInterleaved = "interleaved" // file order inside every block
	OrderSequential  = "sequential"  // all runs of a treatment, then the next
)

// Workload is one [workload.NAME]. Exactly one of Kernel, Command and Go is set.
// Its factors have been left symbolic: see Treatment for resolved values.
type Workload struct {
	Name    string
	Kernel  string        // name of a Kernel
	Params  []Param       // kernel flags in file order, as text: steps=3000000
	Command []string      // may hold {factor}
	Go      *GoSpec       // Go benchmarks: their keys are Params, in a Treatment resolved here
	Env     []Param       // may hold {factor}
	Dir     string        // working directory, relative to the experiment
	Format  string        // "" or one of Formats
	Metrics []MetricSpec  // declared, in file order
	Expect  time.Duration // the author's estimate of one run; 0: none
	Extract bool          // no declaration: take every number it prints
}

// Param is a named value whose text may hold {factor}; more than one level
// makes it a factor.
type Param struct {
	Name   string
	Levels []string
}

// MetricSpec declares how one metric of a command is read.
type MetricSpec struct {
	metric.Metric
	// Pattern is RE2 with one group, matched on stdout and then stderr.
	Pattern string
	// JSON is an RFC 9535 path into stdout.
	JSON string
	// Take is "last" (and ""), "first", "median" or "all". "all" keeps every
	// match as an iteration and its median as the run's value.
	Take string
}

// ModeSpec is one [mode.NAME]: the layers, with lists left as factors.
type ModeSpec struct {
	Name string
	// Keys holds every layer key in file order with its levels as text.
	Keys []Param
	// Layers is the mode with the first level of every key.
	Layers isolation.Mode
}

// Level is one factor at one of its values.
type Level struct {
	Factor string `json:"factor"`
	Value  string `json:"value"`
}

// Treatment is one combination of levels with everything resolved.
type Treatment struct {
	Index     int     `json:"index"`
	Workload  string  `json:"workload"`
	Mode      string  `json:"mode"`
	Condition string  `json:"condition,omitempty"`
	Levels    []Level `json:"levels,omitempty"` // varied factors only, file order

	// Resolved, with every {factor} replaced; not in the manifest.
	Spec   Workload       `json:"-"`
	Layers isolation.Mode `json:"-"`
	Load   LoadSpec       `json:"-"`
	Args   []string       `json:"-"` // kernel flags or the command
	Env    []string       `json:"-"` // NAME=value
}

// Run is one process execution of one treatment in one block.
type Run struct {
	Treatment int32
	Block     int32 // 1-based; 0 for warm-up
	Position  int32 // 1-based within the block
}

// Plan is the pure list of runs. The same experiment and seed give the same
// plan byte for byte.
type Plan struct {
	Seed       uint64
	Treatments []Treatment
	Runs       []Run // warm-up runs first
}

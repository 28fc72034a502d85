package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// ManifestSchema is the version of the result folder's form. A folder of
// another version is refused, never guessed at.
const ManifestSchema = 1

// The names of the files that the harness writes into a result folder.
const (
	ManifestFile   = "manifest.json"
	ExperimentFile = "experiment.toml"
	RecordsFile    = "records.jsonl"
	OutputFolder   = "output" // kept output of failed and void runs
)

// Manifest says what is to be run, of what origin it is, on what machine, and
// how far it got. It is on disk before the first run starts; from then on only
// the letters of States change, each in its place.
type Manifest struct {
	Schema    int    `json:"schema"`
	Name      string `json:"name"`
	Title     string `json:"title,omitempty"`
	Tool      string `json:"tool"`      // version of goset-bench
	Toolchain string `json:"toolchain"` // version of Go that built it
	Platform  string `json:"platform"`  // GOOS/GOARCH

	// Text is the experiment as run, with every override spliced in.
	Text      string   `json:"text"`
	SHA256    string   `json:"sha256"`           // of Text
	Source    string   `json:"source,omitempty"` // absolute path of the file; "" when there was none
	Overrides []string `json:"overrides,omitempty"`
	// Dir is the absolute folder that relative paths in commands are relative
	// to, and in which commands run; "" for shipped experiments of kernels.
	Dir string `json:"dir,omitempty"`

	Argv     []string          `json:"argv"`
	Settings map[string]string `json:"settings,omitempty"`
	Host     json.RawMessage   `json:"host,omitempty"` // host.Facts before the first run
	// Sessions lists the start of the experiment and every resumption.
	Sessions []SessionStart `json:"sessions"`

	Seed      uint64        `json:"seed"`
	Order     string        `json:"order"`
	Baseline  string        `json:"baseline,omitempty"`
	Repeats   int           `json:"runs"` // per treatment, without warm-up
	Warmup    int           `json:"warmup"`
	Idle      time.Duration `json:"idle_ns"`
	Timeout   time.Duration `json:"timeout_ns"`
	Retries   int           `json:"retries"`
	Workloads []string      `json:"workloads"` // file order
	Modes     []string      `json:"modes"`     // file order
	// Compare is the declared pairs of modes.
	Compare     []ModePair `json:"compare,omitempty"`
	Equivalence *Range     `json:"equivalence,omitempty"`
	// Until is what the plan may end early for, in words.
	Until string `json:"until,omitempty"`
	// Stopped says that the plan ended early because its condition was met.
	Stopped    *Stopped    `json:"stopped,omitempty"`
	Treatments []Treatment `json:"treatments"`
	// Builds are the test binaries of Go benchmarks.
	Builds []GoBuild `json:"builds,omitempty"`

	// Runs is the plan in the order of running. On disk it is the arrays
	// "sequence" (treatment indexes), "blocks" and, where a position does not
	// follow from those, "positions".
	Runs []Run `json:"-"`
	// States has one letter per run: StatePending and what follows it.
	States []byte `json:"-"`
}

// The letters of States. A letter is that of the run's last attempt.
const (
	StatePending = '.'
	StateKept    = 'k'
	StateVoid    = 'v'
	StateFailed  = 'f'
)

// outcomeOf is the outcome of a letter that is not StatePending.
func outcomeOf(state byte) Outcome {
	switch state {
	case StateKept:
		return Kept
	case StateVoid:
		return Void
	}
	return Failed
}

// stateOf is the letter of an outcome.
func stateOf(o Outcome) byte {
	switch o {
	case Kept:
		return StateKept
	case Void:
		return StateVoid
	}
	return StateFailed
}

// Stopped is a plan that ended early, as its Until allows.
type Stopped struct {
	Block  int       `json:"block"` // the last one that ran
	Blocks int       `json:"blocks"`
	Reason string    `json:"reason"` // what was narrow enough
	At     time.Time `json:"at"`
}

// SessionStart is one start of goset-bench on a result folder.
type SessionStart struct {
	Start     time.Time       `json:"start"`
	Tool      string          `json:"tool"`
	Toolchain string          `json:"toolchain"`
	Argv      []string        `json:"argv"`
	Host      json.RawMessage `json:"host,omitempty"`     // where it differs from the manifest's
	Warnings  []string        `json:"warnings,omitempty"` // what differs, and what was taken over
}

// Provenance is what a manifest says about where a session comes from; the
// harness itself cannot know it.
type Provenance struct {
	Tool      string            // version of goset-bench
	Source    string            // path of the experiment's file; "" for embedded ones and for commands
	Overrides []string          // -set arguments
	Argv      []string          // how goset-bench was started
	Settings  map[string]string // the person's preferences that took effect
	Host      json.RawMessage   // host.Facts as JSON; nil: unknown
}

// newManifest describes an experiment that has not run yet.
func newManifest(e *Experiment, p *Plan, from Provenance, now time.Time) (*Manifest, error) {
	source := from.Source
	if source != "" {
		abs, err := filepath.Abs(source)
		if err != nil {
			return nil, fmt.Errorf("cannot make the path of experiment %q absolute: %v", source, err)
		}
		source = abs
	}
	dir, err := homeOf(e, source)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(e.Text)
	m := &Manifest{
		Schema: ManifestSchema, Name: e.Name, Title: e.Title,
		Tool: from.Tool, Toolchain: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Text: string(e.Text), SHA256: hex.EncodeToString(sum[:]), Source: source, Overrides: from.Overrides, Dir: dir,
		Argv: from.Argv, Settings: from.Settings, Host: from.Host,
		Sessions: []SessionStart{from.session(now)},
		Seed:     p.Seed, Order: e.Plan.Order, Baseline: e.Plan.Baseline, Repeats: e.Plan.Blocks(), Warmup: e.Plan.Warmup,
		Idle: e.Plan.Idle, Timeout: e.Plan.Timeout, Retries: e.Plan.Retries,
		Compare: e.Plan.Compare, Treatments: p.Treatments, Runs: p.Runs,
		States: bytes.Repeat([]byte{StatePending}, len(p.Runs)),
	}
	if e.Plan.Equivalence != (Range{}) {
		m.Equivalence = &e.Plan.Equivalence
	}
	if e.Plan.Until != nil {
		m.Until = e.Plan.Until.Words()
	}
	for _, w := range e.Workloads {
		m.Workloads = append(m.Workloads, w.Name)
	}
	for _, mode := range e.Modes {
		m.Modes = append(m.Modes, mode.Name)
	}
	return m, nil
}

// homeOf is the folder that an experiment's commands are relative to, made
// absolute: a resume may be started elsewhere.
func homeOf(e *Experiment, source string) (string, error) {
	commands := slices.ContainsFunc(e.Workloads, func(w Workload) bool { return w.Kernel == "" })
	if e.Dir == "" && source == "" && !commands {
		return "", nil
	}
	dir, err := filepath.Abs(e.Dir)
	if err != nil {
		return "", fmt.Errorf("cannot make the folder of experiment %q absolute: %v", e.Name, err)
	}
	return dir, nil
}

// session is the entry of a session that starts now.
func (from Provenance) session(now time.Time) SessionStart {
	return SessionStart{Start: now.UTC(), Tool: from.Tool, Toolchain: runtime.Version(), Argv: from.Argv}
}

// statesEnd is what follows the states in the file; the states are last, so
// that their place is known from the file's size alone.
const statesEnd = "\"\n}\n"

// encode gives the file's text and the offset of the first state's letter.
func (m *Manifest) encode() (text []byte, statesAt int64, err error) {
	text, err = json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, 0, fmt.Errorf("cannot encode the manifest: %v", err)
	}
	text = bytes.TrimSuffix(text, []byte("\n}"))
	// An array of a million numbers is kept on one line.
	ints := func(key string, of func(i int) int32) {
		text = append(text, ",\n  \""+key+"\": ["...)
		for i := range m.Runs {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, int64(of(i)), 10)
		}
		text = append(text, ']')
	}
	ints("sequence", func(i int) int32 { return m.Runs[i].Treatment })
	ints("blocks", func(i int) int32 { return m.Runs[i].Block })
	if !positionsFollow(m.Runs) {
		ints("positions", func(i int) int32 { return m.Runs[i].Position })
	}
	text = append(text, ",\n  \"states\": \""...)
	statesAt = int64(len(text))
	text = append(text, m.States...)
	return append(text, statesEnd...), statesAt, nil
}

// positions numbers the runs of each block in the order of running.
func positions(runs []Run) func(i int) int32 {
	count := map[int32]int32{}
	return func(i int) int32 {
		count[runs[i].Block]++
		return count[runs[i].Block]
	}
}

func positionsFollow(runs []Run) bool {
	next := positions(runs)
	for i := range runs {
		if runs[i].Position != next(i) {
			return false
		}
	}
	return true
}

// decodeManifest reads the text of manifest.json.
func decodeManifest(text []byte) (*Manifest, error) {
	var version struct{ Schema int }
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, err
	}
	if version.Schema != ManifestSchema {
		return nil, fmt.Errorf("its schema is version %d, and this goset-bench reads version %d: use the goset-bench that wrote it", version.Schema, ManifestSchema)
	}
	var file struct {
		Manifest
		Sequence  []int32 `json:"sequence"`
		Blocks    []int32 `json:"blocks"`
		Positions []int32 `json:"positions"`
		States    string  `json:"states"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	m := &file.Manifest
	n := len(file.Sequence)
	if len(file.Blocks) != n || len(file.States) != n || file.Positions != nil && len(file.Positions) != n {
		return nil, fmt.Errorf("%d entries in \"sequence\", %d in \"blocks\", %d in \"positions\" and %d in \"states\": the numbers must be equal",
			n, len(file.Blocks), len(file.Positions), len(file.States))
	}
	m.States = []byte(file.States)
	m.Runs = make([]Run, n)
	for i, t := range file.Sequence {
		if t < 0 || int(t) >= len(m.Treatments) {
			return nil, fmt.Errorf("run %d has treatment %d, and there are %d treatments", i, t, len(m.Treatments))
		}
		m.Runs[i] = Run{Treatment: t, Block: file.Blocks[i]}
	}
	next := positions(m.Runs)
	for i := range m.Runs {
		m.Runs[i].Position = next(i)
		if file.Positions != nil {
			m.Runs[i].Position = file.Positions[i]
		}
	}
	for i, s := range m.States {
		switch s {
		case StatePending, StateKept, StateVoid, StateFailed:
		default:
			return nil, fmt.Errorf("run %d has state %q: not one of \".kvf\"", i, s)
		}
	}
	return m, nil
}

// ReadManifest reads the manifest of a result folder.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read result folder %q: it has no %s, so no run has started there: %w", dir, ManifestFile, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read result folder %q: %v", dir, err)
	}
	m, err := decodeManifest(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %v", path, err)
	}
	return m, nil
}

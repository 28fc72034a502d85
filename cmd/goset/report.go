package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"goset/cpulist"
	"goset/harness"
	"goset/host"
	"goset/isolation"
	"goset/rank"
)

// taskReport is everything that is said about one command, and the form of the
// JSON report. Times are in seconds; what is not known is null.
type taskReport struct {
	Selection selectionReport `json:"selection"`
	Telemetry *host.Telemetry `json:"telemetry"`
	Run       runReport       `json:"run"`
}

// selectionReport is how the CPUs were chosen.
type selectionReport struct {
	Sample      float64     `json:"sample_seconds"` // 0: since boot
	Rank        rank.By     `json:"rank"`
	Steer       bool        `json:"steer"`
	Task        cpulist.Set `json:"task"`
	Housekeeper *int        `json:"housekeeper"`
	CPUs        []placeRow  `json:"cpus"`
}

// placeRow is one CPU of the ranking.
type placeRow struct {
	CPU       int         `json:"cpu"`
	Mark      string      `json:"mark"`  // * task, & housekeeper, ! fenced
	Fixed     *uint64     `json:"fixed"` // null, as all counts of a CPU that is offline
	Steerable *uint64     `json:"steerable"`
	Busy      *float64    `json:"busy_seconds"`
	Beside    *float64    `json:"sibling_busy_seconds"`
	Steal     *float64    `json:"steal_seconds"`
	Waited    *float64    `json:"waited_seconds"`
	SoftIRQs  *uint64     `json:"softirqs"`
	Cost      *float64    `json:"cost"`
	Siblings  cpulist.Set `json:"siblings"` // without itself
	Package   *int        `json:"package"`
	Node      *int        `json:"node"`
	Kind      string      `json:"kind"`
	Isolated  bool        `json:"isolated"`
	NoHZFull  bool        `json:"nohz_full"`
	RCUNoCBs  *bool       `json:"rcu_nocbs"`
	Free      bool        `json:"free"`
	Why       string      `json:"why"`
}

// runReport is how the command went.
type runReport struct {
	Command     []string  `json:"command"`
	Start       time.Time `json:"start"`
	Wall        float64   `json:"wall_seconds"`
	User        float64   `json:"user_seconds"`
	Sys         float64   `json:"sys_seconds"`
	MaxRSS      int64     `json:"max_rss_bytes"`
	RSSFloor    int64     `json:"max_rss_floor_bytes"`
	Voluntary   int64     `json:"voluntary_switches"`
	Involuntary int64     `json:"involuntary_switches"`
	MinorFaults int64     `json:"minor_faults"`
	MajorFaults int64     `json:"major_faults"`
	Exit        int       `json:"exit"`
	Signal      string    `json:"signal,omitempty"`
	Leftover    int       `json:"leftover_processes"`
	// Scheduler is the policy that the command ended with; null: not known.
	Scheduler *string                `json:"scheduler"`
	Layers    []isolation.LayerState `json:"layers"`
	Warnings  []string               `json:"warnings"`
}

// newReport gathers what is known after the run.
func (t *task) newReport(res harness.Result, w *watch) *taskReport {
	floor := harness.RSSFloor() // before the report takes memory
	fenced := cpulist.Set{}
	if t.mode.Fence {
		fenced = t.siblings
	}
	r := &taskReport{
		Selection: newSelection(host.Local, t.ranking, t.selection, fenced),
		Telemetry: w.telemetry,
		Run: runReport{
			Command: t.argv, Start: res.Start, Wall: res.Wall.Seconds(), User: res.User.Seconds(), Sys: res.Sys.Seconds(),
			MaxRSS: res.MaxRSS, RSSFloor: floor, Voluntary: res.Voluntary, Involuntary: res.Involuntary,
			MinorFaults: res.MinorFaults, MajorFaults: res.MajorFaults, Exit: res.Exit, Signal: res.Signal,
			Leftover: res.Leftover, Layers: res.Layers, Scheduler: w.scheduler, Warnings: []string{},
		},
	}
	if t.opt.sample == 0 || t.opt.mode.CPUs != "" {
		r.Selection.Sample = 0
	}
	if res.Leftover > 0 {
		r.warn("%s of the command outlived it and run on", plural(res.Leftover, "process", "processes"))
	}
	for _, state := range res.Layers {
		if !state.Held {
			r.warn("%s", unheld(state))
		}
		// What stands in the row of the layer is not said twice.
		if state.Warning != "" && !strings.Contains(state.Note, state.Warning) {
			r.warn("%s: %s", layerName(state.Layer), state.Warning)
		}
	}
	return r
}

// unheld says why a layer was not held.
func unheld(s isolation.LayerState) string {
	return fmt.Sprintf("%s was not held: %s", layerName(s.Layer), s.Note)
}

func (r *taskReport) warn(format string, args ...any) {
	r.Run.Warnings = append(r.Run.Warnings, fmt.Sprintf(format, args...))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// newSelection turns a ranking into rows. The choice may be none (zero).
func newSelection(root host.FS, ranking rank.Ranking, s rank.Selection, fenced cpulist.Set) selectionReport {
	out := selectionReport{Sample: ranking.Options.Sample.Seconds(), Rank: ranking.Options.By, Steer: ranking.Options.Steer, Task: s.Set}
	if s.Housekeeper >= 0 && !s.Set.Empty() {
		out.Housekeeper = &s.Housekeeper
	}
	nocbs := rcuNoCBs(root)
	busy := map[int]*float64{}
	for _, p := range ranking.Places {
		busy[p.ID] = seconds(p.Busy)
	}
	for _, p := range ranking.Places {
		row := placeRow{
			CPU: p.ID, Busy: busy[p.ID], Steal: seconds(p.Steal), Waited: seconds(p.Waited),
			SoftIRQs: p.SoftIRQs, Siblings: p.Siblings.Minus(cpulist.Of(p.ID)), Package: p.Package, Node: p.Node,
			Kind: p.Kind, Isolated: p.Isolated, NoHZFull: p.NoHZFull, Free: p.Free, Why: p.Reason,
		}
		if p.Online {
			row.Fixed, row.Steerable, row.Cost = &p.Fixed, &p.Steerable, &p.Cost
		}
		for sibling := range row.Siblings.All() {
			if b := busy[sibling]; b != nil {
				row.Beside = new(*b + deref(row.Beside))
			}
		}
		if nocbs != nil {
			row.RCUNoCBs = new(nocbs.Contains(p.ID))
		}
		switch {
		case s.Set.Contains(p.ID):
			row.Mark = "*"
		case out.Housekeeper != nil && p.ID == *out.Housekeeper:
			row.Mark = "&"
		case fenced.Contains(p.ID):
			row.Mark = "!"
		}
		out.CPUs = append(out.CPUs, row)
	}
	return out
}

func rcuNoCBs(root host.FS) *cpulist.Set {
	top, err := root.Arrangement()
	if err != nil {
		return nil
	}
	return root.RCUNoCBs(top)
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(d.Seconds())
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// shown are the rows that a text report has room for: those with a mark and the
// first of the others.
func (s selectionReport) shown(most int) (rows []placeRow, left int) {
	for _, row := range s.CPUs {
		if row.Mark != "" || len(rows) < most {
			rows = append(rows, row)
		}
	}
	return rows, len(s.CPUs) - len(rows)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

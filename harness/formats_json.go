package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"goset/metric"
)

// googleRun is one entry of Google Benchmark's "benchmarks".
// https://github.com/google/benchmark, src/json_reporter.cc
type googleRun struct {
	Name          string       `json:"name"`
	RunName       string       `json:"run_name"`
	RunType       string       `json:"run_type"`
	AggregateName string       `json:"aggregate_name"`
	TimeUnit      string       `json:"time_unit"`
	Error         bool         `json:"error_occurred"`
	ErrorMessage  string       `json:"error_message"`
	Skipped       bool         `json:"skipped"`
	SkipMessage   string       `json:"skip_message"`
	RealTime      *json.Number `json:"real_time"`
	CPUTime       *json.Number `json:"cpu_time"`
}

// readGoogle reads the repetitions of every benchmark. Aggregates are left
// out: the repetitions say more, and where they are not printed the median
// stands in for them.
func readGoogle(docs []json.RawMessage, out *formatted) error {
	var file struct {
		Benchmarks []json.RawMessage `json:"benchmarks"`
	}
	if err := one(docs, &file); err != nil {
		return err
	}
	g := googleFile{at: map[string]int{}}
	for _, doc := range file.Benchmarks {
		if err := g.run(doc, out); err != nil {
			return err
		}
	}
	for _, s := range g.series {
		if !s.repetitions {
			s.q.summary = "Google Benchmark printed the median of its repetitions and not them: leave --benchmark_report_aggregates_only out"
		}
		out.add(s.q, s.texts...)
	}
	return nil
}

// googleFile gathers the repetitions.
type googleFile struct {
	series []googleSeries
	at     map[string]int
}

type googleSeries struct {
	q     quantity
	texts []string
	// repetitions is set when the texts are of runs and not of an aggregate.
	repetitions bool
}

func (g *googleFile) run(doc json.RawMessage, out *formatted) error {
	var r googleRun
	if err := decodeNumbers(doc, &r); err != nil {
		return fmt.Errorf("a benchmark is no object of Google Benchmark: %v", err)
	}
	name := r.RunName
	if name == "" {
		name = r.Name
	}
	switch {
	case name == "":
		return errors.New("a benchmark has no name")
	case r.Error || r.Skipped:
		out.absent(name, "the benchmark says: "+quote(r.ErrorMessage+r.SkipMessage))
		return nil
	case r.RunType == "aggregate" && r.AggregateName != "median":
		return nil
	}
	single := r.RunType != "aggregate"
	unit := r.TimeUnit
	if unit == "" {
		unit = "ns"
	}
	g.take(quantity{of: name, name: "real_time", unit: unit, better: metric.Lower}, numberText(r.RealTime), single)
	g.take(quantity{of: name, name: "cpu_time", unit: unit, better: metric.Lower}, numberText(r.CPUTime), single)
	return g.counters(name, doc, single)
}

// counters takes the other numbers of a benchmark: rates and the user's own.
func (g *googleFile) counters(name string, doc json.RawMessage, single bool) error {
	var all map[string]any
	if err := decodeNumbers(doc, &all); err != nil {
		return err
	}
	own := []string{"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "real_time", "cpu_time"}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		n, ok := all[key].(json.Number)
		if !ok || slices.Contains(own, key) {
			continue
		}
		q := quantity{of: name, name: key}
		switch key {
		case "bytes_per_second":
			q.unit, q.better = "B/s", metric.Higher
		case "items_per_second":
			q.unit, q.better = "items/s", metric.Higher
		case "iterations":
			q.hidden = true
		}
		g.take(q, n.String(), single)
	}
	return nil
}

func (g *googleFile) take(q quantity, text string, single bool) {
	if text == "" {
		return
	}
	i, ok := g.at[q.whole()]
	switch {
	case !ok:
		g.at[q.whole()] = len(g.series)
		g.series = append(g.series, googleSeries{q, []string{text}, single})
	case single && !g.series[i].repetitions:
		g.series[i] = googleSeries{q, []string{text}, true}
	case single == g.series[i].repetitions:
		g.series[i].texts = append(g.series[i].texts, text)
	}
}

// readHyperfine reads the results of hyperfine --export-json: the times of
// every command. With several commands the command is part of the name.
func readHyperfine(docs []json.RawMessage, out *formatted) error {
	var file struct {
		Results []struct {
			Command string         `json:"command"`
			Times   []*json.Number `json:"times"`
			Median  *json.Number   `json:"median"`
			User    *json.Number   `json:"user"`
			System  *json.Number   `json:"system"`
			Memory  []*json.Number `json:"memory_usage_byte"`
			Exits   []*int         `json:"exit_codes"`
		} `json:"results"`
	}
	if err := one(docs, &file); err != nil {
		return err
	}
	for _, r := range file.Results {
		prefix := ""
		if len(file.Results) > 1 {
			prefix = r.Command
		}
		times := numberTexts(r.Times)
		if len(times) == 0 {
			times = []string{numberText(r.Median)}
		}
		out.add(quantity{of: prefix, name: "time", unit: "s", better: metric.Lower}, times...)
		out.add(quantity{of: prefix, name: "user time", unit: "s", better: metric.Lower, hidden: true}, numberText(r.User))
		out.add(quantity{of: prefix, name: "system time", unit: "s", better: metric.Lower, hidden: true}, numberText(r.System))
		out.add(quantity{of: prefix, name: "memory", unit: "B", better: metric.Lower, hidden: true}, numberTexts(r.Memory)...)
		out.warnOfNulls("times", r.Command, r.Times)
		out.warnOfNulls("memory values", r.Command, r.Memory)
		bad := 0
		for _, e := range r.Exits {
			if e == nil || *e != 0 {
				bad++
			}
		}
		if bad > 0 {
			out.warn("%d of %d runs of %s did not exit with 0", bad, len(r.Exits), quote(r.Command))
		}
	}
	return nil
}

// readCriterion reads an estimates.json of criterion, in ns, or the messages
// of cargo criterion --message-format=json.
func readCriterion(docs []json.RawMessage, out *formatted) error {
	estimates := 0
	for _, doc := range docs {
		var message struct {
			Reason string `json:"reason"`
			ID     string `json:"id"`
		}
		if err := decodeNumbers(doc, &message); err != nil {
			return fmt.Errorf("a value is no object of criterion: %v", err)
		}
		switch {
		case message.Reason == "benchmark-complete" && message.ID != "":
			if err := criterionValues(doc, message.ID, out); err != nil {
				return err
			}
		case message.Reason != "":
		default:
			if estimates++; estimates > 1 {
				return errors.New("stdout has several estimates, which do not say of which benchmark they are: print one of them")
			}
			if err := criterionValues(doc, "", out); err != nil {
				return err
			}
		}
	}
	return nil
}

// criterionValue is an estimate: of a file by point_estimate, of a message by
// estimate with its unit.
type criterionValue struct {
	Point    *json.Number `json:"point_estimate"`
	Estimate *json.Number `json:"estimate"`
	Unit     string       `json:"unit"`
}

func criterionValues(doc json.RawMessage, of string, out *formatted) error {
	var all map[string]json.RawMessage
	if err := decodeNumbers(doc, &all); err != nil {
		return err
	}
	for _, name := range []string{"typical", "mean", "median", "slope", "median_abs_dev", "std_dev"} {
		text := all[name]
		if len(text) == 0 || string(text) == "null" {
			continue // criterion has no slope where it sampled flat
		}
		var v criterionValue
		if err := decodeNumbers(text, &v); err != nil {
			return fmt.Errorf("%s is no estimate: %v", name, err)
		}
		n := v.Point
		if n == nil {
			n = v.Estimate
		}
		unit := v.Unit
		if unit == "" {
			unit = "ns"
		}
		spread := strings.HasSuffix(name, "_dev")
		out.add(quantity{of: of, name: name, unit: unit, better: metric.Lower, hidden: spread}, numberText(n))
	}
	return nil
}

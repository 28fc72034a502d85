package report

import (
	"context"
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// The CSV inks write RFC 4180 with a header, in base units, with as many
// digits as give the same float64 back. An empty field is an absent value.

// SummaryCSV writes one line per row of every table: all numbers of [Row].
// The factors of the experiment, in the order of the plan, are columns of their own.
func SummaryCSV(w io.Writer, tables []Table) error {
	factors := tableFactors(tables)
	taken := []string{"workload", "condition", "mode", "metric", "unit", "better", "baseline"}
	cols := columns()
	for _, c := range cols {
		taken = append(taken, c.name)
	}
	head := append([]string{"workload", "condition", "mode"}, columnNames("factor_", factors.list, taken)...)
	head = append(head, "metric", "unit", "better", "baseline")
	for _, c := range cols {
		head = append(head, c.name)
	}
	out := csv.NewWriter(w)
	out.Write(head) // csv.Writer keeps its first error
	line := make([]string, 0, len(head))
	for i := range tables {
		t := &tables[i]
		for j := range t.Rows {
			r := &t.Rows[j]
			line = append(line[:0], t.Workload, t.Condition, r.Mode)
			line = appendLevels(line, factors.list, t.Levels, r.Levels)
			line = append(line, t.Metric.Name, t.Metric.Unit, string(t.Metric.Better), t.Baseline)
			for _, c := range cols {
				line = append(line, field(c.value(r)))
			}
			out.Write(line)
		}
	}
	out.Flush()
	return out.Error()
}

// field writes a number for programs; an undefined one is empty.
func field(v stats.Value) string {
	if !v.OK || math.IsNaN(v.V) || math.IsInf(v.V, 0) {
		return ""
	}
	return exact(v.V)
}

func tableFactors(tables []Table) names {
	var n names
	for i := range tables {
		for _, l := range tables[i].Levels {
			n.add(l.Factor)
		}
		for j := range tables[i].Rows {
			for _, l := range tables[i].Rows[j].Levels {
				n.add(l.Factor)
			}
		}
	}
	return n
}

// columnNames names the columns of factors or counters. One that has the name
// of a fixed column ("cpus" is a key of modes too) gets a prefix.
func columnNames(prefix string, list, taken []string) []string {
	used := names{}
	for _, t := range taken {
		used.add(t)
	}
	out := make([]string, len(list))
	for i, n := range list {
		for used.set[n] {
			n = prefix + n
		}
		used.add(n)
		out[i] = n
	}
	return out
}

// appendLevels appends the level of every factor; "" where there is none.
func appendLevels(line, factors []string, levels ...[]harness.Level) []string {
	for _, f := range factors {
		v := ""
		for _, ls := range levels {
			for _, l := range ls {
				if l.Factor == f {
					v = l.Value
				}
			}
		}
		line = append(line, v)
	}
	return line
}

// perRun writes the two files that have lines for every run.
type perRun struct {
	d          *Data
	runs       io.Writer
	iterations *csv.Writer
	line       []string
	row, after []byte // a line of runs.csv, and what its metrics have in common
	// named holds, by workload and index of the metric, its two fields.
	named map[string][][]byte
}

// runFixed and iterationFixed are the columns around the factors.
func runFixed() (before, after []string) {
	return []string{"run", "attempt", "block", "position", "previous", "workload", "mode", "condition"},
		[]string{"warmup", "metric", "unit", "value", "outcome", "reason", "exit", "signal", "cpus", "start", "choice_run", "choice_at"}
}

func iterationFixed() (before, after []string) {
	return []string{"run", "attempt", "block", "workload", "mode"}, []string{"metric", "unit", "iteration", "value"}
}

// runsCSV writes one line per run attempt and metric, void, failed and warm-up
// runs too. A run without a value has one line with an empty metric. The
// columns that no run may have, factors and counters, stand between and after the fixed
// ones. previous is the treatment that ran before; empty for the first run.
// start is RFC 3339 with nanoseconds. Of CPUs that a ranking picked, choice_run
// is the run that they were chosen for, whose ranking this one's record has as
// well, and choice_at when. d is of the same source.
func runsCSV(ctx context.Context, w io.Writer, d *Data, src Source) error {
	p := &perRun{d: d, runs: w, named: map[string][][]byte{}}
	for name, w := range d.workloads {
		for _, m := range w.metrics {
			p.named[name] = append(p.named[name], appendFields(nil, []string{m.Name, m.Unit}))
		}
	}
	if err := p.runHeader(); err != nil {
		return err
	}
	return src.Each(ctx, p.run)
}

// iterationsCSV writes one line per iteration of every run attempt; iterations count
// from 1 within their run and metric. d is of the same source.
func iterationsCSV(ctx context.Context, w io.Writer, d *Data, src Source) error {
	p := &perRun{d: d, iterations: csv.NewWriter(w)}
	p.iterationHeader()
	if d.iterations { // or a reading of all records would yield nothing
		if err := src.Each(ctx, p.iteration); err != nil {
			return err
		}
	}
	p.iterations.Flush()
	return p.iterations.Error()
}

func (p *perRun) runHeader() error {
	before, after := runFixed()
	taken := append(append([]string{}, before...), after...)
	fs := columnNames("factor_", p.d.factors.list, taken)
	head := append(append(before, fs...), after...)
	return p.write(append(head, columnNames("counter_", p.d.counters.list, head)...))
}

// write writes one line of runs.csv.
func (p *perRun) write(line []string) error {
	p.row = appendFields(p.row[:0], line)
	p.row[len(p.row)-1] = '\n'
	_, err := p.runs.Write(p.row)
	return err
}

// appendFields appends fields with a comma behind each, as csv.Writer would
// quote them. csv.Writer looks at every field of a line again, and the lines of
// a run's metrics differ in three of twenty.
func appendFields(row []byte, fields []string) []byte {
	for _, f := range fields {
		first, _ := utf8.DecodeRuneInString(f)
		if f == `\.` || strings.ContainsAny(f, ",\"\r\n") || f != "" && unicode.IsSpace(first) {
			row = append(row, '"')
			row = append(row, strings.ReplaceAll(f, `"`, `""`)...)
			row = append(row, '"')
		} else {
			row = append(row, f...)
		}
		row = append(row, ',')
	}
	return row
}

func (p *perRun) iterationHeader() {
	before, after := iterationFixed()
	taken := append(append([]string{}, before...), after...)
	head := append(before, columnNames("factor_", p.d.factors.list, taken)...)
	p.iterations.Write(append(head, after...))
}

// run writes the lines of one record.
func (p *perRun) run(r *harness.Record) error {
	previous := ""
	if r.Previous >= 0 {
		previous = strconv.Itoa(r.Previous)
	}
	outcome, reason := outcomeOf(r)
	line := append(p.line[:0], strconv.Itoa(r.Run), strconv.Itoa(r.Attempt), strconv.Itoa(r.Block), strconv.Itoa(r.Position), previous, r.Workload, r.Mode, r.Condition)
	line = appendLevels(line, p.d.factors.list, r.Levels)
	line = append(line, strconv.FormatBool(r.Warmup))
	at := len(line) // metric, unit, value
	line = append(line, "", "", "", string(outcome), reason, strconv.Itoa(r.Exit), r.Signal, r.CPUs, r.Start.Format(time.RFC3339Nano))
	line = appendChoice(line, r.Choice)
	for _, c := range p.d.counters.list {
		field := ""
		if v, ok := r.Counters[c]; ok {
			field = exact(v)
		}
		line = append(line, field)
	}
	p.line = line
	if len(r.Values) == 0 {
		return p.write(line)
	}
	p.row = appendFields(p.row[:0], line[:at])
	prefix := len(p.row)
	p.after = appendFields(p.after[:0], line[at+3:])
	p.after[len(p.after)-1] = '\n'
	named := p.named[r.Workload]
	for i, m := range p.metrics(r) {
		v, ok := r.Values[m.Name]
		if !ok {
			continue
		}
		p.row = append(p.row[:prefix], named[i]...)
		p.row = append(appendExact(p.row, v), ',')
		p.row = append(p.row, p.after...)
		if _, err := p.runs.Write(p.row); err != nil {
			return err
		}
	}
	return nil
}

// appendChoice appends which run CPUs were chosen for, and when; "" where none
// were, or where the record does not say it.
func appendChoice(line []string, c *harness.Choice) []string {
	if c == nil || c.At.IsZero() {
		return append(line, "", "")
	}
	return append(line, strconv.Itoa(c.Run), c.At.Format(time.RFC3339Nano))
}

// iteration writes the lines of one record.
func (p *perRun) iteration(r *harness.Record) error {
	if len(r.Iterations) == 0 {
		return nil
	}
	line := append(p.line[:0], strconv.Itoa(r.Run), strconv.Itoa(r.Attempt), strconv.Itoa(r.Block), r.Workload, r.Mode)
	line = appendLevels(line, p.d.factors.list, r.Levels)
	at := len(line)
	line = append(line, "", "", "", "")
	p.line = line
	for _, m := range p.metrics(r) {
		line[at], line[at+1] = m.Name, m.Unit
		for i, v := range r.Iterations[m.Name] {
			line[at+2], line[at+3] = strconv.Itoa(i+1), exact(v)
			if err := p.iterations.Write(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// metrics returns the metrics of a record's workload in the order of description.
func (p *perRun) metrics(r *harness.Record) []metric.Metric {
	if w := p.d.workloads[r.Workload]; w != nil {
		return w.metrics
	}
	return nil
}

package report

import (
	"fmt"
	"strconv"
	"strings"

	"goset/metric"
)

// heading names a table: "jitter · time, ms (lower is better)".
func (t *Table) heading() string { return t.Name() + " · " + heading(t.Metric, formatOf(t).unit) }

// heading names the metric, its unit and its good direction.
func heading(m metric.Metric, unit string) string {
	if m.Name == "" {
		return "no values"
	}
	s := m.Name
	if unit != "" && !strings.HasSuffix(s, " "+unit) && s != unit {
		s += ", " + unit
	}
	if m.Better != metric.Unknown {
		s += " (" + string(m.Better) + " is better)"
	}
	return s
}

func countsLine(t *Table) string {
	s := fmt.Sprintf("runs: %d kept, %d void, %d failed", t.Counts.Kept, t.Counts.Void, t.Counts.Failed)
	if t.Counts.Warmup > 0 {
		s += fmt.Sprintf(" (and %d to warm up)", t.Counts.Warmup)
	}
	if t.Baseline != "" {
		s += "; baseline: " + t.Baseline
	}
	return s
}

// noteNumbers gives every row the numbers of its notes: "1,6"; nil where no row
// has any.
func noteNumbers(t *Table) []string {
	marks, any := make([]string, len(t.Rows)), false
	for i := range t.Notes {
		for _, r := range t.Notes[i].Rows {
			if marks[r] != "" {
				marks[r] += ","
			}
			marks[r] += strconv.Itoa(i + 1)
			any = true
		}
	}
	if !any {
		return nil
	}
	return marks
}

// noteText names the rows that a note is about, unless it is about all.
func noteText(t *Table, n *Note) string {
	if len(n.Rows) == 0 || len(n.Rows) == len(t.Rows) && len(t.Rows) > 1 {
		return n.Text
	}
	labels := make([]string, len(n.Rows))
	for i, r := range n.Rows {
		labels[i] = t.Rows[r].Label()
	}
	return n.Text + " — " + strings.Join(labels, ", ")
}

func noteTone(n *Note) tone {
	return map[Topic]tone{TopicWild: alarm, TopicLoose: cautious}[n.Topic]
}

// excludedLines lists the void and failed runs: the first few of each row and
// how many more there are.
func excludedLines(t *Table) []string {
	var out []string
	for i := range t.Rows {
		r := &t.Rows[i]
		for _, e := range r.Excluded {
			out = append(out, excludedLine(r, &e))
		}
		if more := r.Counts.Void + r.Counts.Failed - len(r.Excluded); more > 0 {
			out = append(out, fmt.Sprintf("… and %d more of %s", more, r.Label()))
		}
	}
	return out
}

func excludedLine(r *Row, e *Excluded) string {
	s := fmt.Sprintf("%s: %s, block %d", e.Outcome, r.Label(), e.Block)
	if e.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

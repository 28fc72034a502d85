package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"goset/stats"
)

// Note is a footnote: each text stands once, with the rows that it is about.
type Note struct {
	Text  string
	Rows  []int // indices into Table.Rows; none: the whole table
	Topic Topic // "": none of those that are summed up above the tables
}

// The CV above which runs scatter more than a quiet machine lets them, and
// above which a comparison of medians is not to be trusted.
const (
	cvLook    = 0.05
	cvCompare = 0.10
)

// notes collects footnotes in order of appearance.
type notes struct{ list []Note }

func (n *notes) add(text string, row int) { n.about("", text, row) }

func (n *notes) about(topic Topic, text string, row int) {
	for i := range n.list {
		if n.list[i].Text != text {
			continue
		}
		if !slices.Contains(n.list[i].Rows, row) {
			n.list[i].Rows = append(n.list[i].Rows, row)
		}
		return
	}
	n.list = append(n.list, Note{Text: text, Rows: []int{row}, Topic: topic})
}

// notesOf says what is to be known about a table: the gravest first.
func notesOf(t *Table, g *group, m int) []Note {
	var n notes
	f := formatOf(t)
	for i := range t.Rows {
		n.variation(i, &t.Rows[i])
	}
	for i, tr := range g.treatments {
		n.places(i, tr, m, f)
		n.choices(i, tr)
		n.gaps(i, tr, m, &t.Rows[i])
	}
	for i := range t.Rows {
		// Below 6 values the cells themselves say what is missing.
		if s := &t.Rows[i].Summary; s.N >= 6 {
			for _, w := range s.Warnings {
				if strings.Contains(w, "flagged as outliers") {
					w = outlierNote(s, g.treatments[i], m)
				}
				n.add(w, i)
			}
		}
	}
	for i, tr := range g.treatments {
		n.unread(i, tr)
		n.recorded(i, tr)
	}
	return n.list
}

// maxOutliers is how many flagged runs a note lists.
const maxOutliers = 5

// outlierNote lists the flagged runs by where and when they ran: an outlier
// with a time can be looked up in the machine's log.
func outlierNote(s *stats.Summary, tr *treatment, m int) string {
	flagged := s.Outliers.Flagged
	var where []string
	for _, i := range flagged[:min(maxOutliers, len(flagged))] {
		k := tr.lookup(m).at[i]
		text := fmt.Sprintf("run %d", i+1)
		if at := tr.starts[k]; at != 0 { // figures taken elsewhere have neither time nor rounds
			text += fmt.Sprintf(" in round %d, place %d, at %s", tr.blocks[k], tr.positions[k], time.Unix(0, at).UTC().Format("15:04:05Z"))
		}
		where = append(where, text)
	}
	if more := len(flagged) - maxOutliers; more > 0 {
		where = append(where, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%d of %d values flagged as outliers, none dropped (%s)", len(flagged), s.N, strings.Join(where, "; "))
}

// variation is the verdict of the CV.
func (n *notes) variation(i int, r *Row) {
	switch cv := r.Summary.CV; {
	case !cv.OK:
	case cv.V > cvCompare:
		n.about(TopicWild, "CV above 10%: do not compare", i)
	case cv.V > cvLook:
		n.about(TopicLoose, "CV above 5%: look at the environment", i)
	}
}

// places tells of runs that were not all on the same CPUs, and what they came to
// on each.
func (n *notes) places(i int, tr *treatment, m int, f format) {
	if len(tr.cpus.texts) < 2 {
		return
	}
	byCPU := make([][]float64, len(tr.cpus.texts))
	if m >= 0 {
		c := tr.lookup(m)
		for k, v := range c.values {
			if at := tr.onCPUs[c.at[k]]; at >= 0 {
				byCPU[at] = append(byCPU[at], v)
			}
		}
	}
	var at []string
	for j, c := range tr.cpus.texts {
		text := cmp.Or(c, "any")
		if median, err := stats.Median(byCPU[j]); err == nil && median.OK {
			text = fmt.Sprintf("%s: median %s of %d %s", text, f.quantity(median), len(byCPU[j]), plural(len(byCPU[j]), "run"))
		}
		at = append(at, text)
	}
	if tr.cpus.other > 0 {
		at = append(at, "…")
	}
	n.about(TopicCPUs, fmt.Sprintf("runs were on different CPUs (%s): the spread includes differences between cores", strings.Join(at, "; ")), i)
}

// choices tells of runs on the CPUs that were the quietest at another time.
func (n *notes) choices(i int, tr *treatment) {
	if tr.takenOver > 0 {
		n.add(fmt.Sprintf("%d of %d runs were on CPUs that had been chosen as the quietest for an earlier run, up to %v before",
			tr.takenOver, tr.counts.Kept, tr.oldest.Round(time.Second)), i)
	}
}

// gaps tells of values and iterations that the numbers leave out.
func (n *notes) gaps(i int, tr *treatment, m int, r *Row) {
	if tr.warmupBad > 0 {
		n.add(fmt.Sprintf("%d of %d warm-up runs failed or were void", tr.warmupBad, tr.counts.Warmup), i)
	}
	if m < 0 {
		return
	}
	c := tr.lookup(m)
	if text := c.warmup.text(); text != "" {
		topic := Topic("")
		if stats.NoSteadyState(c.warmup.runs) {
			topic = TopicSteady
		}
		n.about(topic, text, i)
	}
	if c.bad > 0 {
		n.add(fmt.Sprintf("%d values are not finite and left out", c.bad), i)
	}
	if missing := r.Counts.Kept - r.Summary.N - c.bad; missing > 0 {
		n.add(fmt.Sprintf("%d kept runs have no value of this metric", missing), i)
	}
	if it := r.Iterations; it.Pooled < it.N {
		n.add(fmt.Sprintf("too many iterations to keep all: quantiles are of %d out of %d, thinned evenly", it.Pooled, it.N), i)
	}
}

// unread tells of layers that counted as held though nobody could look.
func (n *notes) unread(i int, tr *treatment) {
	for _, layer := range slices.Sorted(maps.Keys(tr.unread)) {
		n.add(fmt.Sprintf("layer %q was read back in %d of %d runs; the others had ended before that, or may not be read, and have what their exec was given",
			layer, tr.counts.Kept-tr.unread[layer], tr.counts.Kept), i)
	}
}

// recorded passes on what the records warn of.
func (n *notes) recorded(i int, tr *treatment) {
	for _, w := range tr.warnings.texts {
		n.add(w, i)
	}
	if tr.warnings.other > 0 {
		n.add(fmt.Sprintf("%d further warnings, in the records", tr.warnings.other), i)
	}
}

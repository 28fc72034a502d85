package report

import (
	"slices"
	"strings"

	"goset/harness"
	"goset/stats"
)

// summaryLine is one comparison of a median in a line.
type summaryLine struct{ metric, before, after, verdict string }

func summaryOf(t *Table, c *Contrast, f format) summaryLine {
	median := func(row int) string {
		v := t.Rows[row].Summary.Median
		if !v.OK {
			return undefined
		}
		return strings.TrimRight(f.number(v.V)+" "+f.unit, " ")
	}
	s := summaryLine{metric: t.Metric.Name, before: median(c.Base), after: median(c.Row), verdict: summaryWord(&c.Location.Verdict)}
	if t.Metric.Benchmark == "" || len(t.Levels) > 0 {
		s.metric = t.Name() + ": " + s.metric
	}
	return s
}

// summaryWord is a verdict in the space of a column.
func summaryWord(v *stats.Verdict) string {
	switch {
	case v.Kind == stats.NotJudged:
		return "same binary"
	case v.Kind == stats.DeterministicEqual:
		return "equal"
	case v.Kind == stats.NotResolved, v.Claims(), v.Kind == stats.NoClaim:
		return string(v.Kind)
	}
	return v.Text
}

// summaryFrom is the number of comparisons from which on a summary stands before
// the tables.
const summaryFrom = 3

// summary has a line for every benchmark, unit and comparison, before the tables
// that have all of each; none where the tables are of anything else than
// benchmarks, or few.
func (d *Document) summary() (viewPart, bool) {
	var compared, modes, packages names
	count := 0
	for i := range d.Tables {
		t := &d.Tables[i]
		if t.Metric.Benchmark == "" && (d.Manifest != nil || t.isBlocked()) {
			return viewPart{}, false
		}
		packages.add(t.Metric.Package)
		for j := range t.Contrasts {
			if c := &t.Contrasts[j]; !c.Control {
				modes.add(t.Rows[c.Row].Mode)
				modes.add(t.Rows[c.Base].Mode)
				compared.add(c.X + " against " + c.Y)
				count++
			}
		}
	}
	if count < summaryFrom {
		return viewPart{}, false
	}
	s := summaryWords{one: len(compared.list) == 1}
	if len(packages.list) == 1 {
		s.pkg = packages.list[0]
	}
	if len(modes.list) == 1 {
		s.mode = modes.list[0]
	}
	p := viewPart{Heading: "Summary"}
	if s.one {
		p.Heading += ": " + s.pair(compared.list[0])
	}
	p.Grids = []grid{d.summaryGrid(&s)}
	return p, true
}

// summaryWords is what all lines have in common: they leave it out.
type summaryWords struct {
	pkg, mode string // "": they differ
	one       bool   // there is one comparison
}

// name is that of a benchmark with its unit, and what else its table is of but
// the package, which stands in it.
func (s *summaryWords) name(t *Table) string {
	if t.Metric.Benchmark == "" {
		return t.Name() + ": " + t.Metric.Name
	}
	levels := slices.DeleteFunc(slices.Clone(t.Levels), func(l harness.Level) bool { return l.Factor == "package" })
	name := label(strings.TrimPrefix(t.Metric.Name, s.pkg+"."), levels)
	if t.Condition != "" {
		name += ", condition " + t.Condition
	}
	return name
}

// pair names what is compared.
func (s *summaryWords) pair(text string) string {
	if s.mode == "" {
		return text
	}
	return strings.ReplaceAll(strings.TrimPrefix(text, s.mode+" "), " against "+s.mode+" ", " against ")
}

func (d *Document) summaryGrid(words *summaryWords) grid {
	g := grid{Head: words.pkg}
	cells := make([][]string, 5)
	blocked := false
	for i := range d.Tables {
		t := &d.Tables[i]
		f := formatOf(t)
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			if c.Control {
				continue
			}
			s := summaryOf(t, c, f)
			label := words.name(t)
			if !words.one {
				label += ", " + words.pair(c.X+" against "+c.Y)
			}
			blocked = blocked || c.Blocked
			plain := func(median string) string { // the name ends with the unit already
				if strings.HasSuffix(s.metric, " "+f.unit) {
					return strings.TrimSuffix(median, " "+f.unit)
				}
				return median
			}
			g.Labels = append(g.Labels, label)
			for k, text := range []string{plain(s.before), plain(s.after), changeOf(c, f, c.Location.Change), changeInterval(c, f), s.verdict} {
				cells[k] = append(cells[k], text)
			}
		}
	}
	for k, head := range []string{"before", "after", strings.ReplaceAll(changeName(blocked), " within", "\nwithin"), "95% interval", "verdict"} {
		g.Columns = append(g.Columns, gridColumn{Head: head, Cells: cells[k], Joined: head == "95% interval"})
	}
	return g
}

package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"goset/stats"
)

const sessionsLegend = "Each session: n rounds, the Hodges–Lehmann ratio of its rounds and the ratio of its sds with the session's own intervals, p_adj after Holm within the session. " +
	"mean: over the sessions, of the logarithms, ± Student's factor × √(S²/sessions), p_adj by Student's test (both if normal) after Holm over the comparisons of one metric in one table."

const levelsLegend = "Kalibera and Jones (2013): sd of rounds and of sessions are √T² of the logarithms, so about shares; of the spread by the jackknife, which is rough below 20 rounds. " +
	"T² < 0: sessions add no variance that can be detected. Next time: the rounds in a session that are best by the costs, and the sessions, never fewer than 5, in which the effect of -effect (a median change of 1%, an sd ratio of 1.2) would be found with a power of 0.8; " +
	"where T² < 0 the rounds that 5 sessions need for it; for the spread never fewer than 6 rounds. Below 6 rounds a session has no interval of its own."

// view makes the texts of sessions.
func (s *Sessions) view() *view {
	v := &view{title: cmp.Or(s.Title, s.Experiment), scope: s.Scope}
	for _, text := range s.SelfCheck {
		v.lines = append(v.lines, viewLine{Text: text, Tone: alarm})
	}
	for _, h := range s.Headlines {
		v.lines = append(v.lines, viewLine{Text: h.Text, Tone: toneOf(h.Grade)})
	}
	for _, text := range s.Notes {
		v.lines = append(v.lines, viewLine{Text: text, Tone: cautious})
	}
	v.parts = append(v.parts, viewPart{Heading: fmt.Sprintf("%d %s", len(s.Each), plural(len(s.Each), "session")), Grids: []grid{s.grid()}})
	levels := false
	for i := range s.Tables {
		t := &s.Tables[i]
		p := viewPart{Heading: t.first.heading(), Grids: []grid{t.grid()}, Lines: t.lines()}
		if len(s.Each) > 1 {
			p.Grids, levels = append(p.Grids, t.levelsGrid(&s.Costs)), true
		}
		v.parts = append(v.parts, p)
	}
	if len(s.Tables) > 0 {
		v.legend = sessionsLegend
	}
	if levels {
		v.legend += " " + levelsLegend
	}
	return v
}

// grid lists the sessions.
func (s *Sessions) grid() grid {
	g := grid{Head: "session"}
	var began, runs, left, boot []string
	boots := names{}
	for i := range s.Each {
		f := &s.Each[i]
		g.Labels = append(g.Labels, fmt.Sprintf("%d %s", i+1, f.Name))
		began = append(began, f.Start.UTC().Format(time.DateTime))
		runs = append(runs, fmt.Sprintf("%d of %d", f.Counts.Kept, f.Planned))
		left = append(left, strconv.Itoa(f.Counts.Void+f.Counts.Failed))
		word := "-"
		if f.Boot != "" {
			boots.add(f.Boot)
			for n, b := range boots.list {
				if b == f.Boot {
					word = "boot " + strconv.Itoa(n+1)
				}
			}
		}
		boot = append(boot, word)
	}
	g.Columns = []gridColumn{{Head: "began (UTC)", Cells: began}, {Head: "runs kept", Cells: runs}, {Head: "left out", Cells: left}, {Head: "boot", Cells: boot}}
	return g
}

// lines are the findings under a table.
func (t *SessionTable) lines() []viewLine {
	var out []viewLine
	for j := range t.Contrasts {
		c := &t.Contrasts[j]
		for _, e := range []struct {
			about string
			*SessionEffect
		}{{changeName(t.first.isBlocked()), &c.Median}, {"spread", &c.Spread}} {
			l := viewLine{Text: fmt.Sprintf("%s against %s, %s: %s", c.X, c.Y, e.about, e.Verdict.Text), Tone: toneOf(e.Grade)}
			if c.Control && e.Verdict.Claims() {
				l.Tone = alarm
			}
			out = append(out, l)
		}
	}
	return out
}

// grid has, for each contrast, the mean over the sessions and a row for each.
func (t *SessionTable) grid() grid {
	g := grid{Head: "against " + t.first.base()}
	f := formatOf(t.first)
	cols := contrastColumns(t.first.isBlocked())
	cells := make([][]string, len(cols)+1)
	for j := range t.Contrasts {
		c := &t.Contrasts[j]
		name := c.label(t)
		g.Labels = append(g.Labels, fmt.Sprintf("%s: mean of %s", name, c.count()))
		cells[0] = append(cells[0], "")
		for k, text := range t.means(c) {
			cells[k+1] = append(cells[k+1], text)
		}
		for i := range c.Values {
			g.Labels = append(g.Labels, fmt.Sprintf("%s: session %d", name, i+1))
			own := c.Values[i].Contrast
			if own == nil {
				for k := range cells {
					cells[k] = append(cells[k], undefined)
				}
				continue
			}
			cells[0] = append(cells[0], strconv.Itoa(min(own.N, own.M)))
			for k := range cols {
				cells[k+1] = append(cells[k+1], cols[k].cell(own, f))
			}
		}
	}
	g.Columns = append(g.Columns, gridColumn{Head: "n", Cells: cells[0]})
	for k := range cols {
		g.Columns = append(g.Columns, gridColumn{Head: cols[k].head, Cells: cells[k+1], Joined: cols[k].joined})
	}
	return g
}

func (c *SessionContrast) label(t *SessionTable) string {
	if c.Y == t.first.base() {
		return c.X
	}
	return c.X + " against " + c.Y
}

// count says how many sessions the two means are of.
func (c *SessionContrast) count() string {
	if c.Median.N == c.Spread.N {
		return strconv.Itoa(c.Median.N)
	}
	return fmt.Sprintf("%d, sd of %d", c.Median.N, c.Spread.N)
}

// means fill the columns of contrastColumns with what is over the sessions, as
// in the rows below it without the unit.
func (t *SessionTable) means(c *SessionContrast) []string {
	f := formatOf(t.first)
	change, interval := undefined, undefined
	mean, ci := c.changes()
	if mean.OK {
		change = f.change(c.Difference, mean.V, ci)
	}
	if ci.OK && (c.Difference || !c.Median.vague()) {
		interval = f.changes(c.Difference, ci)
	}
	ratio, ratioCI := c.ratios()
	if c.Spread.vague() {
		ratioCI = stats.Interval{}
	}
	return []string{change, interval, adjusted(c.Median.PAdj), ratioOf(ratio), ratiosOf(ratioCI), adjusted(c.Spread.PAdj)}
}

// levelsGrid has the components of variance and what they say of the next time.
func (t *SessionTable) levelsGrid(costs *SessionCosts) grid {
	g := grid{Head: "components"}
	cells := make([][]string, 5)
	for j := range t.Contrasts {
		c := &t.Contrasts[j]
		if c.Control {
			continue // nobody plans to find that a mode differs from itself
		}
		for _, e := range []struct {
			about string
			*SessionEffect
			difference bool
		}{{"median", &c.Median, c.Difference}, {"spread", &c.Spread, false}} {
			g.Labels = append(g.Labels, c.label(t)+": "+e.about)
			for k, text := range e.levelCells(formatOf(t.first), e.difference, costs) {
				cells[k] = append(cells[k], text)
			}
		}
	}
	for k, head := range []string{"sd of rounds", "sd of sessions", "next: rounds", "sessions", "a session takes"} {
		g.Columns = append(g.Columns, gridColumn{Head: head, Cells: cells[k]})
	}
	return g
}

func (e *SessionEffect) levelCells(f format, difference bool, costs *SessionCosts) []string {
	root := func(v stats.Value) string {
		switch {
		case !v.OK:
			return undefined
		case v.V < 0:
			return "0 (T² < 0)"
		case difference:
			return f.deviation(stats.Value{V: math.Sqrt(v.V), OK: true})
		}
		return percent(stats.Value{V: math.Sqrt(v.V), OK: true})
	}
	takes := undefined
	if n := e.Next.Rounds; n.OK && n.V <= manyOf {
		takes = seconds(costs.session() + n.V*costs.Round.V)
	}
	return []string{root(e.Levels.T2[0]), root(e.Levels.T2[1]), countText(e.Next.Rounds), countText(e.Next.Sessions), takes}
}

// manyOf is beyond what anybody runs.
const manyOf = 1000

func countText(v stats.Value) string {
	switch {
	case !v.OK:
		return undefined
	case v.V > manyOf:
		return fmt.Sprintf(">%d", manyOf)
	}
	return strconv.FormatFloat(v.V, 'f', 0, 64)
}

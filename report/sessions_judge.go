package report

import (
	"fmt"
	"math"
	"strings"

	"goset/metric"
	"goset/stats"
)

// name says where: "jitter: time".
func (t *SessionTable) name() string {
	return place{t: t.first}.name()
}

// judge adjusts the p-values and puts the findings into words. As in the report
// of one session a family is the comparisons of one metric in one table, and
// the controls of all tables.
func (s *Sessions) judge(sequential bool) {
	var control [2][]*stats.Across
	for i := range s.Tables {
		var family [2][]*stats.Across
		for j := range s.Tables[i].Contrasts {
			c := &s.Tables[i].Contrasts[j]
			to := &family
			if c.Control {
				to = &control
			}
			to[0], to[1] = append(to[0], &c.Median.Across), append(to[1], &c.Spread.Across)
		}
		stats.AdjustAcross(family[0])
		stats.AdjustAcross(family[1])
	}
	stats.AdjustAcross(control[0])
	stats.AdjustAcross(control[1])
	for i := range s.Tables {
		s.Tables[i].verdicts(len(control[0]))
	}
	s.selfCheck()
	doubts := s.doubts(sequential)
	for i := range s.Tables {
		for j := range s.Tables[i].Contrasts {
			c := &s.Tables[i].Contrasts[j]
			for _, e := range []*SessionEffect{&c.Median, &c.Spread} {
				e.Appraisal = grade(e.Verdict, append(e.doubts(), doubts...))
			}
		}
	}
}

func (t *SessionTable) verdicts(controls int) {
	tested := 0
	for j := range t.Contrasts {
		if !t.Contrasts[j].Control {
			tested++
		}
	}
	for j := range t.Contrasts {
		c := &t.Contrasts[j]
		family := tested
		if c.Control {
			family = controls
		}
		c.Median.judge("median", t.change(c), family)
		c.Spread.judge("spread", c.ratio(), family)
	}
}

// selfCheck looks for claims where nothing can be.
func (s *Sessions) selfCheck() {
	for i := range s.Tables {
		t := &s.Tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			for _, e := range []*SessionEffect{&c.Median, &c.Spread} {
				if c.Control && e.Verdict.Claims() {
					s.SelfCheck = append(s.SelfCheck, fmt.Sprintf("SELF-CHECK FAILED: %s: %s against itself: %s: something other than the mode moved the runs, and no verdict below is to be trusted", t.name(), c.Y, e.Verdict.Text))
				}
			}
		}
	}
}

// doubts are those about every claim.
func (s *Sessions) doubts(sequential bool) []string {
	var out []string
	if len(s.SelfCheck) > 0 {
		out = append(out, "the self-check failed")
	}
	if sequential {
		out = append(out, "sequential order: what drifts with time looks like an effect of the mode")
	}
	if n := len(s.Each); n < stats.AdvisedSessions {
		out = append(out, fmt.Sprintf("at least %d sessions are advised, and these are %d", stats.AdvisedSessions, n))
	}
	return out
}

// doubts are those about this claim. Sessions that agree more closely than
// their own rounds let them do so by chance, and make the interval too narrow: few of
// them do so often.
func (e *SessionEffect) doubts() []string {
	if len(e.Levels.T2) < 2 || !e.Levels.T2[1].OK || e.Levels.T2[1].V >= 0 || !e.Mean.OK {
		return nil
	}
	const normal = 1.96                           // of 95%
	within := e.Levels.S2[1].V - e.Levels.T2[1].V // of a session's value, by its rounds alone
	if math.Abs(e.Mean.V) >= normal*math.Sqrt(within/float64(e.N)) {
		return nil
	}
	return []string{"the sessions agree more closely than the scatter of their own rounds explains (T² < 0), which is luck, and by that scatter alone the interval would hold no change"}
}

// size is an effect and the ends of its interval in words; "" where there are none.
type size struct{ mean, interval string }

// change is the size of the median's effect: "-1.20%".
func (t *SessionTable) change(c *SessionContrast) size {
	f, unit := formatOf(t.first), ""
	if c.Difference && f.unit != "" {
		unit = " " + f.unit
	}
	s := size{mean: "no value"}
	mean, ci := c.changes()
	if mean.OK {
		s.mean = f.change(c.Difference, mean.V, ci) + unit
	}
	if ci.OK && (c.Difference || !c.Median.vague()) {
		s.interval = f.changes(c.Difference, ci) + unit
	}
	return s
}

// ratio is the size of the spread's effect: "0.42×".
func (c *SessionContrast) ratio() size {
	s := size{mean: "no ratio"}
	mean, ci := c.ratios()
	if mean.OK {
		s.mean = ratioOf(mean) + "×"
	}
	if ci.OK && !c.Spread.vague() {
		s.interval = ratiosOf(ci)
	}
	return s
}

// changes are the median's mean over the sessions and its interval, as
// fractions or in the metric's unit.
func (c *SessionContrast) changes() (stats.Value, stats.Interval) {
	return c.Median.back(func(v stats.Value) stats.Value { return changeBack(c, v) })
}

// ratios are the spread's mean over the sessions and its interval.
func (c *SessionContrast) ratios() (stats.Value, stats.Interval) { return c.Spread.back(exponential) }

// back takes mean and interval to another scale; an end that is beyond it
// leaves no interval.
func (e *SessionEffect) back(scale func(stats.Value) stats.Value) (mean stats.Value, ci stats.Interval) {
	lo, hi := scale(bound(e.CI, e.CI.Lo)), scale(bound(e.CI, e.CI.Hi))
	for _, end := range []stats.Value{lo, hi} {
		if !end.OK {
			return scale(e.Mean), stats.Interval{Why: end.Why}
		}
	}
	return scale(e.Mean), stats.Interval{Lo: lo.V, Hi: hi.V, Coverage: e.CI.Coverage, OK: true}
}

// changeBack is a value of the median as a fraction, or in the metric's unit.
func changeBack(c *SessionContrast, v stats.Value) stats.Value {
	if !v.OK || c.Difference {
		return v
	}
	return finite(math.Expm1(v.V))
}

// exponential undoes a logarithm.
func exponential(v stats.Value) stats.Value {
	if !v.OK {
		return v
	}
	return finite(math.Exp(v.V))
}

func finite(v float64) stats.Value {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return stats.Value{Why: "out of the range of floating-point arithmetic"}
	}
	return stats.Value{V: v, OK: true}
}

// An interval of a ratio that reaches further than a factor of vagueFactor to
// both sides tells nothing, and one within usefulFactor does.
const (
	vagueFactor  = 10
	usefulFactor = 2
)

// vague says that nothing is resolved and that the interval is too wide to be of
// any use, as of two sessions, for which Student's factor is 12.7.
func (e *SessionEffect) vague() bool {
	return e.CI.OK && (e.CI.Hi-e.CI.Lo)/2 > math.Log(vagueFactor) && !e.CI.Excludes(0)
}

// wide says how many sessions would do where the interval is vague.
func (e *SessionEffect) wide() string {
	if !e.vague() || !e.S2.OK {
		return ""
	}
	text := fmt.Sprintf("%d sessions give no useful interval", e.N)
	n, err := stats.SessionsWithin(math.Log(usefulFactor), e.S2.V, stats.Level)
	if err != nil || !n.OK {
		return text + fmt.Sprintf(", nor would %d", manyOf)
	}
	return text + fmt.Sprintf("; with this scatter %.0f would put it within a factor of %d", n.V, usefulFactor)
}

func (e *SessionEffect) judge(what string, s size, family int) {
	const alpha = 1 - stats.Level
	text := func(kind stats.VerdictKind, format string, args ...any) {
		e.Verdict = stats.Verdict{Kind: kind, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case e.N < 2:
		text(stats.NoClaim, "no claim: %s", e.CI.Why)
	case !e.P.OK && e.S2.OK && e.S2.V == 0:
		text(stats.NotResolved, "the same in each of %d sessions (%s): nothing varies between them that a test could go by", e.N, s.mean)
	case !e.P.OK:
		text(stats.NotResolved, "not resolved: %s", e.P.Why)
	case e.PAdj.V < alpha && e.Mean.V < 0:
		text(stats.LowerVerdict, "lower %s (%s, 95%% %s over %d sessions, p_adj %s)", what, s.mean, s.interval, e.N, stats.FormatP(e.PAdj.V))
	case e.PAdj.V < alpha:
		text(stats.HigherVerdict, "higher %s (%s, 95%% %s over %d sessions, p_adj %s)", what, s.mean, s.interval, e.N, stats.FormatP(e.PAdj.V))
	case e.P.V < alpha:
		text(stats.NotResolved, "not resolved after Holm over %d comparisons (%s, p %s, p_adj %s)", family, s.mean, stats.FormatP(e.P.V), stats.FormatP(e.PAdj.V))
	case s.interval == "" && e.wide() != "":
		text(stats.NotResolved, "not resolved: %s; %s", s.mean, e.wide())
	default:
		text(stats.NotResolved, "not resolved: %s, 95%% %s over %d sessions", s.mean, s.interval, e.N)
	}
}

// headlines say in sentences what the sessions show together.
func (s *Sessions) headlines() []Headline {
	var out []Headline
	for _, q := range []struct {
		noun, gain, loss string
		of               func(*SessionContrast) *SessionEffect
		size             func(*SessionTable, *SessionContrast) string
		better           func(*SessionTable) metric.Direction
	}{
		{"Steadiness", "steadier", "less steady", func(c *SessionContrast) *SessionEffect { return &c.Spread },
			func(_ *SessionTable, c *SessionContrast) string { return "sd " + c.ratio().mean + between95(c.ratio()) }, func(*SessionTable) metric.Direction { return metric.Lower }},
		{"The median", "better", "worse", func(c *SessionContrast) *SessionEffect { return &c.Median },
			func(t *SessionTable, c *SessionContrast) string {
				return changeName(t.first.isBlocked()) + " " + t.change(c).mean + between95(t.change(c))
			}, func(t *SessionTable) metric.Direction { return t.Metric.Better }},
	} {
		var open []string
		for _, t := range s.headlined() {
			for j := range t.Contrasts {
				c := &t.Contrasts[j]
				e := q.of(c)
				switch better := gain(e.Verdict.Kind, q.better(t)); {
				case c.Control:
				case e.Verdict.Claims():
					out = append(out, claimOf(e, better, fmt.Sprintf("%s is %s than %s on %s over %d sessions, %s", c.X, wordFor(e, better, q.gain, q.loss), c.Y, t.name(), e.N, q.size(t, c))))
				default:
					open = append(open, fmt.Sprintf("%s against %s on %s, %s", c.X, c.Y, t.name(), q.size(t, c)))
				}
			}
		}
		if len(open) > 0 {
			out = append(out, Headline{Grade: Open, Text: fmt.Sprintf("%s not resolved over %d %s: %s.", q.noun, len(s.Each), plural(len(s.Each), "session"), someOf(open))})
		}
	}
	return out
}

// between95 is an interval in brackets; nothing where there is none.
func between95(s size) string {
	if s.interval == "" {
		return ""
	}
	return " (95% " + s.interval + ")"
}

func wordFor(e *SessionEffect, better int, gain, loss string) string {
	switch {
	case better > 0:
		return gain
	case better < 0:
		return loss
	case e.Verdict.Kind == stats.HigherVerdict:
		return "higher"
	}
	return "lower"
}

func claimOf(e *SessionEffect, better int, text string) Headline {
	p := "p_adj " + stats.FormatP(e.PAdj.V) + ")."
	if cut, ok := strings.CutSuffix(text, ")"); ok {
		text = cut + ", " + p
	} else {
		text += " (" + p
	}
	if e.Grade == Hint {
		text = "Hint: " + text + " Caution: " + strings.Join(e.Doubts, "; ") + "."
	}
	return Headline{Grade: e.Grade, Better: better, Text: text}
}

// someOf joins the first few parts and counts the others.
func someOf(parts []string) string {
	more := ""
	if n := len(parts) - maxPlaces; n > 0 {
		parts, more = parts[:maxPlaces], fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(parts, "; ") + more
}

// headlined are the tables that the sentences are about.
func (s *Sessions) headlined() []*SessionTable {
	tables := make([]Table, len(s.Tables))
	for i := range s.Tables {
		tables[i] = *s.Tables[i].first
	}
	var out []*SessionTable
	for _, i := range headlined(tables) {
		out = append(out, &s.Tables[i])
	}
	return out
}

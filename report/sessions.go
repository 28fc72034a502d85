package report

import (
	"context"
	"fmt"
	"math"
	"time"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// Session is one result folder among several of the same experiment.
type Session struct {
	Name  string // of the folder, as it was given
	Data  *Data
	Opts  Options // with Manifest
	Clock Clock
}

// ReadSession reads a result folder as one session of several.
func ReadSession(ctx context.Context, name string, src Source, opts Options) (Session, error) {
	w := &watch{Source: src, seen: map[int]bool{}, gaps: map[int][]float64{}}
	data, err := Collect(ctx, w, opts.Treatments, 0)
	if err != nil {
		return Session{}, err
	}
	return Session{name, data, opts, w.clock(opts.Manifest)}, nil
}

// Sessions is what several sessions say together: each contrast has a value in
// every session, and its interval is over the sessions.
type Sessions struct {
	Experiment, Title string
	Each              []SessionFacts
	// SelfCheck lists the verdicts that found a difference between the baseline
	// and its own repetition.
	SelfCheck []string
	Headlines []Headline
	Notes     []string
	Tables    []SessionTable
	Costs     SessionCosts
	Scope     string
}

// SessionTable is one metric of one workload.
type SessionTable struct {
	Workload, Condition string
	Levels              []harness.Level
	Metric              metric.Metric
	Contrasts           []SessionContrast
	first               *Table // that of the first session that has it: for units and names
}

// SessionContrast is a mode against its baseline in every session.
type SessionContrast struct {
	X, Y    string
	Control bool
	// Difference is set where the median's values are differences in the unit
	// of the metric, and not logarithms of ratios.
	Difference bool
	Values     []SessionValue // by session
	// Median is of the Hodges–Lehmann estimate of the log ratio, Spread of
	// ln(sd/sd).
	Median, Spread SessionEffect
}

// SessionValue is what one session says of a contrast.
type SessionValue struct {
	// Contrast is that of the session's own report, with its p after Holm
	// within the session; nil: the session has none.
	Contrast       *Contrast
	Median, Spread stats.Value
	// medians and spreads are by round: log ratios or differences, and the
	// pseudo-values of the sd ratio's logarithm.
	medians, spreads []float64
}

// SessionEffect is one question about a contrast over all sessions.
type SessionEffect struct {
	stats.Across
	// Levels has rounds as its level 1 and sessions as its level 2. It is of the
	// means of what the rounds contribute.
	Levels  stats.Levels
	Verdict stats.Verdict
	Appraisal
	Next NextTime
}

// CompareSessions puts sessions of one experiment beside each other. extra is
// what a session costs beside what its folder tells, a reboot say.
func CompareSessions(list []Session, extra time.Duration) (*Sessions, error) {
	if err := sameExperiment(list); err != nil {
		return nil, err
	}
	first := &list[0]
	s := &Sessions{Experiment: first.Opts.Experiment, Title: first.Opts.Title, Costs: costsOf(list, extra)}
	if s.Costs.Target = first.Opts.Target; s.Costs.Target == (Target{}) {
		s.Costs.Target = DefaultTarget()
	}
	for i := range list {
		s.Each = append(s.Each, factsOfSession(&list[i]))
		if err := s.take(&list[i], i, len(list)); err != nil {
			return nil, err
		}
	}
	for i := range s.Tables {
		for j := range s.Tables[i].Contrasts {
			if err := s.Tables[i].Contrasts[j].combine(&s.Costs); err != nil {
				return nil, err
			}
		}
	}
	s.judge(isSequential(first.Opts.Manifest))
	s.Headlines = s.headlines()
	s.Notes = s.notes(list)
	s.Scope = scopeOfSessions(list)
	return s, nil
}

// take enters the contrasts of one session.
func (s *Sessions) take(one *Session, at, of int) error {
	b, err := one.Data.build(one.Opts)
	if err != nil {
		return err
	}
	for i := range b.tables {
		if err := b.contrast(&b.tables[i]); err != nil {
			return err
		}
	}
	doc := Document{Tables: b.plain()} // its contrasts are those of b
	doc.SelfCheck = selfCheck(doc.Tables)
	doc.appraise(isSequential(one.Opts.Manifest))
	for i := range b.tables {
		t := &b.tables[i]
		if len(t.Contrasts) == 0 {
			continue
		}
		to, err := s.table(&t.Table)
		if err != nil {
			return fmt.Errorf("cannot put session %q beside the others: %v", one.Name, err)
		}
		for j := range t.Contrasts {
			v, err := b.sessionValue(t, &t.Contrasts[j])
			if err != nil {
				return err
			}
			c := to.contrast(&t.Contrasts[j], of)
			c.Values[at] = v
		}
	}
	return nil
}

// table finds a table by its name and metric, or adds it.
func (s *Sessions) table(t *Table) (*SessionTable, error) {
	for i := range s.Tables {
		if o := s.Tables[i].first; o.Name() == t.Name() && o.Metric.Name == t.Metric.Name {
			if o.Metric.Unit != t.Metric.Unit {
				return nil, fmt.Errorf("the unit of metric %q of %s is %q in it and %q in another", t.Metric.Name, t.Name(), t.Metric.Unit, o.Metric.Unit)
			}
			return &s.Tables[i], nil
		}
	}
	s.Tables = append(s.Tables, SessionTable{Workload: t.Workload, Condition: t.Condition, Levels: t.Levels, Metric: t.Metric, first: t})
	return &s.Tables[len(s.Tables)-1], nil
}

// contrast finds a contrast by its rows, or adds it without values.
func (t *SessionTable) contrast(c *Contrast, sessions int) *SessionContrast {
	for i := range t.Contrasts {
		if t.Contrasts[i].X == c.X && t.Contrasts[i].Y == c.Y {
			return &t.Contrasts[i]
		}
	}
	n := SessionContrast{X: c.X, Y: c.Y, Control: c.Control, Values: make([]SessionValue, sessions)}
	for i := range n.Values {
		none := stats.Value{Why: "the session has no such comparison"}
		n.Values[i].Median, n.Values[i].Spread = none, none
	}
	t.Contrasts = append(t.Contrasts, n)
	return &t.Contrasts[len(t.Contrasts)-1]
}

// sessionValue takes the value of one contrast, and what the rounds contribute
// to it.
func (b *maker) sessionValue(t *built, c *Contrast) (SessionValue, error) {
	v := SessionValue{Contrast: c, Median: c.Location.Change, Spread: logOf(c.Spread.Ratio, "zero spread")}
	if v.Median.OK && !c.Location.Difference {
		v.Median = stats.Value{V: math.Log1p(c.Location.Change.V), OK: true}
	}
	x, y, err := b.roundsOf(t, c)
	if err != nil {
		return v, err
	}
	for i := range x {
		switch {
		case c.Location.Difference:
			v.medians = append(v.medians, x[i]-y[i])
		default:
			v.medians = append(v.medians, math.Log(x[i])-math.Log(y[i]))
		}
	}
	v.spreads, _, err = stats.LogSDRatioPseudovalues(x, y)
	return v, err
}

// roundsOf are the values of two rows round by round. Runs that share no
// rounds are taken in their order: the difference of two means has the variance
// of any pairing's mean.
func (b *maker) roundsOf(t *built, c *Contrast) (x, y []float64, err error) {
	sx, sy := t.sample(c.Row), t.sample(c.Base)
	if b.opts.Unblocked {
		n := min(len(sx.values), len(sy.values))
		return sx.values[:n], sy.values[:n], nil
	}
	x, y, _, err = stats.PairBlocks(sx.blocks, sx.values, sy.blocks, sy.values)
	return x, y, err
}

func logOf(v stats.Value, ofZero string) stats.Value {
	switch {
	case !v.OK:
		return v
	case v.V <= 0:
		return stats.Value{Why: ofZero}
	}
	return stats.Value{V: math.Log(v.V), OK: true}
}

// combine makes the two effects of a contrast out of its sessions.
func (c *SessionContrast) combine(costs *SessionCosts) error {
	if err := c.scale(); err != nil {
		return err
	}
	var medians, spreads []float64
	var medianRounds, spreadRounds [][]float64
	for i := range c.Values {
		v := &c.Values[i]
		if v.Median.OK {
			medians = append(medians, v.Median.V)
			medianRounds = append(medianRounds, v.medians)
		}
		if v.Spread.OK {
			spreads = append(spreads, v.Spread.V)
			spreadRounds = append(spreadRounds, v.spreads)
		}
	}
	change := math.Log1p(costs.Target.Median)
	if c.Difference {
		change = 0
	}
	if err := c.Median.over(medians, medianRounds, costs, 1, change); err != nil {
		return err
	}
	return c.Spread.over(spreads, spreadRounds, costs, minSpreadRounds, math.Log1p(costs.Target.SD))
}

// scale sees to it that the sessions' values are of one scale: where a value
// is not positive in some session and in others all are, there is none.
func (c *SessionContrast) scale() error {
	ratios, differences := 0, 0
	for i := range c.Values {
		switch v := &c.Values[i]; {
		case !v.Median.OK:
		case v.Contrast.Location.Difference:
			differences++
		default:
			ratios++
		}
	}
	c.Difference = differences > 0
	if ratios == 0 || differences == 0 {
		return nil
	}
	for i := range c.Values {
		if v := &c.Values[i]; v.Median.OK && !v.Contrast.Location.Difference {
			v.Median = stats.Value{Why: "a ratio, and other sessions have differences, because a value there is not positive"}
		}
	}
	return nil
}

// over takes the sessions' values and what their rounds contribute; least is the
// fewest rounds to plan with, effect what to plan for.
func (e *SessionEffect) over(values []float64, rounds [][]float64, costs *SessionCosts, least int, effect float64) error {
	var err error
	if e.Across, err = stats.AcrossSessions(values, stats.Level); err != nil {
		return err
	}
	var kept [][]float64
	for _, r := range rounds {
		if len(r) > 0 {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		none := stats.Value{Why: "no session has the rounds"}
		e.Levels = stats.Levels{Mean: none, Half: none, S2: []stats.Value{none, none}, T2: []stats.Value{none, none}}
	} else if e.Levels, err = stats.KaliberaJonesUneven(kept, costs.levels(), stats.Level); err != nil {
		return err
	}
	e.Next, err = e.next(least, effect)
	return err
}

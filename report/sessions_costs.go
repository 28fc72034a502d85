package report

import (
	"context"
	"maps"
	"slices"
	"time"

	"goset/harness"
	"goset/stats"
)

// Clock is what the records of a session say about its time.
type Clock struct {
	Fixed   stats.Value // seconds from its start to its first round
	Round   stats.Value // seconds of a round: a run of every treatment, with the gaps
	Planned int         // measured runs of the plan
	Missing int         // those without a record
}

// watch is a source whose records' times are looked at on the way.
type watch struct {
	Source
	seen  map[int]bool      // measured runs with a record
	gaps  map[int][]float64 // seconds from start to start, by treatment
	first time.Time         // of the first measured run
	last  time.Time         // of the record before, where that was measured too
	of    int               // its treatment
}

// Each passes every record on.
func (w *watch) Each(ctx context.Context, fn func(*harness.Record) error) error {
	return w.Source.Each(ctx, func(r *harness.Record) error {
		w.look(r)
		return fn(r)
	})
}

func (w *watch) look(r *harness.Record) {
	if r.Warmup || r.Start.IsZero() {
		w.last = time.Time{}
		return
	}
	w.seen[r.Run] = true
	if w.first.IsZero() {
		w.first = r.Start
	}
	if !w.last.IsZero() {
		w.gaps[w.of] = append(w.gaps[w.of], r.Start.Sub(w.last).Seconds())
	}
	w.last, w.of = r.Start, r.Treatment
}

// clock sums up. Medians: between two records may lie the hours before a resume.
func (w *watch) clock(m *harness.Manifest) Clock {
	none := stats.Value{Why: "the records do not tell the time"}
	c := Clock{Fixed: none, Round: none}
	round := 0.0
	for _, t := range slices.Sorted(maps.Keys(w.gaps)) {
		if median, err := stats.Median(w.gaps[t]); err == nil {
			round += max(0, median.V)
		}
	}
	if round > 0 {
		c.Round = stats.Value{V: round, OK: true}
	}
	if m == nil {
		return c
	}
	for i := range m.Runs {
		if m.Runs[i].Block > 0 {
			c.Planned++
			if !w.seen[i] {
				c.Missing++
			}
		}
	}
	if len(m.Sessions) > 0 && !w.first.IsZero() {
		c.Fixed = stats.Value{V: max(0, w.first.Sub(m.Sessions[0].Start).Seconds()), OK: true}
	}
	return c
}

// SessionCosts is what a round and a session cost, in seconds: medians over
// the sessions.
type SessionCosts struct {
	Round stats.Value
	Fixed stats.Value // from a session's start to its first round
	Extra float64     // what the caller says a session costs beside that
	// Target is the effect that rounds and sessions are planned for.
	Target Target
}

func costsOf(list []Session, extra time.Duration) SessionCosts {
	c := SessionCosts{Extra: extra.Seconds()}
	median := func(of func(*Clock) stats.Value) stats.Value {
		var all []float64
		for i := range list {
			if v := of(&list[i].Clock); v.OK {
				all = append(all, v.V)
			}
		}
		v, err := stats.Median(all)
		if err != nil || !v.OK {
			return stats.Value{Why: "the records do not tell the time"}
		}
		return v
	}
	c.Round = median(func(c *Clock) stats.Value { return c.Round })
	c.Fixed = median(func(c *Clock) stats.Value { return c.Fixed })
	return c
}

// session is the fixed cost of a session.
func (c *SessionCosts) session() float64 { return c.Fixed.V + c.Extra }

// levels are the costs as Kalibera and Jones have them; nil where they are not
// known.
func (c *SessionCosts) levels() []float64 {
	if !c.Round.OK || !c.Fixed.OK || c.session() <= 0 {
		return nil
	}
	return []float64{c.Round.V, c.session()}
}

// NextTime is how much of what would show an effect as large as the one
// observed, with a power of 0.8.
type NextTime struct {
	Rounds   stats.Value // in each session
	Sessions stats.Value // never below those that are advised
	// Together is set where sessions add no variance that could be detected
	// (T² ≤ 0): then the formula puts all rounds into one session, and Rounds are
	// what the advised number of sessions needs.
	Together bool
}

// minSpreadRounds is the fewest rounds that a ratio of sds is planned with: of
// less its logarithm is biased and far from what the components take it for.
const minSpreadRounds = 6

// next plans for an effect, a logarithm, with at least so many rounds; an effect
// of 0 cannot be planned for.
func (e *SessionEffect) next(least int, effect float64) (NextTime, error) {
	none := func(why string) (NextTime, error) {
		return NextTime{Rounds: stats.Value{Why: why}, Sessions: stats.Value{Why: why}}, nil
	}
	runs, between := e.Levels.T2[0], e.Levels.T2[1]
	switch {
	case effect == 0:
		return none("no effect to plan for: differences have no ratio, or -effect leaves it out")
	case !runs.OK:
		return none(runs.Why)
	case !between.OK:
		return none(between.Why)
	case e.Levels.Counts == nil:
		return none("what a round and a session cost is not known")
	}
	const alpha = 1 - stats.Level
	n := NextTime{Sessions: stats.Value{V: stats.AdvisedSessions, OK: true}}
	var err error
	if between.V <= 0 {
		n.Together = true
		n.Rounds, err = stats.RequiredRuns(effect, runs.V, stats.AdvisedSessions, alpha, stats.DefaultPower)
		n.Rounds.V = max(n.Rounds.V, float64(least))
		return n, err
	}
	count := float64(max(least, e.Levels.Counts[0]))
	n.Rounds = stats.Value{V: count, OK: true}
	n.Sessions, err = stats.RequiredSessions(effect, between.V+max(0, runs.V)/count, alpha, stats.DefaultPower)
	if n.Sessions.OK {
		n.Sessions.V = max(n.Sessions.V, stats.AdvisedSessions)
	}
	return n, err
}

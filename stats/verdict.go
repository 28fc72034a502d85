package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// VerdictKind is what a comparison supports.
type VerdictKind string

// The verdicts. There is no "same": a difference that was not found is not
// resolved, and equality needs an equivalence range.
const (
	LowerVerdict       VerdictKind = "lower"
	HigherVerdict      VerdictKind = "higher"
	NotResolved        VerdictKind = "not resolved"
	EquivalentVerdict  VerdictKind = "equivalent"
	NoClaim            VerdictKind = "no claim"      // too few runs for any
	DeterministicEqual VerdictKind = "deterministic" // nothing varies on either side
	NotJudged          VerdictKind = "not judged"    // one thing on both sides: it is known that nothing differs
)

// Verdict is a finding in words, with the numbers behind it.
type Verdict struct {
	Kind VerdictKind
	Text string
}

// Claims says whether the verdict asserts a difference. Between a mode and its
// own repetition (A/A) any claim is a failed self-check.
func (v Verdict) Claims() bool { return v.Kind == LowerVerdict || v.Kind == HigherVerdict }

// Adjust applies Holm's correction to the comparisons of one metric in one
// table: one family for location, one for spread. Verdicts and notes follow.
func Adjust(family []*Comparison) {
	location, spread := make([]Value, len(family)), make([]Value, len(family))
	for i, c := range family {
		location[i], spread[i] = c.Location.P, c.Spread.P
	}
	sizeL, sizeS := countDefined(location), countDefined(spread)
	location, spread = holmValues(location), holmValues(spread)
	for i, c := range family {
		c.Location.PAdj, c.Location.Family = location[i], sizeL
		c.Spread.PAdj, c.Spread.Family = spread[i], sizeS
		c.confine(&c.Location.Resolves, &c.Location.Needs, sizeL)
		c.confine(&c.Spread.Resolves, &c.Spread.Needs, sizeS)
		c.noteFamily("median", c.Location.P, c.Location.MinP, sizeL)
		c.noteFamily("spread", c.Spread.P, c.Spread.MinP, sizeS)
		c.judge()
	}
}

func countDefined(p []Value) int {
	n := 0
	for _, v := range p {
		if v.OK {
			n++
		}
	}
	return n
}

// noteFamily says where even the smallest attainable p cannot pass Holm though
// so many rounds could: ties leave some of them out. Where no outcome could, the
// verdict says it.
func (c *Comparison) noteFamily(what string, p Value, minP float64, size int) {
	if !p.OK || size < 2 || passesHolm(minP, size, c.Alpha) || cannotResolve(min(c.N, c.M), size, c.Alpha, c.Blocked) != "" {
		return
	}
	note := fmt.Sprintf("%s: n = %d too small for %d comparisons (smallest attainable p %s)", what, min(c.N, c.M), size, FormatP(minP))
	if !slices.Contains(c.Notes, note) {
		c.Notes = append(c.Notes, note)
	}
}

func (c *Comparison) judge() {
	c.Location.Verdict = c.locationVerdict()
	c.Spread.Verdict = c.spreadVerdict()
}

// tooFew is the verdict where no outcome of so many rounds could be resolved
// among the comparisons of a family.
func (c *Comparison) tooFew(family int) (Verdict, bool) {
	n := min(c.N, c.M)
	if n < minClaims {
		return Verdict{NoClaim, fmt.Sprintf("no claim: n = %d, %d rounds or more needed", n, RoundsForFamily(family, c.Alpha, c.Blocked))}, true
	}
	if family < 2 {
		return Verdict{}, false
	}
	why := cannotResolve(n, family, c.Alpha, c.Blocked)
	return Verdict{NoClaim, "no claim: " + why}, why != ""
}

func (c *Comparison) locationVerdict() Verdict {
	l := &c.Location
	if c.isEqual() {
		return Verdict{DeterministicEqual, "equal: every value is the same on both sides"}
	}
	if v, few := c.tooFew(l.Family); few {
		return v
	}
	if !l.P.OK || !l.PAdj.OK || !l.Change.OK {
		return Verdict{NotResolved, "not resolved: " + firstReason(l.P, l.PAdj, l.Change)}
	}
	kind, word := HigherVerdict, "higher median"
	if l.Change.V < 0 {
		kind, word = LowerVerdict, "lower median"
	}
	found := l.PAdj.V < c.Alpha && l.Change.V != 0
	switch {
	case found && l.CI.Excludes(0):
		return Verdict{kind, fmt.Sprintf("%s (%s, %s, p_adj %s)", word, l.format(l.Change.V), l.interval(c.Alpha), formatMinP(l.PAdj.V, l.floor()))}
	case found:
		return Verdict{kind, fmt.Sprintf("%s, size not resolved (%s, p_adj %s)", word, l.interval(c.Alpha), formatMinP(l.PAdj.V, l.floor()))}
	case l.P.V < c.Alpha && l.PAdj.V >= c.Alpha:
		return afterHolm(l.P.V, l.PAdj.V, l.Family)
	default:
		return Verdict{NotResolved, l.unresolved(min(c.N, c.M), c.rounds())}
	}
}

// isEqual says that all values of both sides are the same.
func (c *Comparison) isEqual() bool {
	return c.SDX.OK && c.SDY.OK && c.SDX.V == 0 && c.SDY.V == 0 && c.MedianX.OK && c.MedianY.OK && c.MedianX.V == c.MedianY.V
}

func firstReason(values ...Value) string {
	for _, v := range values {
		if !v.OK {
			return v.Why
		}
	}
	return ""
}

func afterHolm(p, adjusted float64, family int) Verdict {
	return Verdict{NotResolved, fmt.Sprintf("not resolved after Holm over %d comparisons (p %s, p_adj %s)", family, FormatP(p), FormatP(adjusted))}
}

// floor is the smallest adjusted p that the family can reach.
func (l *LocationChange) floor() float64 { return l.MinP * float64(max(1, l.Family)) }
func (s *SpreadChange) floor() float64   { return s.MinP * float64(max(1, s.Family)) }

func (c *Comparison) rounds() string { return roundsNoun(c.Blocked) }

// format writes a change in its scale.
func (l *LocationChange) format(v float64) string {
	switch {
	case !l.Difference:
		return FormatChange(v, l.CI)
	case l.write != nil:
		return l.write(v)
	}
	return fmt.Sprintf("%+.4g", v)
}

func (l *LocationChange) interval(alpha float64) string {
	if !l.CI.OK {
		return "no interval: " + l.CI.Why
	}
	return fmt.Sprintf("%g%% %s to %s", percentOf(1-alpha), l.format(l.CI.Lo), l.format(l.CI.Hi))
}

// percentOf hides the rounding of 1 − (1 − 0.95).
func percentOf(level float64) float64 { return math.Round(1e6*100*level) / 1e6 }

// observed is the change, or that it is less than the digits can show.
func (l *LocationChange) observed() string {
	text := l.format(l.Change.V)
	if !l.Difference && l.Change.V != 0 && isZero(text) {
		return "below " + resolution(changeDecimals(l.CI))
	}
	return text
}

func (l *LocationChange) unresolved(n int, rounds string) string {
	if !l.Resolves.OK {
		return fmt.Sprintf("not resolved: observed %s, %s", l.observed(), l.Resolves.Why)
	}
	text := fmt.Sprintf("not resolved: %d %s resolve a change of ±%s; observed %s", n, rounds, strings.TrimPrefix(l.format(l.Resolves.V), "+"), l.observed())
	return text + wouldNeed(l.Needs, n, rounds)
}

func wouldNeed(needs Value, n int, rounds string) string {
	switch {
	case !needs.OK:
		return ""
	case needs.V <= float64(n):
		return " was not distinguished from chance in these runs"
	case needs.V > manyRounds:
		return fmt.Sprintf(" would need more than %d %s", manyRounds, rounds)
	default:
		return fmt.Sprintf(" would need about %.0f %s", needs.V, rounds)
	}
}

// manyRounds is beyond what anybody runs: the number itself, which hangs on an
// effect next to nothing, would be read as one.
const manyRounds = 1000

func (c *Comparison) spreadVerdict() Verdict {
	s := &c.Spread
	if c.SDX.OK && c.SDY.OK && c.SDX.V == 0 && c.SDY.V == 0 {
		return Verdict{DeterministicEqual, "deterministic: no spread on either side"}
	}
	if v, few := c.tooFew(s.Family); few {
		return v
	}
	if !s.P.OK || !s.PAdj.OK {
		return Verdict{NotResolved, "not resolved: " + firstReason(s.P, s.PAdj)}
	}
	found, excludes := s.PAdj.V < c.Alpha, s.CI.Excludes(1)
	switch {
	case found:
		return c.foundSpread(excludes)
	case s.P.V < c.Alpha:
		return afterHolm(s.P.V, s.PAdj.V, s.Family)
	case excludes:
		return Verdict{NotResolved, c.drivenByFew()}
	case c.equivalent():
		return Verdict{EquivalentVerdict, fmt.Sprintf("equivalent spread (%s, %g%% %s within %g–%g)", formatRatio(s.Ratio),
			percentOf(1-2*c.Alpha), FormatRatios(s.EquivalenceCI), c.equivalence[0], c.equivalence[1])}
	default:
		return Verdict{NotResolved, c.unresolvedSpread()}
	}
}

func (c *Comparison) foundSpread(excludes bool) Verdict {
	s := &c.Spread
	kind, word := HigherVerdict, "higher spread"
	if s.Lower {
		kind, word = LowerVerdict, "lower spread"
	}
	p := formatMinP(s.PAdj.V, s.floor())
	sdLower := s.Ratio.OK && s.Ratio.V < 1
	switch {
	case excludes && sdLower != s.Lower:
		return Verdict{NotResolved, fmt.Sprintf("not resolved (sd and |x − median| point in opposite directions, p_adj %s)", p)}
	case excludes:
		return Verdict{kind, fmt.Sprintf("%s (%s, %g%% %s, p_adj %s)", word, formatRatio(s.Ratio), percentOf(1-c.Alpha), FormatRatios(s.CI), p)}
	case !s.CI.OK:
		return Verdict{kind, fmt.Sprintf("%s (%s, p_adj %s)", word, s.CI.Why, p)}
	default:
		return Verdict{kind, fmt.Sprintf("%s, sd not resolved (few extreme runs; %s, %g%% %s, p_adj %s)", word,
			formatRatio(s.Ratio), percentOf(1-c.Alpha), FormatRatios(s.CI), p)}
	}
}

func (c *Comparison) drivenByFew() string {
	k := len(c.FlaggedX) + len(c.FlaggedY)
	if k == 0 {
		return fmt.Sprintf("not resolved (sd differs, |x − median| does not: %s, p_adj %s)", formatRatio(c.Spread.Ratio), FormatP(c.Spread.PAdj.V))
	}
	return fmt.Sprintf("not resolved (sd differs, driven by %d flagged %s: %s, p_adj %s)", k, plural(k, "run"), formatRatio(c.Spread.Ratio), FormatP(c.Spread.PAdj.V))
}

func (c *Comparison) equivalent() bool {
	ci := c.Spread.EquivalenceCI
	return c.equivalence != ([2]float64{}) && ci.OK && ci.Lo >= c.equivalence[0] && ci.Hi <= c.equivalence[1]
}

func (c *Comparison) unresolvedSpread() string {
	s := &c.Spread
	n := min(c.N, c.M)
	if !s.Resolves.OK || !s.Ratio.OK {
		return "not resolved: " + firstReason(s.Resolves, s.Ratio)
	}
	limit := fmt.Sprintf("≤ %s", FormatRatio(s.Resolves.V))
	if s.Ratio.V > 1 {
		limit = fmt.Sprintf("≥ %s", FormatRatio(1/s.Resolves.V))
	}
	return fmt.Sprintf("not resolved: %d %s resolve a ratio %s; observed %s", n, c.rounds(), limit, FormatRatio(s.Ratio.V)) + wouldNeed(s.Needs, n, c.rounds())
}

func formatRatio(v Value) string {
	if !v.OK {
		return "—"
	}
	return FormatRatio(v.V) + "×"
}

func formatValueP(p Value) string {
	if !p.OK {
		return "—"
	}
	return FormatP(p.V)
}

// formatMinP marks a p that cannot be smaller with this many runs.
func formatMinP(p, floor float64) string {
	if p <= floor*(1+1e-9) {
		return FormatP(p) + " (min)"
	}
	return FormatP(p)
}

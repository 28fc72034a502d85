package report

import (
	"fmt"
	"slices"
	"strings"

	"goset/metric"
	"goset/stats"
)

// Headline is one sentence of what stands above all tables.
type Headline struct {
	Grade Grade
	// Better is +1 for a gain, −1 for a loss, 0 where it is neither.
	Better int
	Text   string
	// Suite is set for a claim over all workloads, which some inks print with
	// its numbers anyway.
	Suite bool
}

// place is one comparison in the sentences: where it was made.
type place struct {
	t *Table
	c *Contrast
}

// name says where: "stream: triad" where the table is one of several.
func (p place) name() string {
	if p.t.Metric.Name == "" {
		return p.t.Name()
	}
	return p.t.Name() + ": " + p.t.Metric.Name
}

// about is one of the two questions, as the sentences ask it.
type about struct {
	noun     string // "Steadiness"
	constant string // where no value differs from another
	nothing  string // what is said before hints where nothing is clear
	gain     string // "steadier"
	loss     string
	grade    func(*Contrast) *Appraisal
	verdict  func(*Contrast) *stats.Verdict
	better   func(place) int
	measured func(place) string
	p        func(*Contrast) stats.Value
	// level says that a gain or loss may be the level's alone; the sentence then
	// has lower and higher of these instead.
	level         func(*Contrast) bool
	lower, higher string
}

func questions() []about {
	return []about{
		{"Steadiness", "no spread on either side", "Steadiness: on no single workload is a mode steadier or less steady for certain", "steadier", "less steady", func(c *Contrast) *Appraisal { return &c.SpreadGrade }, func(c *Contrast) *stats.Verdict { return &c.Spread.Verdict },
			func(p place) int { return gain(p.c.Spread.Verdict.Kind, metric.Lower) },
			func(p place) string { return "sd " + sdRatio(p.c) }, func(c *Contrast) stats.Value { return c.Spread.PAdj },
			(*Contrast).followsLevel, "lower in sd", "higher in sd"},
		{"The median", "all values equal", "Median: on no single workload does one differ for certain", "better", "worse", func(c *Contrast) *Appraisal { return &c.MedianGrade }, func(c *Contrast) *stats.Verdict { return &c.Location.Verdict },
			func(p place) int { return gain(p.c.Location.Verdict.Kind, p.t.Metric.Better) },
			func(p place) string { return p.c.changeName() + " " + p.t.change(p.c) }, func(c *Contrast) stats.Value { return c.Location.PAdj },
			func(*Contrast) bool { return false }, "", ""},
	}
}

// headlined says which tables the sentences are about: of every workload those
// of the metrics that it is known for, or else the first.
func headlined(tables []Table) []int {
	var out []int
	for from := 0; from < len(tables); {
		to := from + 1
		for to < len(tables) && tables[to].Name() == tables[from].Name() {
			to++
		}
		before := len(out)
		for i := from; i < to; i++ {
			if tables[i].Metric.Shown {
				out = append(out, i)
			}
		}
		if len(out) == before {
			out = append(out, from)
		}
		from = to
	}
	return out
}

// headlines say in sentences what the runs show. No sentence says more than
// the verdict under its table; many say less, because they know of the others.
func (d *Document) headlines(sequential bool) []Headline {
	pairs, byPair := d.pairs()
	if len(pairs) == 0 {
		return nil
	}
	if why, few := d.tooFew(); few {
		return append(d.suiteHeadlines(d.doubts(sequential)), Headline{Grade: Open, Text: "Too few runs for any claim: " + why + "."})
	}
	var out []Headline
	asserted := 0
	for i, q := range questions() {
		a := q.answer(pairs, byPair)
		asserted += len(a.clear) + len(a.hints) + len(a.same)
		out = append(out, a.clear...)
		if i == 0 {
			suite := d.suiteHeadlines(d.doubts(sequential))
			asserted += len(suite)
			out = append(out, suite...)
		}
		if len(a.clear) == 0 && len(a.hints) > 0 {
			out = append(out, Headline{Grade: Open, Text: q.nothing + notEven(a.silent) + "."})
		}
		out = append(out, a.hints[:min(maxHints, len(a.hints))]...)
		if more := len(a.hints) - maxHints; more > 0 {
			out = append(out, Headline{Grade: Hint, Text: fmt.Sprintf("%d further %s: see the verdicts under their tables.", more, plural(more, "hint"))})
		}
		out = append(out, a.same...)
		if len(a.clear)+len(a.same) > 0 || len(a.hints) == 0 { // else that nothing is for certain says it
			out = append(out, q.silences(a.silent, d.whereNoun())...)
		}
	}
	if asserted == 0 {
		return []Headline{{Grade: Open, Text: "No difference between the modes is resolved by these runs: neither in steadiness nor in the median. " + d.couldSee()}}
	}
	return out
}

// sentences are the headlines and the one about the slow runs, for inks that
// print the claims over all workloads after them.
func (d *Document) sentences() []Headline {
	out := slices.DeleteFunc(slices.Clone(d.Headlines), func(h Headline) bool { return h.Suite })
	if d.Disturbed != nil {
		out = append(out, *d.Disturbed)
	}
	return out
}

// whereNoun calls tables workloads where each is one.
func (d *Document) whereNoun() string {
	var seen []string
	for _, i := range headlined(d.Tables) {
		if slices.Contains(seen, d.Tables[i].Workload) {
			return "tables"
		}
		seen = append(seen, d.Tables[i].Workload)
	}
	return "workloads"
}

// couldSee says what the runs could have resolved, in the widest comparison.
func (d *Document) couldSee() string {
	const proof = "That is no proof that there is none"
	best := stats.Value{}
	n := 0
	for _, c := range d.Contrasts() {
		if r := c.Spread.Resolves; c.judged() && r.OK && (!best.OK || r.V > best.V) {
			best, n = r, min(c.N, c.M)
		}
	}
	if !best.OK || best.V <= 0 {
		return proof + "."
	}
	return fmt.Sprintf("%s: n = %d resolves sd ratios ≤ %s or ≥ %s.", proof, n, stats.FormatRatio(best.V), stats.FormatRatio(1/best.V))
}

// pairs are the modes that are compared, with where.
func (d *Document) pairs() (order []string, of map[string][]place) {
	var list names
	of = map[string][]place{}
	for _, i := range headlined(d.Tables) {
		t := &d.Tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			if !c.judged() {
				continue
			}
			key := c.X + "\x00" + c.Y
			list.add(key)
			of[key] = append(of[key], place{t, c})
		}
	}
	return list.list, of
}

// tooFew is true where no comparison has the runs for a claim, with what the
// smallest one would need.
func (d *Document) tooFew() (why string, few bool) {
	var least *Contrast
	for _, c := range d.Contrasts() {
		if !c.judged() {
			continue
		}
		if c.Location.Verdict.Kind != stats.NoClaim || c.Spread.Verdict.Claims() {
			return "", false
		}
		if least == nil || min(c.N, c.M) < min(least.N, least.M) {
			least = c
		}
	}
	if least == nil {
		return "", false
	}
	return stats.CannotResolve(min(least.N, least.M), max(1, least.Location.Family), least.Blocked), true
}

// answer is what is known of one question: what is clear, what is only a hint,
// what is the same as was asked, and of which modes nothing is known.
type answer struct {
	clear, hints, same []Headline
	silent             []silence
}

func (q *about) answer(pairs []string, byPair map[string][]place) answer {
	var a answer
	for _, key := range pairs {
		all := byPair[key]
		open := len(all)
		for _, better := range []int{1, -1, 0} {
			at := func(g Grade) []place {
				return slices.DeleteFunc(slices.Clone(all), func(p place) bool { return q.grade(p.c).Grade != g || q.better(p) != better })
			}
			for _, clear := range q.byDoubt(at(Clear)) {
				a.clear = append(a.clear, Headline{Grade: Clear, Better: better, Text: q.clearly(clear, better)})
				open -= len(clear)
			}
			for _, alike := range q.byDoubt(at(Hint)) {
				a.hints = append(a.hints, Headline{Grade: Hint, Better: better, Text: q.hint(alike, better)})
				open -= len(alike)
			}
		}
		var constant []string
		for _, p := range all {
			if q.verdict(p.c).Kind == stats.DeterministicEqual {
				constant = append(constant, p.name())
				open--
			}
			if q.isSame(p) {
				a.same = append(a.same, Headline{Grade: Clear, Text: fmt.Sprintf("%s against %s on %s: %s.", p.c.X, p.c.Y, p.name(), q.verdict(p.c).Text)})
				open--
			}
		}
		if len(constant) > 0 {
			a.same = append(a.same, Headline{Grade: Clear, Text: fmt.Sprintf("%s against %s: %s on %s.", all[0].c.X, all[0].c.Y, q.constant, enumerate(some(constant)))})
		}
		if open > 0 {
			a.silent = append(a.silent, silence{all[0].c.X, all[0].c.Y, open, len(all)})
		}
	}
	return a
}

// maxHints is how many hints of one question have a sentence each.
const maxHints = 4

// maxPlaces is how many workloads one sentence tells of.
const maxPlaces = 4

func (q *about) word(p place, better int) string {
	higher := q.verdict(p.c).Kind == stats.HigherVerdict
	switch {
	case q.level(p.c) && higher:
		return q.higher
	case q.level(p.c):
		return q.lower
	case better > 0:
		return q.gain
	case better < 0:
		return q.loss
	case higher:
		return "higher"
	}
	return "lower"
}

// notEven names those of which nothing is resolved anywhere.
func notEven(list []silence) string {
	var who names
	for _, s := range list {
		if s.left == s.all {
			who.add(s.x)
		}
	}
	if len(who.list) == 0 {
		return ""
	}
	return "; for " + enumerate(who.list) + " not even a hint"
}

// byDoubt puts the places together whose doubts are the same.
func (q *about) byDoubt(at []place) [][]place {
	var order names
	of := map[string][]place{}
	for _, p := range at {
		key := strings.Join(q.grade(p.c).Doubts, "\x00") + "\x00" + q.word(p, q.better(p))
		order.add(key)
		of[key] = append(of[key], p)
	}
	var out [][]place
	for _, key := range order.list {
		out = append(out, of[key])
	}
	return out
}

// clearly is the sentence of a pair about which nothing is in doubt.
func (q *about) clearly(at []place, better int) string {
	return fmt.Sprintf("%s is %s than %s %s.", at[0].c.X, q.word(at[0], better), at[0].c.Y, q.places(at))
}

// places tell where and how much.
func (q *about) places(at []place) string {
	var parts []string
	for _, p := range at[:min(maxPlaces, len(at))] {
		parts = append(parts, "on "+p.name()+", "+q.numbers(p))
	}
	if more := len(at) - maxPlaces; more > 0 {
		parts = append(parts, fmt.Sprintf("and on %d more", more))
	}
	return strings.Join(parts, "; ")
}

// numbers give size, interval and certainty.
func (q *about) numbers(p place) string {
	s := q.measured(p)
	if v := q.p(p.c); v.OK {
		if cut, ok := strings.CutSuffix(s, ")"); ok {
			return cut + ", p_adj " + stats.FormatP(v.V) + ")"
		}
		return s + " (p_adj " + stats.FormatP(v.V) + ")"
	}
	return s
}

// hint is the sentence of a pair whose claims have the same doubts.
func (q *about) hint(at []place, better int) string {
	c := at[0].c
	return fmt.Sprintf("Hint: %s is %s than %s %s. Caution: %s.", c.X, q.word(at[0], better), c.Y, q.places(at), strings.Join(q.grade(c).Doubts, "; "))
}

// some are the first places of many, and how many more there are.
func some(places []string) []string {
	if more := len(places) - maxPlaces; more > 0 {
		return append(slices.Clone(places[:maxPlaces]), fmt.Sprintf("%d more", more))
	}
	return places
}

// isSame is true of what was asked to be the same and is.
func (q *about) isSame(p place) bool {
	k := q.verdict(p.c).Kind
	return k == stats.EquivalentVerdict
}

// silence is a pair of which nothing is resolved in so many of all tables.
type silence struct {
	x, y      string
	left, all int
}

// silences make one sentence for each baseline.
func (q *about) silences(list []silence, noun string) []Headline {
	var order names
	of := map[string][]string{}
	for _, s := range list {
		order.add(s.y)
		where := fmt.Sprintf("%s on %d of %d %s", s.x, s.left, s.all, noun)
		switch {
		case s.all == 1:
			where = s.x
		case s.left == s.all:
			where = fmt.Sprintf("%s on all %d %s", s.x, s.all, noun)
		}
		of[s.y] = append(of[s.y], where)
	}
	var out []Headline
	for _, y := range order.list {
		out = append(out, Headline{Grade: Open, Text: fmt.Sprintf("%s against %s not resolved: %s.", q.noun, y, enumerate(of[y]))})
	}
	return out
}

// suiteHeadlines are the claims over all workloads that assert something.
func (d *Document) suiteHeadlines(doubts []string) []Headline {
	var out []Headline
	for i := range d.Suite {
		s := &d.Suite[i]
		g, begin, end := Clear, "", "."
		doubts := doubts
		if len(s.levels) > 0 {
			doubts = append(slices.Clone(doubts), "the medians differ too, and relative to them the spread is not resolved to differ on "+enumerate(s.levels))
		}
		if len(doubts) > 0 {
			g, begin, end = Hint, "Hint: ", ". Caution: "+strings.Join(doubts, "; ")+"."
		}
		better := 1
		if s.EveryClaim && !(s.LowerPAdj.OK && s.LowerPAdj.V < 1-stats.Level) || !s.EveryClaim && s.GeomeanRatio.OK && s.GeomeanRatio.V > 1 {
			better = -1
		}
		switch {
		case s.EveryClaim:
			word, p := "steadier", s.LowerPAdj
			if better < 0 {
				word, p = "less steady", s.HigherPAdj
			}
			out = append(out, Headline{Grade: g, Better: better, Suite: true, Text: begin + fmt.Sprintf("%s is %s than %s on every one of %d workloads%s (%slargest one-sided p_adj %s)%s",
				s.X, word, s.Y, len(s.Workloads), s.where(), s.size(), stats.FormatP(p.V), end)})
		case s.AverageClaim:
			out = append(out, Headline{g, better, begin + s.Name() + " " + s.AverageText + end, true})
		}
	}
	return out
}

func (s *SuiteClaim) where() string {
	if s.Condition == "" {
		return ""
	}
	return ", condition " + s.Condition
}

// size is the geometric mean with its interval, for a bracket.
func (s *SuiteClaim) size() string {
	if !s.GeomeanRatio.OK {
		return ""
	}
	ci := ""
	if s.CI.OK {
		ci = ", 95% " + ratiosOf(s.CI)
	}
	return fmt.Sprintf("geometric mean of the sd ratios %s×%s; ", ratioOf(s.GeomeanRatio), ci)
}

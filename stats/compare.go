package stats

import (
	"fmt"
	"math"
)

// Options of a comparison. The zero value compares within blocks at 95%.
type Options struct {
	Conf      float64 // level of intervals and 1 − level of tests; 0: 0.95
	Unblocked bool    // the samples share no blocks
	// Dropped is the number of blocks that were left out because a run is
	// missing or void; it is only reported.
	Dropped    int
	Resampling Resampling
	// Equivalence bounds the sd ratio that counts as the same, as {0.8, 1.25};
	// the zero value claims no equivalence.
	Equivalence [2]float64
	// Family is the number of comparisons that Adjust will correct for, where it
	// is known before: WithoutFlagged asks whether the runs that it leaves
	// could be resolved among them. 0: 1.
	Family int
	// Write writes a difference for the verdicts, with its sign and unit, where
	// there is no ratio; nil: four digits.
	Write func(float64) string
}

func (o Options) conf() float64 {
	if o.Conf == 0 {
		return Level
	}
	return o.Conf
}

// Comparison says how a sample x differs from its baseline y: everything that
// a row of a table needs. Ratios and changes are x against y.
type Comparison struct {
	N, M             int  // sizes of x and y
	Blocked          bool // compared within blocks
	Dropped          int  // blocks left out
	Alpha            float64
	MedianX, MedianY Value
	SDX, SDY         Value

	Location LocationChange
	Spread   SpreadChange

	// MannWhitney is for readers of benchstat, whose number is PBenchstat.
	MannWhitney MannWhitneyTest

	FlaggedX, FlaggedY []int // outliers, by run index
	Notes              []string

	equivalence [2]float64
}

// LocationChange is the change of the centre.
type LocationChange struct {
	// Change is a fraction (−0.02: 2% lower), or in the unit of the metric where
	// Difference is set because a value ≤ 0 forbids ratios.
	Change     Value
	CI         Interval
	Difference bool
	P, PAdj    Value
	MinP       float64 // the smallest p that this design can reach
	Family     int     // comparisons that PAdj allows for; 0 or 1: none
	Method     string
	// SD is of the blocks' differences (of logarithms, but for Difference); where
	// the samples share no blocks, of the difference of two runs.
	SD Value
	// Resolves is the smallest change that this n detects with a power of 0.8,
	// in the scale of Change; Needs the blocks that the observed one would take.
	Resolves, Needs Value
	Verdict         Verdict

	write func(float64) string // see Options.Write
}

// SpreadChange is the change of the spread.
type SpreadChange struct {
	Ratio Value // of the sds
	CI    Interval
	// P is of block Brown–Forsythe, or of its unblocked form.
	P, PAdj  Value
	MinP     float64
	Family   int
	Method   string
	Lower    bool // |x − median| is smaller on average than that of y
	PFligner Value
	Kurtosis Value // pooled; 3 under a normal law
	// Resolves is the largest ratio below 1 that this n detects with a power
	// of 0.8 on normal data; Needs the blocks that the observed ratio would take
	// at the observed kurtosis.
	Resolves, Needs Value
	// EquivalenceCI is the interval at 1 − 2α that an equivalence claim needs.
	EquivalenceCI Interval
	// Relative is the same question for logarithms, asked where the medians
	// differ by more than 5%; Verdict quotes the raw values.
	Relative *RelativeSpread
	Verdict  Verdict
}

// RelativeSpread compares spreads relative to the level: of ln x and ln y.
type RelativeSpread struct {
	Ratio Value
	CI    Interval
	P     Value
}

// relativeLimit is the difference of medians beyond which a spread may follow
// its level.
const relativeLimit = 0.05

// Compare compares x with the baseline y. x[i] and y[i] share block i unless
// Options.Unblocked is set or the lengths differ; see PairBlocks for data with
// missing runs. Both samples are in time order. Samples of any size have a
// Comparison; what is undefined at that size says why, and below n = 6 there is
// no claim. PAdj equals P until Adjust is told the family.
func Compare(x, y []float64, opt Options) (Comparison, error) {
	if err := checkFinite(x, y); err != nil {
		return Comparison{}, err
	}
	if err := opt.check(); err != nil {
		return Comparison{}, err
	}
	c := Comparison{N: len(x), M: len(y), Blocked: !opt.Unblocked && len(x) == len(y), Dropped: opt.Dropped,
		Alpha: 1 - opt.conf(), equivalence: opt.Equivalence}
	if err := c.describe(x, y); err != nil {
		return Comparison{}, err
	}
	if err := c.locate(x, y, opt); err != nil {
		return Comparison{}, err
	}
	if err := c.spread(x, y, opt); err != nil {
		return Comparison{}, err
	}
	c.note(x, y, opt)
	c.judge()
	return c, nil
}

func (o Options) check() error {
	if err := checkConf(o.conf()); err != nil {
		return err
	}
	e := o.Equivalence
	if e != ([2]float64{}) && !(e[0] > 0 && e[0] < 1 && e[1] > 1 && !math.IsInf(e[1], 0)) {
		return &ArgumentError{Name: "equivalence range", Rule: "around 1, as 0.8 to 1.25", Got: e[0]}
	}
	if o.Resampling.Draws < 0 {
		return &ArgumentError{Name: "number of draws", Rule: "0 or more", Got: float64(o.Resampling.Draws)}
	}
	return nil
}

func (c *Comparison) describe(x, y []float64) error {
	c.MedianX, c.SDX, c.FlaggedX = sideOf(x)
	c.MedianY, c.SDY, c.FlaggedY = sideOf(y)
	var err error
	c.MannWhitney, err = mannWhitney(x, y, benchstatExactTies)
	return err
}

// sideOf describes one side of a comparison.
func sideOf(xs []float64) (median, sd Value, flagged []int) {
	if len(xs) == 0 {
		none := undefined("no observations")
		return none, none, nil
	}
	s := sorted(xs)
	return defined(medianSorted(s)), momentsOf(xs).sd, outliersOf(xs, s).Flagged
}

func (c *Comparison) locate(x, y []float64, opt Options) error {
	l := &c.Location
	l.write = opt.Write
	var sd Value // of the blocks' differences, in the scale of the test
	if c.Blocked {
		e, err := PairedRatio(x, y, opt.conf())
		if err != nil {
			return err
		}
		l.Change, l.CI, l.Difference, l.P, l.MinP = e.Change, e.CI, e.Difference, e.Test.P, e.Test.MinP
		l.Method = "signed-rank within blocks, " + exactness(e.Test.Exact)
		d, _ := pairedDifferences(x, y)
		sd = sdValue(d)
	} else {
		l.Difference = anyNonPositive(x) || anyNonPositive(y)
		u, v := x, y
		if !l.Difference {
			u, v = logsOf(x), logsOf(y)
		}
		hl := hodgesLehmannTwoSample(u, v, opt.conf())
		l.Change, l.CI, l.P, l.MinP = hl.Estimate, hl.CI, c.MannWhitney.P, c.MannWhitney.MinP
		if !l.Difference {
			l.Change, l.CI = asChange(hl)
		}
		l.Method = "Mann–Whitney, " + exactness(c.MannWhitney.Exact)
		sd = rootSum(sdValue(u), sdValue(v))
	}
	l.PAdj, l.SD = l.P, sd
	l.plan(sd, min(c.N, c.M), c.Alpha)
	return nil
}

func exactness(exact bool) string {
	if exact {
		return "exact"
	}
	return "normal approximation"
}

func logsOf(xs []float64) []float64 {
	logs := make([]float64, len(xs))
	for i, x := range xs {
		logs[i] = math.Log(x)
	}
	return logs
}

func sdValue(xs []float64) Value {
	if len(xs) < 2 || checkFinite(xs) != nil {
		return undefined("n ≥ 2 needed")
	}
	return momentsOf(xs).sd
}

func rootSum(a, b Value) Value {
	if !a.OK || !b.OK {
		return undefined("n ≥ 2 needed")
	}
	return defined(math.Hypot(a.V, b.V))
}

// plan fills in what n resolves and what the observed change would need.
func (l *LocationChange) plan(sd Value, n int, alpha float64) {
	if !sd.OK || !l.Change.OK {
		l.Resolves, l.Needs = undefined("n ≥ 2 needed"), undefined("n ≥ 2 needed")
		return
	}
	if sd.V == 0 {
		l.Resolves, l.Needs = undefined("the difference is the same in every block"), undefined("the difference is the same in every block")
		return
	}
	shift := l.Change.V
	if !l.Difference {
		shift = math.Log1p(shift)
	}
	delta, err := ResolvableShift(n, alpha, DefaultPower)
	if err != nil {
		delta = undefined("%v", err)
	}
	l.Resolves = delta
	if delta.OK {
		l.Resolves = defined(delta.V * sd.V)
		if !l.Difference {
			l.Resolves = defined(math.Expm1(delta.V * sd.V))
		}
	}
	if l.Needs, err = RequiredForShift(shift/sd.V, alpha, DefaultPower); err != nil {
		l.Needs = undefined("%v", err)
	}
}

func (c *Comparison) spread(x, y []float64, opt Options) error {
	s := &c.Spread
	test, err := c.spreadTest(x, y, opt)
	if err != nil {
		return err
	}
	s.P, s.PAdj, s.MinP = test.P, test.P, test.MinP
	s.Lower = test.MeanDifference.OK && test.MeanDifference.V < 0
	s.Method = spreadMethod(test, c.Blocked, opt.Resampling)
	f, err := FlignerKilleen(x, y)
	if err != nil {
		return err
	}
	s.PFligner = f.P
	ratio := sdRatio(x, y, opt.conf())
	s.Ratio, s.CI, s.Kurtosis = ratio.Ratio, ratio.CI, ratio.Kurtosis
	s.EquivalenceCI = noInterval("no equivalence range asked for")
	if c.equivalence != ([2]float64{}) && c.Alpha < 0.5 {
		s.EquivalenceCI = sdRatio(x, y, 1-2*c.Alpha).CI
	}
	s.plan(min(c.N, c.M), c.Alpha)
	return c.relative(x, y, opt)
}

func (c *Comparison) spreadTest(x, y []float64, opt Options) (SpreadPermutation, error) {
	if c.Blocked {
		return BlockBrownForsythe(x, y, opt.Resampling)
	}
	return PermutationBrownForsythe(x, y, opt.Resampling)
}

func spreadMethod(t SpreadPermutation, blocked bool, r Resampling) string {
	what := "block Brown–Forsythe"
	if !blocked {
		what = "permutation Brown–Forsythe"
	}
	switch {
	case !t.P.OK:
		return what
	case t.Exact:
		return fmt.Sprintf("%s, exact over %d relabellings", what, t.Count)
	case t.Count == 0:
		return what + ", normal approximation"
	default:
		seed := r.Seed
		if seed == 0 {
			seed = DefaultSeed
		}
		return fmt.Sprintf("%s, %d draws, seed %d", what, t.Count, seed)
	}
}

func (s *SpreadChange) plan(n int, alpha float64) {
	var err error
	if s.Resolves, err = ResolvableSDRatio(n, alpha, DefaultPower); err != nil {
		s.Resolves = undefined("%v", err)
	}
	kurtosis := 3.0
	if s.Kurtosis.OK {
		kurtosis = s.Kurtosis.V
	}
	switch {
	case !s.Ratio.OK:
		s.Needs = undefined("%s", s.Ratio.Why)
	case s.Ratio.V == 0:
		s.Needs = undefined("zero spread in x")
	default:
		if s.Needs, err = RequiredForSDRatio(s.Ratio.V, kurtosis, alpha, DefaultPower); err != nil {
			s.Needs = undefined("%v", err)
		}
	}
}

// relative asks the question of CVs where the levels differ.
func (c *Comparison) relative(x, y []float64, opt Options) error {
	if anyNonPositive(x) || anyNonPositive(y) || !c.MedianX.OK || !c.MedianY.OK {
		return nil
	}
	if math.Abs(logRatio(c.MedianX.V, c.MedianY.V)) <= math.Log1p(relativeLimit) {
		return nil
	}
	u, v := logsOf(x), logsOf(y)
	test, err := c.spreadTest(u, v, opt)
	if err != nil {
		return err
	}
	ratio := sdRatio(u, v, opt.conf())
	c.Spread.Relative = &RelativeSpread{Ratio: ratio.Ratio, CI: ratio.CI, P: test.P}
	return nil
}

func (c *Comparison) note(x, y []float64, opt Options) {
	add := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	if c.Dropped > 0 {
		add("%d %s left out: a run is missing or void", c.Dropped, plural(c.Dropped, "round"))
	}
	if !c.Blocked && !opt.Unblocked {
		add("unequal n (%d and %d): compared without rounds", c.N, c.M)
	}
	if c.N != c.M {
		add("(max − min)/median grows with n: not comparable between n = %d and n = %d", c.N, c.M)
	}
	if c.Blocked && c.N >= minClaims && c.N%2 == 1 {
		add("n = %d is odd: the spread test is conservative; use an even number of rounds", c.N)
	}
	if c.Blocked && c.N >= minClaims && c.N < minBlockTest {
		add("n = %d: 10 rounds or more are advised for claims about spread", c.N)
	}
	if c.Location.Difference {
		add("values ≤ 0: differences instead of ratios")
	}
	if r := c.Spread.Relative; r != nil {
		add("medians differ by more than 5%%: the verdict is of raw values; relative to the level the sd ratio is %s (p %s)", formatRatio(r.Ratio), formatValueP(r.P))
	}
	c.noteSpikes(x, y, add)
}

func (c *Comparison) noteSpikes(x, y []float64, add func(string, ...any)) {
	if k := len(c.FlaggedX) + len(c.FlaggedY); c.Spread.Kurtosis.OK && c.Spread.Kurtosis.V > spikyLimit && k > 0 {
		add("sd driven by %d %s: its interval covers less than it says", k, plural(k, "run"))
	}
	if len(x) > 1 && len(y) > 1 && isConstant(x) != isConstant(y) {
		add("one side is constant: no interval of the sd ratio")
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// PairBlocks aligns two samples by the block that each value belongs to, in
// the order of x, and counts the blocks that only one of them has. A block
// that occurs twice in one sample is an error.
func PairBlocks(xBlocks []int, x []float64, yBlocks []int, y []float64) (px, py []float64, dropped int, err error) {
	if len(xBlocks) != len(x) || len(yBlocks) != len(y) {
		return nil, nil, 0, &SizeError{What: "every value needs its block", Got: []int{len(xBlocks), len(x), len(yBlocks), len(y)}}
	}
	inY := make(map[int]float64, len(y))
	for i, b := range yBlocks {
		if _, twice := inY[b]; twice {
			return nil, nil, 0, &ArgumentError{Name: "block of a value", Rule: "used once per sample", Got: float64(b)}
		}
		inY[b] = y[i]
	}
	seen := make(map[int]bool, len(x))
	for i, b := range xBlocks {
		if seen[b] {
			return nil, nil, 0, &ArgumentError{Name: "block of a value", Rule: "used once per sample", Got: float64(b)}
		}
		seen[b] = true
		if v, both := inY[b]; both {
			px, py = append(px, x[i]), append(py, v)
		}
	}
	return px, py, len(x) + len(y) - 2*len(px), nil
}

// Sensitivity says whether verdicts hang on the flagged runs.
type Sensitivity struct {
	Dropped                        int // runs, or blocks, left out for this question only
	LocationChanges, SpreadChanges bool
}

// WithoutFlagged repeats a comparison, of which x, y and opt are those that it
// was made from, without the flagged runs, and without their whole blocks where
// it is within blocks, and says only whether a verdict changes: outliers are
// never dropped from a result. Its verdicts must not have been adjusted yet. Where
// too few runs are left for any verdict, none has changed.
func (all *Comparison) WithoutFlagged(x, y []float64, opt Options) (Sensitivity, error) {
	dropX, dropY := all.FlaggedX, all.FlaggedY
	if all.Blocked {
		dropX = union(dropX, dropY)
		dropY = dropX
	}
	kept, err := Compare(without(x, dropX), without(y, dropY), Options{Conf: opt.Conf, Unblocked: !all.Blocked,
		Resampling: opt.Resampling, Equivalence: opt.Equivalence, Write: opt.Write})
	if err != nil {
		return Sensitivity{}, err
	}
	s := Sensitivity{Dropped: len(dropX)}
	if !all.Blocked {
		s.Dropped += len(dropY)
	}
	if cannotResolve(min(kept.N, kept.M), opt.Family, all.Alpha, kept.Blocked) == "" {
		s.LocationChanges = changes(all.Location.Verdict, kept.Location.Verdict)
		s.SpreadChanges = changes(all.Spread.Verdict, kept.Spread.Verdict)
	}
	return s, nil
}

// changes says whether a verdict became another one. That fewer runs support
// no claim either is no change.
func changes(from, to Verdict) bool {
	return from.Kind != to.Kind && (from.Claims() || to.Claims() || from.Kind == EquivalentVerdict || to.Kind == EquivalentVerdict)
}

// union merges two ascending lists.
func union(a, b []int) []int {
	var out []int
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return out
}

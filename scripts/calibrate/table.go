package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
)

// result counts one check under one condition.
type result struct {
	check     check
	condition condition
	hits      int
	defined   int
}

func (r result) rate() float64 { return float64(r.hits) / float64(r.defined) }

// Limits of what counts as holding its level or coverage.
const (
	lowLevel, highLevel = 0.03, 0.065
	lowCoverage         = 0.92
)

// overclaims says whether the check promises more than it keeps: a level too
// high or a coverage too low.
func (r result) overclaims() bool {
	if r.check.coverage {
		return r.defined > 0 && r.rate() < lowCoverage
	}
	return r.defined > 0 && r.rate() > highLevel
}

// conservative says whether a test rejects less often than it might.
func (r result) conservative() bool {
	return !r.check.coverage && r.defined > 0 && r.rate() < lowLevel
}

func taus() []float64 { return []float64{0, 1} }

// simulate returns the results of every check in the order of conditions.
func simulate(c config) ([]result, error) {
	var results []result
	stream := uint64(0)
	for _, l := range laws() {
		for _, tau := range taus() {
			for _, n := range c.sizes {
				stream++
				r := rand.New(rand.NewPCG(c.seed, stream))
				some, err := simulateCondition(condition{l, tau, n}, c.trials, r)
				if err != nil {
					return nil, fmt.Errorf("cannot simulate %s, n = %d: %v", l.name, n, err)
				}
				results = append(results, some...)
			}
		}
	}
	return results, nil
}

func simulateCondition(c condition, trials int, r *rand.Rand) ([]result, error) {
	all := checks()
	results := make([]result, len(all))
	for i, k := range all {
		results[i] = result{check: k, condition: c}
	}
	tr := truthOf(c, trials, r)
	for range trials {
		t := newTrial(c, tr, r)
		for i, k := range all {
			hit, defined, err := k.ask(t)
			if err != nil {
				return nil, fmt.Errorf("%s: %v", k.name, err)
			}
			if defined {
				results[i].defined++
			}
			if hit && defined {
				results[i].hits++
			}
		}
	}
	return results, nil
}

const preface = `# Calibration

What the tests and intervals of a goset-bench table do on data that look like benchmark runs. Simulated by
%s (%d trials per cell, seed %d, standard error %.4f at 0.05); the same command gives the same bytes.

Runs are 100·(1 + 0.01·(noise + τ·round)). The noise has unit variance: **normal**; **t3**, Student's t with 3 degrees of freedom;
**skewed**, lognormal with σ = 0.5; **spiky**, normal with one run in ten 6 sd slow. τ is the size, in sds of the noise, of what all
runs of a round have in common. No mode differs from another unless a row says so. Monte Carlo tests use 999 draws here.

Asked for are a level within %.2f to %.3f and a 95%% interval that covers at least %.2f. **Bold** cells claim more than they keep.
_Italic_ cells are tests below the range: they claim too little, never too much. Both are explained below each table. A dash: not
defined at that n.
`

// splits explains a rate that is no simulated one.
const splits = `
## How the splits of goset-bench aa work

%s runs one mode twice in every round and has one comparison of the two. To say how often its tests claim a difference on runs
like these it makes splits: in every round a coin decides which of the two runs is called the first, and the tests are asked again; of 200 splits
the share that claims something, before any correction for several tables, is printed with its exact binomial interval (Clopper and
Pearson). By the split itself nothing differs, so about 5%% are due.

The share is one of these runs, not of the test over all days: n rounds have only 2ⁿ⁻¹ splits that differ, which share every run. At 6 rounds
these are 32, of which the signed-rank test can claim just one (3.1%%), and the spread test, which takes each side about its own median, may
claim none or several of them, as one odd run falls. The tables above have the rate over new runs. From 20 rounds on one run decides little;
a share whose interval lies above 5%% there says that the test claims too much on such runs, and is printed as more than is due.
`

func write(w io.Writer, c config, results []result) error {
	var b strings.Builder
	command := "`go run ./scripts/calibrate`"
	fmt.Fprintf(&b, preface, command, c.trials, c.seed, standardError(c.trials), lowLevel, highLevel, lowCoverage)
	section(&b, c, results, "False-positive rate at 0.05", false)
	section(&b, c, results, "Coverage of 95% intervals", true)
	fmt.Fprintf(&b, splits, "`goset-bench aa`")
	_, err := io.WriteString(w, b.String())
	return err
}

func standardError(trials int) float64 {
	return math.Sqrt(0.05 * 0.95 / float64(trials))
}

func section(b *strings.Builder, c config, results []result, title string, coverage bool) {
	fmt.Fprintf(b, "\n## %s\n\n|  | noise | τ |", title)
	for _, n := range c.sizes {
		fmt.Fprintf(b, " n = %d |", n)
	}
	fmt.Fprintf(b, "\n|---|---|---|%s\n", strings.Repeat("---:|", len(c.sizes)))
	var outside []string
	for i, k := range checks() {
		if k.coverage != coverage {
			continue
		}
		var of []result
		for at := 0; at < len(results); at += len(checks()) * len(c.sizes) {
			of = append(of, row(b, c, results, i, at)...)
		}
		outside = append(outside, explain(k, of))
	}
	b.WriteString("\n")
	for _, line := range outside {
		b.WriteString(line)
	}
}

// row prints one check under one law and τ, and returns its cells.
func row(b *strings.Builder, c config, results []result, i, at int) (cells []result) {
	first := results[at+i]
	fmt.Fprintf(b, "| %s | %s | %g |", first.check.name, first.condition.law.name, first.condition.tau)
	for j := range c.sizes {
		r := results[at+j*len(checks())+i]
		cells = append(cells, r)
		switch {
		case r.defined == 0:
			b.WriteString(" – |")
		case r.overclaims():
			fmt.Fprintf(b, " **%.3f** |", r.rate())
		case r.conservative():
			fmt.Fprintf(b, " _%.3f_ |", r.rate())
		default:
			fmt.Fprintf(b, " %.3f |", r.rate())
		}
	}
	b.WriteString("\n")
	return cells
}

// explain says in one line where a check leaves its range; it is empty where
// it does not.
func explain(k check, cells []result) string {
	bold, italic, worst := 0, 0, 0.0
	for _, r := range cells {
		if r.overclaims() {
			bold++
			if worst == 0 || k.coverage == (r.rate() < worst) {
				worst = r.rate()
			}
		}
		if r.conservative() {
			italic++
		}
	}
	if bold+italic == 0 {
		return ""
	}
	var parts []string
	if bold > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d cells claim more than they keep, at worst %.3f", bold, len(cells), worst))
	}
	if italic > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d below the range", italic, len(cells)))
	}
	note := k.note
	if note == "" {
		note = "within the simulation's error of the range"
	}
	return fmt.Sprintf("- %s: %s; %s.\n", k.name, strings.Join(parts, ", "), note)
}

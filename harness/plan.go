package harness

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Expand makes the plan: the treatments and the order of all runs. It is
// pure: the same experiment and seed give the same plan, byte for byte, on
// every machine and with every Go. Give it Experiment.Plan.SeedOr(drawn).
func (e *Experiment) Expand(seed uint64) (*Plan, error) {
	ts, err := e.Treatments()
	if err != nil {
		return nil, err
	}
	if len(ts) == 0 {
		return nil, fmt.Errorf("cannot plan %s: it has nothing to run", e.Name)
	}
	if e.Controlled() {
		ts = withControls(ts, e.Plan.Baseline)
	}
	p := e.Plan
	total := timesCapped(plusCapped(max(p.Blocks(), 0), max(p.Warmup, 0)), len(ts))
	if total > maxRuns {
		return nil, fmt.Errorf("cannot plan %s: %s runs, at most %d are allowed", e.Name, countText(total), maxRuns)
	}
	runs := make([]Run, 0, total)
	for _, part := range []struct{ rounds, first int }{{p.Warmup, 0}, {p.Blocks(), 1}} {
		if p.Order == OrderSequential {
			runs = sequential(runs, len(ts), part.rounds, part.first)
		} else {
			runs = blocks(runs, len(ts), part.rounds, part.first, p.Order == OrderShuffled, seed)
		}
	}
	return &Plan{Seed: seed, Treatments: ts, Runs: runs}, nil
}

// withControls follows every treatment of the baseline by its repetition: the
// same in everything but the name, so that only chance parts the two.
func withControls(ts []Treatment, baseline string) []Treatment {
	out := make([]Treatment, 0, len(ts)+len(ts)/2)
	for _, t := range ts {
		t.Index = len(out)
		out = append(out, t)
		if t.Mode == baseline {
			t.Index, t.Mode = len(out), t.Mode+ControlSuffix
			out = append(out, t)
		}
	}
	return out
}

// sequential runs each treatment to its end before the next. first is 0 for
// warm-up, whose rounds are all block 0, and 1 for the runs that count.
func sequential(runs []Run, treatments, rounds, first int) []Run {
	for t := range treatments {
		for r := range rounds {
			runs = append(runs, Run{Treatment: int32(t), Block: int32(first * (r + 1)), Position: int32(t + 1)})
			if first == 0 {
				runs[len(runs)-1].Position = int32(t*rounds + r + 1)
			}
		}
	}
	return runs
}

// blocks holds every treatment once per round: randomized complete blocks
// when shuffled, in file order otherwise.
func blocks(runs []Run, treatments, rounds, first int, shuffled bool, seed uint64) []Run {
	order := make([]int32, treatments)
	for r := range rounds {
		for t := range order {
			order[t] = int32(t)
		}
		if shuffled {
			shuffle(order, newStream(seed, uint64(first), uint64(r)))
		}
		before := 0
		if first == 0 {
			before = r * treatments
		}
		for i, t := range order {
			runs = append(runs, Run{Treatment: t, Block: int32(first * (r + 1)), Position: int32(before + i + 1)})
		}
	}
	return runs
}

// newStream is the random stream of one round. Each round has its own, so
// that more runs of one seed continue the plan of fewer. PCG (DXSM) is fixed
// by math/rand/v2; what that package makes of a source (Shuffle, IntN) is not,
// and is not used.
func newStream(seed, part, round uint64) *rand.PCG {
	return rand.NewPCG(seed, mix(part<<63|round))
}

// mix is the finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, OOPSLA 2014): neighbouring rounds start
// from states that have nothing in common.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// shuffle is Fisher and Yates' in Durstenfeld's form.
func shuffle(order []int32, src rand.Source) {
	for i := len(order) - 1; i > 0; i-- {
		j := below(src, uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
}

// below is a number from 0 to n-1, each equally likely (Lemire: Fast random
// integer generation in an interval, ACM TOMACS 2019).
func below(src rand.Source, n uint64) uint64 {
	hi, lo := bits.Mul64(src.Uint64(), n)
	if lo < n {
		for unfair := -n % n; lo < unfair; {
			hi, lo = bits.Mul64(src.Uint64(), n)
		}
	}
	return hi
}

// Factors are the names of all factors of the plan, in order of appearance.
func (p *Plan) Factors() []string {
	var names []string
	seen := map[string]bool{}
	for _, t := range p.Treatments {
		for _, l := range t.Levels {
			if !seen[l.Factor] {
				seen[l.Factor] = true
				names = append(names, l.Factor)
			}
		}
	}
	return names
}

// Level is the treatment's level of a factor; false when it does not have it.
func (t *Treatment) Level(factor string) (string, bool) {
	for _, l := range t.Levels {
		if l.Factor == factor {
			return l.Value, true
		}
	}
	return "", false
}

// Label names a treatment for people: "stream goset noisy n=2 fence=true". A
// condition without load is not named: it is how things are.
func (t *Treatment) Label() string {
	parts := []string{t.Workload, t.Mode}
	if !t.Load.None() {
		parts = append(parts, t.Condition)
	}
	for _, l := range t.Levels {
		parts = append(parts, l.Factor+"="+l.Value)
	}
	return strings.Join(parts, " ")
}

// hasConditions is true when the runs meet conditions that have names.
func (p *Plan) hasConditions() bool {
	return slices.ContainsFunc(p.Treatments, func(t Treatment) bool { return t.Condition != "" })
}

// WriteCSV writes a line per run: index from 0, block with 0 for warm-up,
// position in the block from 1, workload, mode, condition where there are any,
// and a column per factor, empty where a treatment does not have it. RFC 4180,
// but for line ends of \n.
func (p *Plan) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	factors := p.Factors()
	head := []string{"run", "block", "position", "workload", "mode"}
	if p.hasConditions() {
		head = append(head, "condition")
	}
	if err := out.Write(slices.Concat(head, factors)); err != nil {
		return err
	}
	rows := make([][]string, len(p.Treatments))
	for i, t := range p.Treatments {
		rows[i] = append(make([]string, 3), t.Workload, t.Mode)
		if p.hasConditions() {
			rows[i] = append(rows[i], t.Condition)
		}
		for _, name := range factors {
			level, _ := t.Level(name)
			rows[i] = append(rows[i], level)
		}
	}
	for i, r := range p.Runs {
		row := rows[r.Treatment]
		row[0], row[1], row[2] = strconv.Itoa(i), strconv.Itoa(int(r.Block)), strconv.Itoa(int(r.Position))
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteText writes a line per run for people, in the order of the plan, with
// the columns of WriteCSV in line.
func (p *Plan) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	cells := make([][]string, len(p.Treatments))
	head := []string{"workload", "mode"}
	if p.hasConditions() {
		head = append(head, "condition")
	}
	wide := make([]int, len(head))
	for i, t := range p.Treatments {
		cells[i] = []string{t.Workload, t.Mode, t.Condition}[:len(head)]
		for c, text := range cells[i] {
			wide[c] = max(wide[c], len(head[c]), utf8.RuneCountInString(text))
		}
	}
	inLine := func(cells []string) string {
		var b strings.Builder
		for c, text := range cells {
			fmt.Fprintf(&b, "%-*s  ", wide[c], text)
		}
		return b.String()
	}
	fmt.Fprintf(out, "seed %d, %d treatments, %d runs\n", p.Seed, len(p.Treatments), len(p.Runs))
	fmt.Fprintf(out, "%8s  %8s  %8s  %slevels\n", "run", "block", "position", inLine(head))
	for i, r := range p.Runs {
		block := "warm-up"
		if r.Block > 0 {
			block = strconv.Itoa(int(r.Block))
		}
		line := fmt.Sprintf("%8d  %8s  %8d  %s%s", i, block, r.Position, inLine(cells[r.Treatment]), levelsText(p.Treatments[r.Treatment].Levels))
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	return out.Flush()
}

func levelsText(levels []Level) string {
	parts := make([]string, len(levels))
	for i, l := range levels {
		parts[i] = l.Factor + "=" + l.Value
	}
	return strings.Join(parts, " ")
}

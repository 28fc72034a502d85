package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestUntil(t *testing.T) {
	e := mustLoad(t, `[plan]
runs = 6
until = { median = "1%", sd_ratio = "20.5 %", max = 40 }
`+minimal)
	if want := (Until{Median: 0.01, SDRatio: 0.205, Max: 40}); *e.Plan.Until != want {
		t.Errorf("until %+v, want %+v", *e.Plan.Until, want)
	}
	if got, want := e.Plan.Until.Words(), "every median to ±1% and every sd ratio to ±20.5%"; got != want {
		t.Errorf("words %q, want %q", got, want)
	}
	p := mustExpand(t, e, 1)
	if last := p.Runs[len(p.Runs)-1].Block; last != 40 {
		t.Errorf("the plan has %d blocks, want all 40 that there can be", last)
	}
}

func TestUntilFaults(t *testing.T) {
	for text, want := range map[string]string{
		`until = { max = 40 }`:                                        "must name what is to be narrow",
		`until = { median = "1%" }`:                                   "must have max",
		`until = { median = 1, max = 40 }`:                            `must be a percentage above 0, as "1%"`,
		`until = { median = "0%", max = 40 }`:                         "must be a percentage above 0",
		`until = { median = "-1%", max = 40 }`:                        "must be a percentage above 0",
		`until = { median = "1%", max = 3 }`:                          "must have a max of at least plan.runs, 10",
		"until = { p = \"5%\", median = \"1%\", max = 20 }":           "is no key of this table",
		"until = { median = \"1%\", max = 20 }\norder=\"sequential\"": "needs rounds",
		`until = 5`:                     "must be a table",
		`control = "yes"`:               "must be true or false",
		`compare = "a"`:                 "must be a list of pairs of modes",
		`compare = [["m"]]`:             "must be two names of modes",
		`compare = [["m", "n"]]`:        "must be the name of a mode",
		`compare = [["m", "m"]]`:        "must be another mode than the first",
		`equivalence = [1.25, 0.8]`:     "must be two numbers around 1",
		`equivalence = [0.8]`:           "must be two numbers around 1",
		"equivalence = [nan, 1.2]":      "must be two numbers around 1",
		"equivalence = [0.8, \"1.25\"]": "must be two numbers around 1",
	} {
		got := faultsOf(t, "[plan]\n"+text+"\n"+minimal, LoadOptions{})
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%s: faults %q, want %q", text, got, want)
		}
	}
}

func TestComparePairs(t *testing.T) {
	e := mustLoad(t, "[plan]\ncompare = [[\"n\", \"m\"]]\nequivalence = [0.8, 1.25]\n"+minimal+"[mode.n]\n")
	if got := fmt.Sprint(e.Plan.Compare, e.Plan.Equivalence); got != "[{n m}] {0.8 1.25}" {
		t.Errorf("got %s", got)
	}
}

func TestControl(t *testing.T) {
	labels := func(text string) string {
		var out []string
		for _, tr := range mustExpand(t, mustLoad(t, text), 1).Treatments {
			out = append(out, tr.Mode)
		}
		return strings.Join(out, " ")
	}
	two := minimal + "[mode.n]\n"
	for _, tc := range []struct{ text, want string }{
		{two, "m m#2 n"}, // 10 runs
		{"[plan]\nruns = 9\n" + two, "m n"},
		{"[plan]\nruns = 9\ncontrol = true\n" + two, "m m#2 n"},
		{"[plan]\ncontrol = false\n" + two, "m n"},
		{minimal, "m"},
		{"[plan]\ncontrol = true\n" + minimal, "m m#2"},
		{"[plan]\nbaseline = \"n\"\n" + two, "m n n#2"},
	} {
		if got := labels(tc.text); got != tc.want {
			t.Errorf("%q: modes %q, want %q", tc.text, got, tc.want)
		}
	}
	p := mustExpand(t, mustLoad(t, two), 1)
	a, b := p.Treatments[0], p.Treatments[1]
	if a.Index != 0 || b.Index != 1 || fmt.Sprint(a.Layers) != fmt.Sprint(b.Layers) || !slices.Equal(a.Args, b.Args) {
		t.Errorf("the control is not its baseline: %+v and %+v", a, b)
	}
	// In the same blocks: every block holds each once.
	count := map[[2]int32]int{}
	for _, r := range p.Runs {
		count[[2]int32{r.Block, r.Treatment}]++
	}
	for block := int32(1); block <= 10; block++ {
		for tr := range p.Treatments {
			if n := count[[2]int32{block, int32(tr)}]; n != 1 {
				t.Errorf("block %d has treatment %d %d times", block, tr, n)
			}
		}
	}
}

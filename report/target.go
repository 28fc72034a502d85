package report

import (
	"fmt"
	"strconv"
	"strings"

	"goset/internal/lazy"
	"goset/stats"
)

// Target is what an experiment shall be able to find: a change of the median
// and a ratio of sds, both as a fraction above nothing. The zero value asks for
// none.
type Target struct {
	Median float64 // 0.01: 1%
	SD     float64 // 0.2: sds that differ by a factor of 1.2
}

// DefaultTarget is what is planned for where nobody says what matters.
func DefaultTarget() Target { return Target{Median: 0.01, SD: 0.2} }

var effectText = lazy.Regexp(`^\s*(sd\s+)?(\d+(?:\.\d+)?)\s*%\s*$`)

// ParseTarget reads "1%", "sd 20%", or both with a comma between.
func ParseTarget(text string) (Target, error) {
	var e Target
	for part := range strings.SplitSeq(text, ",") {
		m := effectText().FindStringSubmatch(part)
		if m == nil {
			return Target{}, fmt.Errorf("cannot read effect %q: want a change of the median as \"1%%\", of the sd as \"sd 20%%\", or both with a comma between", text)
		}
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil || v <= 0 || v > 1e6 {
			return Target{}, fmt.Errorf("cannot read effect %q: want more than 0%% and at most 1000000%%, got %s%%", text, m[2])
		}
		to := &e.Median
		if m[1] != "" {
			to = &e.SD
		}
		if *to != 0 {
			return Target{}, fmt.Errorf("cannot read effect %q: it has the same twice", text)
		}
		*to = v / 100
	}
	return e, nil
}

func (e Target) medianWords() string { return fmt.Sprintf("a median change of %.4g%%", 100*e.Median) }
func (e Target) sdWords() string     { return fmt.Sprintf("an sd ratio of %.4g", 1+e.SD) }

// effectNotes say for every comparison how many rounds the effect takes that was
// asked for.
func (b *maker) effectNotes() ([]string, error) {
	var out []string
	for _, q := range []struct {
		asked bool
		words string
		of    func(*Contrast) (stats.Value, error)
	}{
		{b.opts.Target.Median > 0, b.opts.Target.medianWords(), func(c *Contrast) (stats.Value, error) { return c.RoundsForChange(b.opts.Target.Median) }},
		{b.opts.Target.SD > 0, b.opts.Target.sdWords(), func(c *Contrast) (stats.Value, error) { return c.RoundsForRatio(1 + b.opts.Target.SD) }},
	} {
		if !q.asked {
			continue
		}
		var parts []string
		for i := range b.tables {
			t := &b.tables[i]
			for j := range t.Contrasts {
				c := &t.Contrasts[j]
				if !c.judged() {
					continue
				}
				n, err := q.of(c)
				if err != nil {
					return nil, err
				}
				parts = append(parts, fmt.Sprintf("%s against %s on %s %s", c.X, c.Y, place{&t.Table, c}.name(), roundsText(n, c.Blocked)))
			}
		}
		if len(parts) == 0 {
			parts = []string{"nothing is compared"}
		}
		out = append(out, fmt.Sprintf("To find %s 4 times out of 5, if normal: %s.", q.words, strings.Join(parts, "; ")))
	}
	return out, nil
}

// roundsText writes a number of rounds that something takes.
func roundsText(n stats.Value, blocked bool) string {
	noun := "runs on each side"
	if blocked {
		noun = "rounds"
	}
	switch {
	case !n.OK:
		return "unknown: " + n.Why
	case n.V > manyOf:
		return fmt.Sprintf("more than %d %s", manyOf, noun)
	}
	return fmt.Sprintf("about %.0f %s", n.V, noun)
}

package report

import (
	"fmt"
	"strings"

	"goset/harness"
)

// disturbed is the sentence about what went with the slow runs.
func (d *Document) disturbed() *Headline {
	var found, seen, plain []string
	cells := 0
	for _, i := range headlined(d.Tables) {
		for k := range d.Tables[i].Attributions {
			a := &d.Tables[i].Attributions[k]
			cells++
			switch sure := a.sure(); {
			case len(sure) > 0:
				found = append(found, fmt.Sprintf("%s (%s)", bare(sure[0].Words), a.Label))
			case a.Standing != nil:
				seen = append(seen, fmt.Sprintf("%s (%s)", bare(a.Standing.Words), a.Label))
			case a.Apart:
				plain = append(plain, a.Label)
			}
		}
	}
	if cells == 0 {
		return nil
	}
	h := Headline{Grade: Open}
	switch {
	case len(found) > 0:
		h.Grade = Clear
		h.Text = "With slow runs went: " + enumerate(found) + "."
	case len(seen) > 0:
		h.Grade = Hint
		h.Text = "With slow runs came, seen and not tested: " + enumerate(seen) + "."
	default:
		h.Text = "No counter of the kernel goes with the slow runs."
	}
	if len(found) > 0 && len(seen) > 0 {
		h.Text += " Seen and not tested: " + enumerate(seen) + "."
	}
	switch {
	case len(plain) > 0:
		h.Text += fmt.Sprintf(" Slow runs without an explanation: %s.", enumerate(plain))
	case len(found)+len(seen) == 0:
		h.Text += " No run sticks out as slow either."
	}
	return &h
}

// Topic names the kind of a note where a reader has to know of it before any
// number.
type Topic string

// The topics, the gravest first.
const (
	TopicWild   Topic = "wild"   // CV above 10%
	TopicLoose  Topic = "loose"  // CV above 5%
	TopicCPUs   Topic = "cpus"   // not all runs on the same CPUs
	TopicSteady Topic = "steady" // the iterations reach no steady state
)

// minds sum up over all tables what their notes warn of.
func (d *Document) minds() []string {
	words := []struct {
		topic Topic
		text  string
	}{
		{TopicWild, "CV above 10%%, do not compare: %s"},
		{TopicLoose, "CV above 5%%, look at the environment: %s"},
		{TopicCPUs, "Not always on the same CPUs, so that the spread includes differences between cores: %s"},
		{TopicSteady, "No steady state, the level of the iterations still changes late in a run: %s"},
	}
	var out []string
	for _, w := range words {
		var order names
		of := map[string]*names{} // by rows: the tables
		for _, i := range headlined(d.Tables) {
			t := &d.Tables[i]
			rows := map[int]bool{}
			for _, n := range t.Notes {
				if n.Topic == w.topic {
					for _, r := range n.Rows {
						rows[r] = true
					}
				}
			}
			if len(rows) > 0 {
				who := t.someRows(rows)
				order.add(who)
				if of[who] == nil {
					of[who] = &names{}
				}
				of[who].add(t.Name())
			}
		}
		var where []string
		for _, who := range order.list {
			where = append(where, enumerate(of[who].list)+" ("+who+")")
		}
		if len(where) > 0 {
			out = append(out, fmt.Sprintf(w.text, strings.Join(where, "; ")))
		}
	}
	return out
}

// someRows names rows: all of them, or which.
func (t *Table) someRows(rows map[int]bool) string {
	if len(rows) == len(t.Rows) {
		return "every mode"
	}
	var out []string
	for i := range t.Rows {
		if rows[i] {
			out = append(out, t.Rows[i].Label())
		}
	}
	return enumerate(out)
}

// isSequential says that the runs were not mixed, so that time and mode cannot
// be told apart.
func isSequential(m *harness.Manifest) bool { return m != nil && m.Order == harness.OrderSequential }

package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"goset/harness"
	"goset/metric"
	"goset/stats"
)

// sessionNumber is one number of a contrast over the sessions, for programs.
// The names stay.
type sessionNumber struct {
	name  string
	value func(*SessionContrast) stats.Value
}

// sessionNumbers are those of contrasts.csv where they are the same question.
// Components are of logarithms, or of differences for a median in the unit.
func sessionNumbers() []sessionNumber {
	out := []sessionNumber{
		{"change", func(c *SessionContrast) stats.Value { return changeBack(c, c.Median.Mean) }},
		{"change_lo", func(c *SessionContrast) stats.Value { return changeBack(c, bound(c.Median.CI, c.Median.CI.Lo)) }},
		{"change_hi", func(c *SessionContrast) stats.Value { return changeBack(c, bound(c.Median.CI, c.Median.CI.Hi)) }},
		{"sd_ratio", func(c *SessionContrast) stats.Value { return exponential(c.Spread.Mean) }},
		{"sd_ratio_lo", func(c *SessionContrast) stats.Value { return exponential(bound(c.Spread.CI, c.Spread.CI.Lo)) }},
		{"sd_ratio_hi", func(c *SessionContrast) stats.Value { return exponential(bound(c.Spread.CI, c.Spread.CI.Hi)) }},
	}
	for _, q := range []struct {
		name string
		of   func(*SessionContrast) *SessionEffect
	}{{"median", func(c *SessionContrast) *SessionEffect { return &c.Median }}, {"spread", func(c *SessionContrast) *SessionEffect { return &c.Spread }}} {
		for _, n := range []struct {
			name  string
			value func(*SessionEffect) stats.Value
		}{
			{"sessions", func(e *SessionEffect) stats.Value { return whole(e.N) }},
			{"p", func(e *SessionEffect) stats.Value { return e.P }},
			{"p_adj", func(e *SessionEffect) stats.Value { return e.PAdj }},
			{"s2", func(e *SessionEffect) stats.Value { return e.S2 }},
			{"t2_rounds", func(e *SessionEffect) stats.Value { return e.Levels.T2[0] }},
			{"t2_sessions", func(e *SessionEffect) stats.Value { return e.Levels.T2[1] }},
			{"next_rounds", func(e *SessionEffect) stats.Value { return e.Next.Rounds }},
			{"next_sessions", func(e *SessionEffect) stats.Value { return e.Next.Sessions }},
		} {
			out = append(out, sessionNumber{q.name + "_" + n.name, func(c *SessionContrast) stats.Value { return n.value(q.of(c)) }})
		}
	}
	return out
}

func contrastFields(t *SessionTable, c *SessionContrast) []string {
	return []string{label(t.Workload, t.Levels), t.Condition, t.Metric.Name, t.Metric.Unit, c.X, c.Y, strconv.FormatBool(c.Control)}
}

// SessionsContrastsCSV writes one line per contrast, over the sessions.
func SessionsContrastsCSV(w io.Writer, s *Sessions) error {
	out := csv.NewWriter(w)
	head := []string{"workload", "condition", "metric", "unit", "x", "y", "control", "change_scale"}
	for _, n := range sessionNumbers() {
		head = append(head, n.name)
	}
	out.Write(append(head, "median_verdict", "spread_verdict")) // csv.Writer keeps its first error
	for i := range s.Tables {
		t := &s.Tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			line := append(contrastFields(t, c), scaleWord(c.Difference))
			for _, n := range sessionNumbers() {
				line = append(line, field(n.value(c)))
			}
			out.Write(append(line, c.Median.Verdict.Text, c.Spread.Verdict.Text))
		}
	}
	out.Flush()
	return out.Error()
}

// SessionsCSV writes one line per contrast and session: what the session's own
// contrasts.csv has of it. A session without it has a line without numbers.
func SessionsCSV(w io.Writer, s *Sessions) error {
	out := csv.NewWriter(w)
	head := []string{"session", "folder", "began", "workload", "condition", "metric", "unit", "x", "y", "control", "change_scale"}
	for _, n := range contrastNumbers() {
		head = append(head, n.name)
	}
	out.Write(head)
	for i := range s.Tables {
		t := &s.Tables[i]
		for j := range t.Contrasts {
			c := &t.Contrasts[j]
			for k := range c.Values {
				f, own := &s.Each[k], c.Values[k].Contrast
				line := append([]string{strconv.Itoa(k + 1), f.Name, f.Start.UTC().Format(time.RFC3339Nano)}, contrastFields(t, c)...)
				if own == nil {
					out.Write(append(line, make([]string, len(head)-len(line))...))
					continue
				}
				line = append(line, scaleWord(own.Location.Difference))
				for _, n := range contrastNumbers() {
					line = append(line, field(n.value(own)))
				}
				out.Write(line)
			}
		}
	}
	out.Flush()
	return out.Error()
}

type jsonSessions struct {
	Schema     int                 `json:"schema"`
	Experiment string              `json:"experiment,omitempty"`
	Title      string              `json:"title,omitempty"`
	Sessions   []jsonSession       `json:"sessions"`
	SelfCheck  []string            `json:"self_check_failed"`
	Headlines  []jsonHead          `json:"headlines"`
	Notes      []string            `json:"notes"`
	Tables     []jsonSessionsTable `json:"tables"`
	Costs      map[string]*float64 `json:"costs_seconds"`
	Scope      string              `json:"scope"`
}

type jsonSession struct {
	Folder  string     `json:"folder"`
	Began   time.Time  `json:"began"`
	Starts  int        `json:"starts"`
	Boot    string     `json:"boot_id,omitempty"`
	Planned int        `json:"planned"`
	Missing int        `json:"missing"`
	Stopped string     `json:"stopped,omitempty"`
	Runs    jsonCounts `json:"runs"`
}

type jsonSessionsTable struct {
	Workload  string                 `json:"workload"`
	Condition string                 `json:"condition,omitempty"`
	Levels    []harness.Level        `json:"levels,omitempty"`
	Metric    metric.Metric          `json:"metric"`
	Contrasts []jsonSessionsContrast `json:"contrasts"`
}

type jsonSessionsContrast struct {
	X           string              `json:"x"`
	Y           string              `json:"y"`
	Control     bool                `json:"control,omitempty"`
	ChangeScale string              `json:"change_scale"`
	Values      map[string]*float64 `json:"values"`
	Undefined   map[string]string   `json:"undefined,omitempty"`
	Median      jsonVerdict         `json:"median"`
	Spread      jsonVerdict         `json:"spread"`
	// Sessions has a null where a session lacks the comparison.
	Sessions []*jsonContrast `json:"sessions"`
}

// SessionsJSON writes several sessions as one object, in base units and full
// digits. A null is an undefined number.
func SessionsJSON(w io.Writer, s *Sessions) error {
	out := jsonSessions{Schema: JSONSchema, Experiment: s.Experiment, Title: s.Title, Sessions: []jsonSession{}, SelfCheck: nonNil(s.SelfCheck),
		Headlines: []jsonHead{}, Notes: nonNil(s.Notes), Tables: []jsonSessionsTable{}, Scope: s.Scope,
		Costs: map[string]*float64{"round": maybe(s.Costs.Round), "session": maybe(s.Costs.Fixed), "extra": &s.Costs.Extra}}
	for i := range s.Each {
		f := &s.Each[i]
		out.Sessions = append(out.Sessions, jsonSession{f.Name, f.Start, f.Starts, f.Boot, f.Planned, f.Missing, f.Stopped, jsonCounts(f.Counts)})
	}
	for _, h := range s.Headlines {
		out.Headlines = append(out.Headlines, jsonHead{h.Grade, h.Better, h.Text})
	}
	for i := range s.Tables {
		t := &s.Tables[i]
		j := jsonSessionsTable{t.Workload, t.Condition, t.Levels, t.Metric, []jsonSessionsContrast{}}
		for k := range t.Contrasts {
			j.Contrasts = append(j.Contrasts, sessionsContrastJSON(&t.Contrasts[k]))
		}
		out.Tables = append(out.Tables, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func sessionsContrastJSON(c *SessionContrast) jsonSessionsContrast {
	const test = "Student over sessions"
	verdict := func(e *SessionEffect) jsonVerdict {
		return jsonVerdict{e.Verdict.Kind, e.Verdict.Text, test, e.Grade, e.Doubts}
	}
	j := jsonSessionsContrast{X: c.X, Y: c.Y, Control: c.Control, ChangeScale: scaleWord(c.Difference), Values: map[string]*float64{},
		Median: verdict(&c.Median), Spread: verdict(&c.Spread)}
	for _, n := range sessionNumbers() {
		putNumber(j.Values, &j.Undefined, n.name, n.value(c))
	}
	for i := range c.Values {
		if own := c.Values[i].Contrast; own != nil {
			k := contrastJSON(own)
			j.Sessions = append(j.Sessions, &k)
			continue
		}
		j.Sessions = append(j.Sessions, nil)
	}
	return j
}

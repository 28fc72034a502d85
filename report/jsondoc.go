package report

import (
	"encoding/json"
	"io"

	"goset/stats"
)

// JSONSchema is the version of the form that JSONDocument writes. Within a
// version members are only added.
const JSONSchema = 1

type jsonDocument struct {
	Schema     int           `json:"schema"`
	Experiment string        `json:"experiment,omitempty"`
	Title      string        `json:"title,omitempty"`
	Headlines  []jsonHead    `json:"headlines"`
	SelfCheck  jsonSelfCheck `json:"self_check"`
	Notes      []string      `json:"notes"`
	Suite      []jsonSuite   `json:"suite"`
	Tables     []jsonTable   `json:"tables"`
	Gates      []jsonGate    `json:"gates"`
	GateBasis  string        `json:"gates_basis,omitempty"`
	Rules      []jsonRule    `json:"rules"`
	Facts      []jsonFact    `json:"facts"`
	Scope      string        `json:"scope"`
}

type jsonHead struct {
	Grade  Grade  `json:"grade"`  // clear, hint, open
	Better int    `json:"better"` // 1: gain, -1: loss, 0: neither
	Text   string `json:"text"`
}

type jsonSelfCheck struct {
	Ran         bool     `json:"ran"`
	Comparisons int      `json:"comparisons"`
	Failed      []string `json:"failed"`
	Narrow      []string `json:"narrow"`
	Dependent   []string `json:"dependent"`
	Text        string   `json:"text"`
}

type jsonSuite struct {
	X          string   `json:"x"`
	Y          string   `json:"y"`
	Condition  string   `json:"condition,omitempty"`
	Workloads  []string `json:"workloads"`
	Blocks     int      `json:"blocks"`
	Dropped    int      `json:"blocks_dropped"`
	Geomean    *float64 `json:"sd_ratio_geomean"`
	Lo         *float64 `json:"sd_ratio_lo"`
	Hi         *float64 `json:"sd_ratio_hi"`
	P          *float64 `json:"average_p"`
	PAdj       *float64 `json:"average_p_adj"`
	EveryLower *float64 `json:"every_lower_p"`
	LowerPAdj  *float64 `json:"every_lower_p_adj"`
	Average    string   `json:"average"`
	Every      string   `json:"every"`
}

type jsonGate struct {
	Bound       string     `json:"bound"`
	Metric      string     `json:"metric"`
	X           string     `json:"x"`
	Y           string     `json:"y"`
	Status      GateStatus `json:"status"`
	ChangeScale string     `json:"change_scale"` // ratio, difference
	Change      *float64   `json:"change"`
	Lo          *float64   `json:"change_lo"`
	Hi          *float64   `json:"change_hi"`
	Text        string     `json:"text"`
}

type jsonContrast struct {
	X           string              `json:"x"`
	Y           string              `json:"y"`
	Control     bool                `json:"control,omitempty"`
	ChangeScale string              `json:"change_scale"` // ratio, difference
	Values      map[string]*float64 `json:"values"`
	Undefined   map[string]string   `json:"undefined,omitempty"`
	Median      jsonVerdict         `json:"median"`
	Spread      jsonVerdict         `json:"spread"`
}

type jsonVerdict struct {
	Kind   stats.VerdictKind `json:"verdict"`
	Text   string            `json:"text"`
	Test   string            `json:"test"`
	Grade  Grade             `json:"grade"` // clear, hint, open
	Doubts []string          `json:"doubts,omitempty"`
}

type jsonEffect struct {
	Mode        string   `json:"mode"`
	Name        string   `json:"effect"`
	On          string   `json:"on"`
	Change      *float64 `json:"change"`
	Lo          *float64 `json:"change_lo"`
	Hi          *float64 `json:"change_hi"`
	PAdj        *float64 `json:"median_p_adj"`
	SpreadRatio *float64 `json:"spread_ratio"`
	SpreadPAdj  *float64 `json:"spread_p_adj"`
	Median      string   `json:"median"`
	Spread      string   `json:"spread"`
}

type jsonTrend struct {
	Mode    string    `json:"mode"`
	Factor  string    `json:"factor"`
	Levels  []float64 `json:"levels"`
	Slope   *float64  `json:"slope"`
	Lo      *float64  `json:"slope_lo"`
	Hi      *float64  `json:"slope_hi"`
	P       *float64  `json:"median_p"`
	SpreadP *float64  `json:"spread_p"`
	Median  string    `json:"median"`
	Spread  string    `json:"spread"`
}

type jsonAttribution struct {
	Row    string      `json:"row"`
	Slow   []jsonSlow  `json:"slow"`
	Causes []jsonCause `json:"causes"`
	Text   string      `json:"text"`
}

type jsonSlow struct {
	Run    int     `json:"run"`
	Block  int     `json:"block"`
	Number int     `json:"number"`
	Value  float64 `json:"value"`
}

type jsonCause struct {
	Counter string   `json:"counter"`
	R       *float64 `json:"rank_correlation"`
	P       *float64 `json:"p"`
	PAdj    *float64 `json:"p_adj"`
	// PerSecond is set where the correlation is that of the counter's rate.
	PerSecond bool    `json:"per_second"`
	InSlow    float64 `json:"in_slow"`
	Median    float64 `json:"median_of_others"`
}

type jsonRule struct {
	Number int        `json:"number"`
	Name   string     `json:"name"`
	Status RuleStatus `json:"status"`
	Reason string     `json:"reason"`
}

type jsonFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// JSONDocument writes a whole report as one object, in base units and full
// digits. A null is an undefined number.
func JSONDocument(w io.Writer, d *Document) error {
	out := jsonDocument{Schema: JSONSchema, Experiment: d.Experiment, Title: d.Title, Scope: d.Scope,
		Notes: nonNil(d.Notes), Headlines: []jsonHead{}, Suite: []jsonSuite{}, Tables: []jsonTable{}, Gates: []jsonGate{}, Rules: []jsonRule{}, Facts: []jsonFact{},
		SelfCheck: jsonSelfCheck{Ran: d.SelfCheck.Ran, Comparisons: d.SelfCheck.Comparisons, Failed: nonNil(d.SelfCheck.Failed), Narrow: nonNil(d.SelfCheck.Narrow), Dependent: nonNil(d.SelfCheck.Dependent), Text: d.SelfCheck.Text}}
	for _, h := range d.Headlines {
		out.Headlines = append(out.Headlines, jsonHead{h.Grade, h.Better, h.Text})
	}
	for i := range d.Suite {
		out.Suite = append(out.Suite, suiteJSON(&d.Suite[i]))
	}
	for i := range d.Tables {
		out.Tables = append(out.Tables, tableJSON(&d.Tables[i]))
	}
	for i := range d.Gates {
		out.Gates = append(out.Gates, gateJSON(&d.Gates[i]))
	}
	out.GateBasis = d.GateBasis
	for _, r := range d.Rules {
		out.Rules = append(out.Rules, jsonRule(r))
	}
	for _, f := range d.Facts {
		out.Facts = append(out.Facts, jsonFact(f))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

// nonNil keeps an empty list from being written as null.
func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// maybe is a number, or null where it is undefined.
func maybe(v stats.Value) *float64 {
	if !v.OK {
		return nil
	}
	return &v.V
}

// putNumber puts a number among others, and why where it is undefined.
func putNumber(values map[string]*float64, undefined *map[string]string, name string, v stats.Value) {
	values[name] = maybe(v)
	if v.OK || v.Why == "" {
		return
	}
	if *undefined == nil {
		*undefined = map[string]string{}
	}
	(*undefined)[name] = v.Why
}

func suiteJSON(s *SuiteClaim) jsonSuite {
	return jsonSuite{X: s.X, Y: s.Y, Condition: s.Condition, Workloads: s.Workloads, Blocks: s.Blocks, Dropped: s.Dropped,
		Geomean: maybe(s.GeomeanRatio), Lo: maybe(bound(s.CI, s.CI.Lo)), Hi: maybe(bound(s.CI, s.CI.Hi)), P: maybe(s.SuiteSpread.Average.P),
		PAdj: maybe(s.AveragePAdj), EveryLower: maybe(s.EveryLower), LowerPAdj: maybe(s.LowerPAdj), Average: s.AverageText, Every: s.EveryText}
}

func gateJSON(g *Gate) jsonGate {
	return jsonGate{Bound: g.Bound.Text, Metric: g.Metric, X: g.X, Y: g.Y, Status: g.Status, ChangeScale: scaleWord(g.Difference), Change: maybe(g.Change),
		Lo: maybe(bound(g.CI, g.CI.Lo)), Hi: maybe(bound(g.CI, g.CI.Hi)), Text: g.Text}
}

// scaleWord says what a change is: a share of what it is against, or in the unit of the
// metric.
func scaleWord(difference bool) string {
	if difference {
		return "difference"
	}
	return "ratio"
}

func contrastJSON(c *Contrast) jsonContrast {
	j := jsonContrast{X: c.X, Y: c.Y, Control: c.Control, ChangeScale: scaleWord(c.Location.Difference), Values: map[string]*float64{},
		Median: jsonVerdict{c.Location.Verdict.Kind, c.Location.Verdict.Text, c.Location.Method, c.MedianGrade.Grade, c.MedianGrade.Doubts},
		Spread: jsonVerdict{c.Spread.Verdict.Kind, c.Spread.Verdict.Text, c.Spread.Method, c.SpreadGrade.Grade, c.SpreadGrade.Doubts}}
	for _, n := range contrastNumbers() {
		putNumber(j.Values, &j.Undefined, n.name, n.value(c))
	}
	return j
}

func attributionJSON(t *Table, a *Attribution) jsonAttribution {
	j := jsonAttribution{Row: t.Rows[a.Row].Label(), Slow: []jsonSlow{}, Causes: []jsonCause{}, Text: a.Text}
	for _, s := range a.Slow {
		j.Slow = append(j.Slow, jsonSlow(s))
	}
	for _, c := range a.Causes {
		j.Causes = append(j.Causes, jsonCause{c.Counter, maybe(c.R), maybe(c.P), maybe(c.PAdj), c.PerSecond, c.InSlow, c.Median})
	}
	return j
}

func effectJSON(e *Effect) jsonEffect {
	return jsonEffect{e.Mode, e.Name, e.On, maybe(e.Change), maybe(bound(e.CI, e.CI.Lo)), maybe(bound(e.CI, e.CI.Hi)), maybe(e.PAdj),
		maybe(e.SpreadRatio), maybe(e.SpreadPAdj), e.Median, e.Spread}
}

func trendJSON(s *SweepTrend) jsonTrend {
	return jsonTrend{s.Mode, s.Factor, s.Levels, maybe(s.Slope.Slope), maybe(bound(s.Slope.CI, s.Slope.CI.Lo)), maybe(bound(s.Slope.CI, s.Slope.CI.Hi)),
		maybe(s.Location.P), maybe(s.Dispersion.P), s.Median, s.Spread}
}

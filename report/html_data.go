package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"

	"goset/harness"
	"goset/metric"
)

// The embedded data of the page: columns, because a column of small integers
// compresses to almost nothing, and full digits, because the raw table shows
// them; above fullDigits runs nine, which no plot and few clocks can tell from
// all.
const (
	fullDigits  = 5000
	roundDigits = 9
)

type pageData struct {
	Sets    []pageSet    `json:"sets"`
	Figures []pageFigure `json:"figures"`
}

type pageSet struct {
	Name     string         `json:"name"`
	Rows     []string       `json:"rows"`
	Colours  []int          `json:"colours"` // by row
	Main     int            `json:"main"`    // metric to name a run by
	Metrics  []pageMetric   `json:"metrics"`
	Counters []string       `json:"counters"`
	Run      []int          `json:"run"`
	Attempt  []int          `json:"attempt"`
	Block    []int          `json:"block"`
	Position []int          `json:"position"`
	Row      []int          `json:"row"`
	Outcome  string         `json:"outcome"` // k, v, f; in capitals: warm-up
	CPUs     []int          `json:"cpus"`    // into CPUTexts
	CPUTexts []string       `json:"cpuTexts"`
	Start    []int64        `json:"start"` // ms since the first run of the page
	Reasons  map[int]string `json:"reasons"`
	Values   []column64     `json:"values"` // by metric
	Counted  []column64     `json:"counterValues"`
}

type pageMetric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

type pageFigure struct {
	Set      int              `json:"set"`
	Metric   int              `json:"metric"`
	Name     string           `json:"name"`
	Axis     string           `json:"axis"`
	Of       string           `json:"of"`
	Better   metric.Direction `json:"better"`
	Factor   float64          `json:"factor"`
	Unit     string           `json:"unit"`
	Decimals int              `json:"decimals"`
	Boxes    []pageBox        `json:"boxes"`
	SDs      column64         `json:"sds"` // by row
	Curves   []pageCurve      `json:"curves"`
	Ratios   []pageRatio      `json:"ratios"`
}

type pageBox struct {
	Row    int      `json:"row"`
	N      int      `json:"n"`
	Low    *float64 `json:"low,omitempty"`
	Q1     *float64 `json:"q1,omitempty"`
	Median *float64 `json:"median,omitempty"`
	Q3     *float64 `json:"q3,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Lo     *float64 `json:"lo,omitempty"` // of the median's interval
	Hi     *float64 `json:"hi,omitempty"`
}

type pageCurve struct {
	Row int      `json:"row"`
	N   int      `json:"n"`
	X   column64 `json:"x"`
	P   column64 `json:"p"`
}

type pageRatio struct {
	Row    int          `json:"row"`
	Base   int          `json:"base"`
	Blocks bool         `json:"blocks"`
	Median pageEstimate `json:"median"`
	SD     pageEstimate `json:"sd"`
}

type pageEstimate struct {
	V      *float64 `json:"v,omitempty"`
	Lo     *float64 `json:"lo,omitempty"`
	Hi     *float64 `json:"hi,omitempty"`
	Better int      `json:"better"`
	Words  string   `json:"words"`
}

// column64 is a column of numbers in which NaN, null in JSON, is an absent one.
type column64 []float64

func (c column64) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 8*len(c)+2), '[')
	for i, v := range c {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
		} else {
			out = strconv.AppendFloat(out, v, 'g', -1, 64)
		}
	}
	return append(out, ']'), nil
}

// packed is the data of the page as JSON, compressed, in base64.
func (p *Page) packed() (string, error) {
	var d pageData
	colours := p.colours()
	first := p.firstStart()
	write := func(v float64) float64 { return v }
	if p.rounds() {
		write = rounded
	}
	for _, s := range p.Sets {
		d.Sets = append(d.Sets, s.data(colours, first, write))
	}
	for i := range p.Figures {
		f := p.Figures[i].data(p.Sets)
		d.Figures = append(d.Figures, f)
		if s := &d.Sets[f.Set]; s.Main < 0 {
			s.Main = f.Metric
		}
	}
	for i := range d.Sets {
		d.Sets[i].Main = max(0, d.Sets[i].Main)
	}
	var out bytes.Buffer
	b := base64.NewEncoder(base64.StdEncoding, &out)
	z, err := gzip.NewWriterLevel(b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(z).Encode(d); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	if err := b.Close(); err != nil {
		return "", err
	}
	return out.String(), nil
}

// rounds says whether the values of single runs are rounded on the page.
func (p *Page) rounds() bool {
	n := 0
	for _, s := range p.Sets {
		n += len(s.Runs)
	}
	return n > fullDigits
}

// firstStart is the start of the earliest run, in ms.
func (p *Page) firstStart() int64 {
	first := int64(math.MaxInt64)
	for _, s := range p.Sets {
		for i := range s.Runs {
			first = min(first, s.Runs[i].Start.UnixMilli())
		}
	}
	return first
}

// rounded keeps nine digits; NaN stays.
func rounded(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', roundDigits, 64), 64)
	if err != nil {
		return v // it would round beyond the largest number
	}
	return out
}

func (s *RunSet) data(colours map[string]int, first int64, write func(float64) float64) pageSet {
	d := pageSet{Name: s.Name, Rows: s.Rows, Main: -1, Counters: nonNil(s.Counters), Reasons: map[int]string{},
		Values: make([]column64, len(s.Metrics)), Counted: make([]column64, len(s.Counters))}
	for _, r := range s.Rows {
		d.Colours = append(d.Colours, colours[r])
	}
	for _, m := range s.Metrics {
		d.Metrics = append(d.Metrics, pageMetric{m.Name, m.Unit})
	}
	cpus := map[string]int{}
	var outcome []byte
	for i := range s.Runs {
		r := &s.Runs[i]
		d.Run, d.Attempt, d.Block, d.Position, d.Row = append(d.Run, r.Run), append(d.Attempt, r.Attempt), append(d.Block, r.Block), append(d.Position, r.Position), append(d.Row, r.Row)
		d.Start = append(d.Start, r.Start.UnixMilli()-first)
		outcome = append(outcome, outcomeLetter(r))
		if _, ok := cpus[r.CPUs]; !ok {
			cpus[r.CPUs] = len(cpus)
			d.CPUTexts = append(d.CPUTexts, r.CPUs)
		}
		d.CPUs = append(d.CPUs, cpus[r.CPUs])
		if r.Reason != "" {
			d.Reasons[i] = r.Reason
		}
		for j, v := range r.Values {
			d.Values[j] = append(d.Values[j], write(v))
		}
		for j, v := range r.Counters {
			d.Counted[j] = append(d.Counted[j], write(v))
		}
	}
	d.Outcome = string(outcome)
	d.Run, d.Attempt, d.Block, d.Position, d.Row, d.CPUs = nonNil(d.Run), nonNil(d.Attempt), nonNil(d.Block), nonNil(d.Position), nonNil(d.Row), nonNil(d.CPUs)
	d.Metrics = nonNil(d.Metrics)
	return d
}

func outcomeLetter(r *RunPoint) byte {
	letter := map[harness.Outcome]byte{harness.Kept: 'k', harness.Void: 'v', harness.Failed: 'f'}[r.Outcome]
	if r.Warmup {
		letter -= 'a' - 'A'
	}
	return letter
}

func (f *Figure) data(sets []*RunSet) pageFigure {
	t := f.Table
	d := pageFigure{Metric: f.Metric, Name: t.Metric.Name, Of: f.of(), Better: t.Metric.Better, Factor: f.format.factor, Unit: f.format.unit, Decimals: f.format.decimals,
		Axis: f.axis(), Boxes: []pageBox{}, Curves: []pageCurve{}, Ratios: []pageRatio{}}
	for i, s := range sets {
		if s == f.Set {
			d.Set = i
		}
	}
	for i := range t.Rows {
		sd := math.NaN()
		if v := t.Rows[i].Summary.SD; v.OK {
			sd = v.V
		}
		d.SDs = append(d.SDs, sd)
	}
	for i := range f.Boxes {
		d.Boxes = append(d.Boxes, f.boxData(i))
	}
	for _, c := range f.Curves {
		d.Curves = append(d.Curves, pageCurve{c.Row, c.N, c.X, c.P})
	}
	for i := range f.Ratios {
		r := &f.Ratios[i]
		d.Ratios = append(d.Ratios, pageRatio{r.Row, r.Base, r.Blocked, r.Median.data(), r.SD.data()})
	}
	return d
}

// axis names the metric beside a scale.
func (f *Figure) axis() string {
	if f.format.unit == "" {
		return f.Table.Metric.Name
	}
	return f.Table.Metric.Name + ", " + f.format.unit
}

func (f *Figure) boxData(i int) pageBox {
	b := &f.Boxes[i]
	d := pageBox{Row: b.Row, N: b.N}
	if m := &f.Table.Rows[b.Row].Summary.Median; m.OK {
		d.Median = &m.V
	}
	if b.OK {
		d.Low, d.Q1, d.Q3, d.High = &b.Low, &b.Q1, &b.Q3, &b.High
	}
	if b.Interval.OK {
		d.Lo, d.Hi = &b.Interval.Lo, &b.Interval.Hi
	}
	return d
}

func (e *Estimate) data() pageEstimate {
	d := pageEstimate{Better: e.Better, Words: e.Words}
	if e.Value.OK {
		d.V = finitePointer(e.Value.V)
	}
	if e.Interval.OK {
		d.Lo, d.Hi = finitePointer(e.Interval.Lo), finitePointer(e.Interval.Hi)
	}
	return d
}

// finitePointer is nil for what JSON cannot hold: an interval can be open to
// one side.
func finitePointer(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"goset/harness"
	"goset/stats"
)

// Document makes everything that a report says of the metrics that opts select:
// the tables of Tables with their contrasts, verdicts and attributions, and
// what stands around them.
func (d *Data) Document(opts Options) (*Document, error) {
	b, err := d.build(opts)
	if err != nil {
		return nil, err
	}
	for i := range b.tables {
		t := &b.tables[i]
		if err := b.contrast(t); err != nil {
			return nil, err
		}
		if err := b.crossings(t); err != nil {
			return nil, err
		}
		if err := b.attribute(t); err != nil {
			return nil, err
		}
		t.Notes = append(t.Notes, contrastNotes(&t.Table)...)
		if err := b.detrend(t); err != nil {
			return nil, err
		}
	}
	doc := &Document{Experiment: opts.Experiment, Title: opts.Title, Manifest: opts.Manifest}
	if doc.Suite, err = b.suites(b.tables); err != nil {
		return nil, err
	}
	b.gates(doc)
	doc.Tables = b.plain()
	// The control's comparisons are judged as one family over all tables.
	doc.SelfCheck = selfCheck(doc.Tables)
	sequential := isSequential(opts.Manifest)
	doc.appraise(sequential)
	doc.Headlines, doc.Disturbed, doc.Minds = doc.headlines(sequential), doc.disturbed(), doc.minds()
	if doc.Notes, err = b.wholeNotes(); err != nil {
		return nil, err
	}
	doc.Scope, doc.Modes = scopeOf(opts), modesOf(opts.Manifest)
	doc.Facts = factsOf(opts.Manifest)
	doc.Rules = rulesOf(doc, d, opts)
	return doc, nil
}

// wholeNotes are about the experiment as a whole.
func (b *maker) wholeNotes() ([]string, error) {
	out := slices.Clone(b.opts.Notes)
	if m := b.opts.Manifest; m != nil {
		if s := m.Stopped; s != nil {
			out = append(out, fmt.Sprintf("stopped after round %d of %d: %s", s.Block, s.Blocks, s.Reason))
		}
		switch m.Order {
		case harness.OrderSequential:
			out = append(out, "sequential order: what drifts with time cannot be told from the modes; order = \"shuffled\" can")
		case harness.OrderInterleaved:
			out = append(out, "the order within the rounds is fixed: effects of place and predecessor cannot be told from the modes; order = \"shuffled\" can")
		}
	}
	order, err := b.orderNotes()
	if err != nil {
		return nil, err
	}
	effect, err := b.effectNotes()
	return slices.Concat(out, order, effect), err
}

// orderNotes looks for effects of the place in a round and of the run before,
// over all treatments together: each gives its first metric, brought to the
// same scale.
func (b *maker) orderNotes() ([]string, error) {
	var cells []orderCell
	for _, i := range firstTables(b.tables) {
		t := &b.tables[i]
		for row := range t.Rows {
			c, tr := t.cell(row), t.group.treatments[row]
			if r := &t.Rows[row]; r.Summary.AAD.OK && r.Summary.AAD.V > 0 {
				cells = append(cells, newOrderCell(c, tr, &r.Summary))
			}
		}
	}
	values, position := orderTable(cells)
	if len(cells) < 2 || len(values) < 6 {
		return nil, nil
	}
	check, err := stats.CheckOrder(values, position)
	if err != nil {
		return nil, err
	}
	out := check.Warnings
	for _, p := range check.Predecessor {
		if p.PAdj.OK && p.PAdj.V < stats.FlagLevel && p.Mean.OK {
			word := "higher"
			if p.Mean.V < 0 {
				word = "lower"
			}
			out = append(out, fmt.Sprintf("runs right after %s are %s than others (sign test p_adj %s): leave a longer gap (plan.idle)", cells[p.Mode].label, word, stats.FormatP(p.PAdj.V)))
		}
	}
	return out, nil
}

// orderCell is one treatment in the check of the order.
type orderCell struct {
	label string
	at    map[int]placed // by block
}

type placed struct {
	value    float64 // in units of the cell's own scatter
	position int
}

func newOrderCell(c *cell, tr *treatment, s *stats.Summary) orderCell {
	o := orderCell{label: fullLabel(tr.workload, tr.mode, tr.condition, tr.levels), at: map[int]placed{}}
	for i, v := range c.values {
		k := c.at[i]
		o.at[int(tr.blocks[k])] = placed{(v - s.Median.V) / s.AAD.V, int(tr.positions[k])}
	}
	return o
}

// orderTable lays out the blocks that hold all cells; places are counted among
// the cells alone.
func orderTable(cells []orderCell) (values [][]float64, position [][]int) {
	if len(cells) == 0 {
		return nil, nil
	}
	var blocks []int
	for b := range cells[0].at {
		if !slices.ContainsFunc(cells, func(c orderCell) bool { _, ok := c.at[b]; return !ok }) {
			blocks = append(blocks, b)
		}
	}
	slices.Sort(blocks)
	for _, b := range blocks {
		vs, places := make([]float64, len(cells)), make([]int, len(cells))
		for i := range cells {
			vs[i] = cells[i].at[b].value
			for j := range cells {
				if p, q := cells[j].at[b].position, cells[i].at[b].position; p < q || p == q && j < i {
					places[i]++
				}
			}
		}
		values, position = append(values, vs), append(position, places)
	}
	return values, position
}

// detrend says of rows that drift how large their sd is without what the rows
// of a round have in common.
func (b *maker) detrend(t *built) error {
	var members []int
	for row := range t.Rows {
		if t.Rows[row].Summary.N > 0 {
			members = append(members, row)
		}
	}
	if b.opts.Unblocked || len(members) < 2 || !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Summary.Drifts() }) {
		return nil
	}
	columns := make([][]float64, len(members))
	for _, values := range t.common(members) {
		for i, v := range values {
			columns[i] = append(columns[i], v)
		}
	}
	sds, err := stats.DetrendedSDs(columns)
	if err != nil {
		return err
	}
	f := formatOf(&t.Table)
	for i, row := range members {
		if t.Rows[row].Summary.Drifts() && sds[i].OK {
			t.Notes = append(t.Notes, Note{Text: fmt.Sprintf("without what the rows of a round have in common, the sd is %s %s", f.deviation(sds[i]), f.unit), Rows: []int{row}})
		}
	}
	return nil
}

// scopeOf says what the intervals are about.
func scopeOf(opts Options) string {
	const layout = "one build of each program: its memory layout is part of the result"
	m := opts.Manifest
	if m == nil {
		return "Scope: the intervals cover the variation between the given values, and nothing that was the same for all of them; " + layout + "."
	}
	session := "within this session"
	if n := len(m.Sessions); n > 1 {
		session = fmt.Sprintf("within these %d sessions on one machine", n)
	}
	return "Scope: the intervals cover run-to-run variation " + session + ", not reboot-to-reboot or machine-to-machine; " + layout + "."
}

// factsOf lists how and where the runs were made.
func factsOf(m *harness.Manifest) []Fact {
	if m == nil {
		return nil
	}
	var out []Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{name, oneLine(value)})
		}
	}
	add("experiment", m.Name)
	add("sha256 of the experiment", m.SHA256)
	add("command", strings.Join(m.Argv, " "))
	add("tool", m.Tool)
	add("toolchain", m.Toolchain)
	add("platform", m.Platform)
	for _, s := range m.Sessions {
		add("session", s.Start.Format(time.RFC3339))
	}
	add("seed", fmt.Sprint(m.Seed))
	add("order", m.Order)
	add("baseline", m.Baseline)
	add("runs per treatment", fmt.Sprint(m.Repeats))
	add("warm-up runs", fmt.Sprint(m.Warmup))
	add("idle before a run", m.Idle.String())
	if m.Timeout > 0 {
		add("timeout", m.Timeout.String())
	}
	return append(out, hostFactsOf(m.Host)...)
}

// hostPrefix is what the names of facts about the host begin with.
const hostPrefix = "host"

// hostFactsOf flattens the facts about the host, in their order. Text that is
// no JSON is one fact: to leave it out would hide it.
func hostFactsOf(text json.RawMessage) []Fact {
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	f := flattener{d: d}
	if err := f.value(hostPrefix); err != nil {
		return []Fact{{hostPrefix, oneLine(string(text))}}
	}
	return f.facts
}

// flattener turns nested JSON into lines "host.cpu.model = …".
type flattener struct {
	d     *json.Decoder
	facts []Fact
}

func (f *flattener) value(name string) error {
	t, err := f.d.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return f.object(name)
	case json.Delim('['):
		return f.array(name)
	}
	if t != nil {
		f.facts = append(f.facts, Fact{name, oneLine(fmt.Sprint(t))})
	}
	return nil
}

func (f *flattener) object(name string) error {
	for f.d.More() {
		key, err := f.d.Token()
		if err != nil {
			return err
		}
		if err := f.value(name + "." + fmt.Sprint(key)); err != nil {
			return err
		}
	}
	_, err := f.d.Token()
	return err
}

// array writes a list of plain values on one line.
func (f *flattener) array(name string) error {
	inner := flattener{d: f.d}
	for i := 0; f.d.More(); i++ {
		if err := inner.value(fmt.Sprintf("%s[%d]", name, i)); err != nil {
			return err
		}
	}
	if _, err := f.d.Token(); err != nil {
		return err
	}
	var texts []string
	for _, x := range inner.facts {
		if strings.Contains(strings.TrimPrefix(x.Name, name), ".") {
			f.facts = append(f.facts, inner.facts...)
			return nil
		}
		texts = append(texts, x.Value)
	}
	f.facts = append(f.facts, Fact{name, strings.Join(texts, ", ")})
	return nil
}

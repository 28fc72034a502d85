package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"goset/harness"
	"goset/internal/texttab"
)

// Live holds an experiment that is still running, for a terminal that shows
// its table and its strip filling.
type Live struct {
	data   *Data
	opts   Options
	blocks int
	lost   map[int]map[int]harness.Outcome // by treatment and block: void and failed
	last   string                          // name of the group that ran last
}

// NewLive is for a plan of these treatments, which opts holds too, in so many
// blocks.
func NewLive(blocks int, opts Options) *Live {
	l := &Live{data: newData(0), opts: opts, blocks: blocks, lost: map[int]map[int]harness.Outcome{}}
	for i := range opts.Treatments {
		t := &opts.Treatments[i]
		l.data.addTreatment(&treatment{index: t.Index, workload: t.Workload, mode: t.Mode, condition: t.Condition, levels: slices.Clone(t.Levels)})
	}
	return l
}

// Add takes in the record of a run. Its iterations are left out: pooling them
// is work, and the frame has no room for them.
func (l *Live) Add(r *harness.Record) error {
	bare := *r
	bare.Iterations, bare.Counters = nil, nil
	if err := l.data.add(&bare); err != nil {
		return err
	}
	_, own := splitLevels(r.Levels, l.opts.modeFactors())
	t := Table{Workload: r.Workload, Condition: r.Condition, Levels: own}
	l.last = t.Name()
	if r.Warmup {
		return nil
	}
	if outcome, _ := outcomeOf(r); outcome != harness.Kept {
		if l.lost[r.Treatment] == nil {
			l.lost[r.Treatment] = map[int]harness.Outcome{}
		}
		l.lost[r.Treatment][r.Block] = outcome
	} else {
		delete(l.lost[r.Treatment], r.Block)
	}
	return nil
}

// Lines draws the first metric of every workload: a row per mode with its
// numbers so far and a strip with a cell per block, in at most height lines (0:
// any number). Where there are more, the workload that ran last is among them.
func (l *Live) Lines(opts TextOptions, height int) ([]string, error) {
	b, err := l.data.build(l.opts)
	if err != nil {
		return nil, err
	}
	var frames [][]string
	current := 0
	for _, i := range firstTables(b.tables) {
		t := &b.tables[i]
		if t.Name() == l.last {
			current = len(frames)
		}
		frames = append(frames, l.frame(t, opts))
	}
	return fitFrames(frames, current, height), nil
}

// fitFrames joins frames from the first on; where the current one would not be
// among those that fit, from a later one on.
func fitFrames(frames [][]string, current, height int) []string {
	total := func(from, to int) (n int) {
		for _, f := range frames[from : to+1] {
			n += len(f)
		}
		return n
	}
	from := 0
	if height > 0 && len(frames) > 0 {
		for from < current && total(from, current) > height {
			from++
		}
	}
	var out []string
	for _, f := range frames[min(from, len(frames)):] {
		if height > 0 && len(out)+len(f) > height {
			break
		}
		out = append(out, f...)
	}
	if len(out) == 0 && len(frames) > 0 { // not even one fits: its head
		out = frames[current][:min(height, len(frames[current]))]
	}
	return out
}

// frame is the lines of one table.
func (l *Live) frame(t *built, opts TextOptions) []string {
	width := cmp.Or(opts.Width, defaultWidth)
	f := formatOf(&t.Table)
	cells := [][]texttab.Cell{liveHeads()}
	for i := range t.Rows {
		r := &t.Rows[i]
		row := []texttab.Cell{{Text: clip(r.Label(), min(maxLabel, 2*width/5))}}
		for _, s := range []string{strconv.Itoa(r.Summary.N), f.quantity(r.Summary.Median), f.deviation(r.Summary.SD), percent(r.Summary.CV), times(r.MedianRatio), times(r.SDRatio)} {
			row = append(row, texttab.Cell{Text: s, Align: texttab.Right})
		}
		cells = append(cells, row)
	}
	p := &textInk{opts: opts}
	lines := []string{p.paint(clip(t.Name()+" · "+heading(t.Metric, f.unit), width), bold)}
	scale := scaleOfRows(t)
	for i, row := range texttab.Layout(cells) {
		text := strings.Join(row, strings.Repeat(" ", gap))
		room := width - texttab.Width(text) - gap
		switch {
		case i == 0 && room >= 8:
			lines = append(lines, p.paint(text+strings.Repeat(" ", gap)+clip("rounds in order: ▁ least, █ most, × void, ! failed", room), dim))
		case i == 0:
			lines = append(lines, p.paint(clip(text, width), dim))
		case room >= 8:
			lines = append(lines, text+strings.Repeat(" ", gap)+p.strip(l.cells(t, i-1, scale), i-1, room))
		default: // too narrow for both: the strip stands below
			lines = append(lines, clip(text, width), "  "+p.strip(l.cells(t, i-1, scale), i-1, width-2))
		}
	}
	return append(lines, "")
}

func liveHeads() []texttab.Cell {
	out := []texttab.Cell{{}}
	for _, h := range []string{"n", "median", "sd", "CV", "×median", "×sd"} {
		out = append(out, texttab.Cell{Text: h, Align: texttab.Right})
	}
	return out
}

// clip cuts a text to a width.
func clip(s string, width int) string {
	if texttab.Width(s) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && texttab.Width(string(r))+1 > width {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

// The cells of a strip that are no level.
const (
	cellPending = '·'
	cellVoid    = '×'
	cellFailed  = '!'
)

// levels are the heights of a strip, from the least value of the table to the
// largest: the mode that varies is the one whose strip is uneven.
const stripLevels = "▁▂▃▄▅▆▇█"

// scaleOfRows gives the extremes of a table's values.
func scaleOfRows(t *built) [2]float64 {
	s := [2]float64{math.Inf(1), math.Inf(-1)}
	for i := range t.Rows {
		if sum := &t.Rows[i].Summary; sum.Min.OK {
			s[0], s[1] = min(s[0], sum.Min.V), max(s[1], sum.Max.V)
		}
	}
	return s
}

// cells has a rune per block.
func (l *Live) cells(t *built, row int, scale [2]float64) []rune {
	out := make([]rune, l.blocks)
	for i := range out {
		out[i] = cellPending
	}
	put := func(block int, r rune) {
		if block >= 1 && block <= len(out) {
			out[block-1] = r
		}
	}
	tr := t.group.treatments[row]
	for block, outcome := range l.lost[tr.index] {
		if outcome == harness.Void {
			put(block, cellVoid)
		} else {
			put(block, cellFailed)
		}
	}
	if t.metric < 0 {
		return out
	}
	c := tr.lookup(t.metric)
	for i, v := range c.values {
		put(int(tr.blocks[c.at[i]]), level(v, scale))
	}
	return out
}

func level(v float64, scale [2]float64) rune {
	levels := []rune(stripLevels)
	if scale[1] <= scale[0] {
		return levels[len(levels)/2]
	}
	share := v/(scale[1]-scale[0]) - scale[0]/(scale[1]-scale[0]) // the difference of the extremes may overflow, that of shares not
	if math.IsNaN(share) {
		return levels[len(levels)/2]
	}
	return levels[min(max(int(share*float64(len(levels))), 0), len(levels)-1)]
}

// strip writes cells in the colour of their row, and what does not count in
// red. Where there are more than fit, the last that have something in them.
func (p *textInk) strip(cells []rune, row, room int) string {
	if len(cells) > room {
		end := room
		for i, r := range cells {
			if r != cellPending {
				end = max(end, i+1)
			}
		}
		cells = cells[end-room : end]
	}
	if !p.opts.Color {
		return string(cells)
	}
	var b strings.Builder
	style := ""
	for _, r := range cells {
		want := fmt.Sprintf("\x1b[%dm", 36-row%6) // cyan, magenta, blue, yellow, green, red
		switch r {
		case cellPending:
			want = dim
		case cellVoid, cellFailed:
			want = bold + red
		}
		if want != style {
			if style != "" {
				b.WriteString(reset)
			}
			b.WriteString(want)
			style = want
		}
		b.WriteRune(r)
	}
	if style != "" {
		b.WriteString(reset)
	}
	return b.String()
}

package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"goset/metric"
)

// The size of a plot file: that of a figure across a page of text.
const (
	plotWidth  = 16 * vg.Centimeter
	plotHeight = 9 * vg.Centimeter
	laneHeight = 1.2 * vg.Centimeter // of one row in plots with a row per mode
)

// Plots writes every plot of the page into dir, which it makes, as SVG and as
// PNG, and returns the names. It goes on after a plot that cannot be written.
func Plots(dir string, p *Page) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("cannot write plots: %w", err)
	}
	var names []string
	var errs []error
	taken := map[string]bool{}
	colours := p.colours()
	for i := range p.Figures {
		f := &p.Figures[i]
		base := slug(f.short())
		if taken[base] {
			base = fmt.Sprintf("%s-%d", base, i+1)
		}
		taken[base] = true
		for _, d := range f.drawings(colours) {
			for _, format := range []string{"svg", "png"} {
				name := base + "-" + d.name + "." + format
				if err := writeFile(dir, name, func(w io.Writer) error { return d.write(w, format) }); err != nil {
					errs = append(errs, err)
					continue
				}
				names = append(names, name)
			}
		}
	}
	return names, errors.Join(errs...)
}

// slug is a name for a file.
func slug(s string) string {
	out := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '.' || r == '=' {
			return r
		}
		return '-'
	}, s)
	for strings.Contains(out, "--") {
		out = strings.ReplaceAll(out, "--", "-")
	}
	const most = 80 // a file name has at most 255 bytes, and nobody reads as many
	return strings.Trim(out[:min(len(out), most)], "-.")
}

// drawing is one plot, ready to write.
type drawing struct {
	name   string
	plot   *plot.Plot
	height vg.Length
}

// write draws into a canvas with a margin: gonum draws to the very edge.
func (d *drawing) write(w io.Writer, format string) error {
	var c vg.CanvasWriterTo
	if format == "png" {
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(plotWidth, d.height), vgimg.UseDPI(160), vgimg.UseBackgroundColor(color.White))}
	} else {
		c = vgsvg.New(plotWidth, d.height)
	}
	const margin = 3 * vg.Millimeter
	d.plot.Draw(draw.Crop(draw.New(c), margin, -margin, margin, -margin))
	_, err := c.WriteTo(w)
	return err
}

// drawings are the plots of a figure that there is data for.
func (f *Figure) drawings(colours map[string]int) []drawing {
	k := &sketch{f: f, colours: colours}
	var out []drawing
	add := func(name string, p *plot.Plot, height vg.Length) {
		if p != nil {
			widen(&p.X, 0.03)
			out = append(out, drawing{name, p, height})
		}
	}
	rows := vg.Length(len(f.Table.Rows))
	add("strip", k.strip(), plotHeight)
	add("box", k.box(), 3*vg.Centimeter+rows*laneHeight)
	add("counter", k.counter(), plotHeight)
	add("distribution", k.distribution(), plotHeight)
	add("tail", k.tail(), plotHeight)
	ratios := 3*vg.Centimeter + vg.Length(len(f.Ratios))*laneHeight
	add("spread", k.ratio("spread", "ratio of sds (below 1: steadier)", func(r *Ratio) *Estimate { return &r.SD }), ratios)
	add("median", k.ratio(changeName(f.Table.isBlocked()), "median ratio", func(r *Ratio) *Estimate { return &r.Median }), ratios)
	return out
}

// sketch draws the plots of one figure.
type sketch struct {
	f       *Figure
	colours map[string]int
}

// colour gives a row the colour that it has on the page by day.
func (k *sketch) colour(row int) color.RGBA {
	return []color.RGBA{{0, 0x67, 0xa5, 255}, {0xc8, 0x52, 0, 255}, {0, 0x80, 0x6a, 255}, {0xa8, 0x42, 0x7f, 255}, {0x8a, 0x6d, 0, 255},
		{0x5b, 0x4f, 0xc4, 255}, {0xb3, 0x26, 0x3a, 255}, {0x3c, 0x7a, 0x1f, 255}, {0x5f, 0x6a, 0x74, 255}, {0x0b, 0x7f, 0x9b, 255}}[k.colours[k.f.Set.Rows[row]]%palette]
}

func (k *sketch) new(what, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = k.f.short() + ": " + what
	p.Title.Padding = 3 * vg.Millimeter
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.BackgroundColor = color.White
	p.X.Tick.Marker, p.Y.Tick.Marker = plainTicks{}, plainTicks{}
	p.Legend.Top = true
	p.Legend.Padding = vg.Millimeter
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	return p
}

// widen leaves room between the outermost points and the ends of an axis.
func widen(a *plot.Axis, by float64) {
	d := by * (a.Max - a.Min)
	a.Min, a.Max = a.Min-d, a.Max+d
}

// headroom makes room for the legend above the points.
func (k *sketch) headroom(p *plot.Plot) {
	widen(&p.Y, 0.04)
	p.Y.Max += min(0.06*float64(len(k.f.Set.Rows)), 0.5) * (p.Y.Max - p.Y.Min)
}

// points are the runs of a row that pass, at a place that at gives; those
// without a place are left out.
func (k *sketch) points(row int, pass func(*RunPoint) bool, at func(*RunPoint) (x, y float64)) plotter.XYs {
	var out plotter.XYs
	for i := range k.f.Set.Runs {
		r := &k.f.Set.Runs[i]
		if r.Row != row || !pass(r) {
			continue
		}
		if x, y := at(r); !math.IsNaN(x) && !math.IsNaN(y) {
			out = append(out, plotter.XY{X: x, Y: y})
		}
	}
	return out
}

// value is a run's value in the unit of the figure; NaN where it has none.
func (k *sketch) value(r *RunPoint) float64 {
	if k.f.Metric < 0 {
		return math.NaN()
	}
	return r.Values[k.f.Metric] * k.f.format.factor
}

// dots adds points in a row's colour; nothing where there are none.
func (k *sketch) dots(p *plot.Plot, row int, xys plotter.XYs, shape draw.GlyphDrawer, label string) {
	if len(xys) == 0 {
		return
	}
	radius := 2 * vg.Length(1)
	if len(k.f.Set.Runs) > 2500 {
		radius = 1
	}
	if shape == (draw.CrossGlyph{}) {
		radius *= 1.7
	}
	s := &plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: k.colour(row), Radius: radius, Shape: shape}}
	p.Add(s)
	if label != "" {
		p.Legend.Add(label, s)
	}
}

// strip has every run in time order. Void and failed runs are crosses; those
// without a value stand below the others.
func (k *sketch) strip() *plot.Plot {
	p := k.new("every run in time order", "run", k.f.axis())
	lo, hi := math.Inf(1), math.Inf(-1)
	any := false
	for row, name := range k.f.Set.Rows {
		at := func(r *RunPoint) (float64, float64) { return float64(r.Run), k.value(r) }
		kept := k.points(row, (*RunPoint).counts, at)
		for _, q := range kept {
			lo, hi, any = min(lo, q.Y), max(hi, q.Y), true
		}
		k.dots(p, row, kept, draw.CircleGlyph{}, name)
		k.dots(p, row, k.points(row, func(r *RunPoint) bool { return !r.Warmup && !r.counts() }, at), draw.CrossGlyph{}, "")
	}
	if !any {
		return nil
	}
	below := lo - 0.08*max(hi-lo, math.Abs(lo)/100)
	for row := range k.f.Set.Rows {
		lost := k.points(row, func(r *RunPoint) bool { return !r.Warmup && !r.counts() && math.IsNaN(k.value(r)) },
			func(r *RunPoint) (float64, float64) { return float64(r.Run), below })
		k.dots(p, row, lost, draw.CrossGlyph{}, "")
	}
	k.headroom(p)
	return p
}

// lanes gives every row a height, the first on top, and names it on the axis.
func lanes(p *plot.Plot, names []string) func(row int) float64 {
	upward := make([]string, len(names))
	for i, n := range names {
		upward[len(names)-1-i] = n
	}
	p.NominalY(upward...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	return func(row int) float64 { return float64(len(names) - 1 - row) }
}

func (k *sketch) box() *plot.Plot {
	p := k.new("median and spread", k.f.axis(), "")
	at := lanes(p, k.f.Set.Rows)
	factor := k.f.format.factor
	any := false
	for i := range k.f.Boxes {
		b := &k.f.Boxes[i]
		y, c := at(b.Row), k.colour(b.Row)
		if b.OK {
			p.Add(&boxPlotter{low: b.Low * factor, q1: b.Q1 * factor, median: b.Median * factor, q3: b.Q3 * factor, high: b.High * factor, y: y, colour: c})
		}
		if b.Interval.OK {
			p.Add(&bar{b.Interval.Lo * factor, b.Interval.Hi * factor, y - 0.36, c, 3})
		}
		dots := k.points(b.Row, (*RunPoint).counts, func(r *RunPoint) (float64, float64) { return k.value(r), y + 0.2*(scatterOf(r.Run)-0.5) })
		k.dots(p, b.Row, dots, draw.CircleGlyph{}, "")
		any = any || len(dots) > 0
	}
	if !any {
		return nil
	}
	return p
}

// scatterOf spreads runs over a lane: from 0 to 1, the same for the same run.
func scatterOf(run int) float64 { return float64(mix(uint64(run))>>11) / (1 << 53) }

// counter draws values against what the page draws them against first.
func (k *sketch) counter() *plot.Plot {
	against := k.f.against()
	if len(against) == 0 {
		return nil
	}
	kind, number, _ := strings.Cut(against[0].Value, ":")
	var i int
	if _, err := fmt.Sscan(number, &i); err != nil {
		return nil
	}
	p := k.new("values beside "+against[0].Label, against[0].Label, k.f.axis())
	any := false
	for row, name := range k.f.Set.Rows {
		dots := k.points(row, (*RunPoint).counts, func(r *RunPoint) (float64, float64) {
			if kind == "c" {
				return r.Counters[i], k.value(r)
			}
			return r.Values[i], k.value(r)
		})
		k.dots(p, row, dots, draw.CircleGlyph{}, name)
		any = any || len(dots) > 0
	}
	if !any {
		return nil
	}
	k.headroom(p)
	return p
}

func (k *sketch) distribution() *plot.Plot {
	p := k.curves(k.new("distribution of "+k.f.of(), k.f.axis(), "share at or below"), func(_ int, p float64) float64 { return p })
	if p != nil {
		// Where the curves leave room: a time has its tail above, a rate below.
		p.Legend.Left = k.f.Table.Metric.Better == metric.Higher
		p.Legend.Top = p.Legend.Left
	}
	return p
}

// tail is the share at or beyond a value, on the side that hurts.
func (k *sketch) tail() *plot.Plot {
	words := "share at or above"
	beyond := func(n int, p float64) float64 { return 1 - p + 1/float64(n) }
	if k.f.Table.Metric.Better == metric.Higher {
		words, beyond = "share at or below", func(_ int, p float64) float64 { return p }
	}
	p := k.new("tail of "+k.f.of(), k.f.axis(), words)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p = k.curves(p, beyond)
	if p != nil {
		p.Legend.Left = k.f.Table.Metric.Better == metric.Higher
		// A curve of one point would else have gonum widen the range below 0.
		p.Y.Min, p.Y.Max = k.rarest(), 1
	}
	return p
}

// rarest is below the smallest share of any curve.
func (k *sketch) rarest() float64 {
	most := 1
	for _, c := range k.f.Curves {
		most = max(most, c.N)
	}
	return min(0.5/float64(most), 0.1)
}

func (k *sketch) curves(p *plot.Plot, y func(n int, share float64) float64) *plot.Plot {
	if len(k.f.Curves) == 0 {
		return nil
	}
	for _, c := range k.f.Curves {
		line := &plotter.Line{StepStyle: plotter.PostStep, LineStyle: draw.LineStyle{Color: k.colour(c.Row), Width: 1}}
		for i := range c.X {
			line.XYs = append(line.XYs, plotter.XY{X: c.X[i] * k.f.format.factor, Y: y(c.N, c.P[i])})
		}
		p.Add(line)
		p.Legend.Add(k.f.Set.Rows[c.Row], line)
	}
	return p
}

// ratio has an estimate and its interval for every contrast.
func (k *sketch) ratio(what, axis string, of func(*Ratio) *Estimate) *plot.Plot {
	p := k.new(what+" against the baseline", axis, "")
	var names []string
	any := false
	for i := range k.f.Ratios {
		r := &k.f.Ratios[i]
		names = append(names, k.f.Set.Rows[r.Row])
		any = any || of(r).Value.OK
	}
	if !any {
		return nil
	}
	at := lanes(p, names)
	p.Add(&upright{1})
	for i := range k.f.Ratios {
		e, c := of(&k.f.Ratios[i]), k.colour(k.f.Ratios[i].Row)
		if !e.Value.OK {
			continue
		}
		if ci := e.Interval; ci.OK && finitePointer(ci.Lo) != nil && finitePointer(ci.Hi) != nil {
			p.Add(&bar{ci.Lo, ci.Hi, at(i), c, 3})
		}
		p.Add(&plotter.Scatter{XYs: plotter.XYs{{X: e.Value.V, Y: at(i)}}, GlyphStyle: draw.GlyphStyle{Color: c, Radius: 4, Shape: draw.CircleGlyph{}}})
	}
	return p
}

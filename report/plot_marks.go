package report

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plainTicks writes 25 where gonum writes 25.00.
type plainTicks struct{ plot.DefaultTicks }

func (t plainTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := t.DefaultTicks.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 6, 64)
		}
	}
	return ticks
}

// bar is a thick line at one height: an interval.
type bar struct {
	from, to, y float64
	colour      color.Color
	width       vg.Length
}

func (b *bar) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: b.colour, Width: b.width}, x(b.from), y(b.y), x(b.to), y(b.y))
}

func (b *bar) DataRange() (xmin, xmax, ymin, ymax float64) { return b.from, b.to, b.y, b.y }

// upright is the dashed line of no difference.
type upright struct{ at float64 }

func (u *upright) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := draw.LineStyle{Color: color.Gray{0x60}, Width: 1, Dashes: []vg.Length{4, 3}}
	c.StrokeLine2(style, x(u.at), c.Min.Y, x(u.at), c.Max.Y)
}

func (u *upright) DataRange() (xmin, xmax, ymin, ymax float64) {
	return u.at, u.at, math.Inf(1), math.Inf(-1)
}

// boxPlotter draws a box whose numbers are known: gonum's own computes its
// quartiles anew, by another definition than the tables.
type boxPlotter struct {
	low, q1, median, q3, high, y float64
	colour                       color.RGBA
}

func (b *boxPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	top, bottom, mid := y(b.y+0.24), y(b.y-0.24), y(b.y)
	style := draw.LineStyle{Color: b.colour, Width: 1}
	pale := b.colour
	pale.R, pale.G, pale.B = 255-(255-pale.R)/6, 255-(255-pale.G)/6, 255-(255-pale.B)/6
	c.FillPolygon(pale, []vg.Point{{X: x(b.q1), Y: bottom}, {X: x(b.q3), Y: bottom}, {X: x(b.q3), Y: top}, {X: x(b.q1), Y: top}})
	c.StrokeLines(style, []vg.Point{{X: x(b.q1), Y: bottom}, {X: x(b.q3), Y: bottom}, {X: x(b.q3), Y: top}, {X: x(b.q1), Y: top}, {X: x(b.q1), Y: bottom}})
	c.StrokeLine2(style, x(b.low), mid, x(b.q1), mid)
	c.StrokeLine2(style, x(b.q3), mid, x(b.high), mid)
	style.Width = 2
	c.StrokeLine2(style, x(b.median), bottom, x(b.median), top)
}

func (b *boxPlotter) DataRange() (xmin, xmax, ymin, ymax float64) {
	return b.low, b.high, b.y - 0.24, b.y + 0.24
}

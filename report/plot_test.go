package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"

	"goset/metric"
)

// TestPlots: every plot of the page as SVG that parses and PNG that decodes
// and is not blank; names that are markup or paths do no harm.
func TestPlots(t *testing.T) {
	b := pageFixture(20)
	p, _ := buildPage(t, b, fixtureOptions(b))
	dir := filepath.Join(cmp.Or(os.Getenv("GOSET_SHOTS"), t.TempDir()), "new", "plots")
	names, err := Plots(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 2*7*2 {
		t.Errorf("%d files: %q", len(names), names)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".svg") {
			words := svgWords(t, name, text)
			if !strings.Contains(words, "jitter") && !strings.Contains(words, "<b>copy</b>") {
				t.Errorf("%s does not say what it shows: %s", name, words)
			}
			continue
		}
		img, err := png.Decode(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		colours := map[[3]uint32]bool{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				colours[[3]uint32{r, g, b}] = true
			}
		}
		if len(colours) < 3 {
			t.Errorf("%s has %d colours: it is blank", name, len(colours))
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(names) {
		t.Errorf("%d files are in the folder (%v), want %d", len(files), err, len(names))
	}
}

// svgWords parses an SVG and returns its text.
func svgWords(t *testing.T, name string, text []byte) string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	var words strings.Builder
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return words.String()
		}
		if err != nil {
			t.Fatalf("%s is not XML: %v", name, err)
		}
		if c, ok := tok.(xml.CharData); ok {
			words.Write(c)
		}
	}
}

// TestPlotData: the files show the runs that the page shows.
func TestPlotData(t *testing.T) {
	b := pageFixture(20)
	p, _ := buildPage(t, b, fixtureOptions(b))
	f := &p.Figures[0]
	k := &sketch{f: f, colours: p.colours()}
	for row := range f.Set.Rows {
		got := k.points(row, (*RunPoint).counts, func(r *RunPoint) (float64, float64) { return float64(r.Run), k.value(r) })
		var want plotter.XYs
		for _, r := range b.rs {
			if r.Workload == "jitter" && r.Mode == f.Set.Rows[row] && r.Outcome == "kept" && !r.Warmup {
				want = append(want, plotter.XY{X: float64(r.Run), Y: r.Values["time"] * 1000})
			}
		}
		if len(want) < 18 || !slices.Equal(got, want) {
			t.Errorf("%s: %d points %v, want %d %v", f.Set.Rows[row], len(got), got, len(want), want)
		}
	}
}

// TestPlotsSmall: with 0, 1 and 2 runs there is less to draw and no fault.
func TestPlotsSmall(t *testing.T) {
	for n, want := range []int{0, 2 * 4, 2 * 4} { // strip, box, distribution, tail: no second metric, no second mode
		b := &builder{}
		i := b.treat("w", "a", "")
		for k := range n {
			b.run(i, k+1, map[string]float64{"wall": float64(k)}, describe(metric.Metric{Name: "wall", Unit: "s"}))
		}
		p, _ := buildPage(t, b, Options{Treatments: b.treatments})
		names, err := Plots(t.TempDir(), p)
		if err != nil || len(names) != want {
			t.Errorf("n = %d: %q, %v; want %d files", n, names, err, want)
		}
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{"jitter: time": "jitter-time", "../../etc": "etc", "a n=2, condition x": "a-n=2-condition-x", "é": "", "<b>": "b"} {
		if got := slug(in); got != want {
			t.Errorf("slug(%q) = %q, want %q", in, got, want)
		}
	}
}

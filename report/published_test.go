package report

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

const (
	publishedDoc   = "../docs/published.md"
	generatedBegin = "<!-- generated: begin (go test ./report -run Published -update) -->\n"
	generatedEnd   = "<!-- generated: end -->\n"
)

// TestPublished holds docs/published.md to what writePublished computes.
func TestPublished(t *testing.T) {
	var want bytes.Buffer
	if err := writePublished(&want); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(publishedDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), generatedBegin)
	got, after, ok2 := strings.Cut(rest, generatedEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no generated part between %q and %q", publishedDoc, generatedBegin, generatedEnd)
	}
	if *update {
		if err := os.WriteFile(publishedDoc, []byte(before+generatedBegin+want.String()+generatedEnd+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := diff.Diff(publishedDoc, []byte(got), "computed", want.Bytes()); d != nil {
		t.Errorf("%s is not what its figures give; -update writes it anew:\n%s", publishedDoc, d)
	}
}

// TestPublishedNumbers checks the numbers against ones computed elsewhere: R's
// var.test on the printed sds, and the intersection–union p.
func TestPublishedNumbers(t *testing.T) {
	cs, err := publishedContrasts()
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want, within float64) {
		t.Helper()
		if got < want-within || got > want+within {
			t.Errorf("%s: %.4f, want %.4f", what, got, want)
		}
	}
	for i, want := range []float64{0.3258, 0.0117, 0.1019, 0.2027} {
		near("p against unpinned", cs[0].kernels[i].P.V, want, 0.00006)
	}
	near("p of chase after Holm", cs[0].adj[1], 0.047, 0.0005)
	near("lowest p of chase over rounding", cs[0].rounded[1][0], 0.0007, 0.00006)
	near("highest p of chase over rounding", cs[0].rounded[1][1], 0.095, 0.0005)
	near("suite ratio", cs[0].suite.GeomeanRatio.V, 0.566, 0.0005)
	near("suite ratio, lower end", cs[0].suite.CI.Lo, 0.40, 0.005)
	near("suite ratio, upper end", cs[0].suite.CI.Hi, 0.80, 0.005)
	near("suite p", cs[0].suite.P.V, 0.0015, 0.0001)
	near("lower on every kernel", cs[0].suite.EveryLower.V, 0.163, 0.0005)
	near("suite ratio against taskset", cs[1].suite.GeomeanRatio.V, 0.556, 0.0005)
	for _, k := range publishedTable() {
		for m := range 3 {
			for _, text := range []string{k.median[m], k.sd[m], k.min[m], k.max[m], k.spread[m]} {
				if printed(text).value <= 0 {
					t.Errorf("%s: %q is no number", k.name, text)
				}
			}
		}
	}
}

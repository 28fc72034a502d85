package stats

import (
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	none := Interval{Why: "n ≥ 6 needed"}
	between := func(lo, hi float64) Interval { return Interval{Lo: lo, Hi: hi, Coverage: 0.95, OK: true} }
	for _, tc := range []struct{ what, got, want string }{
		{"p", FormatP(0.0504), "0.050"},
		{"small p", FormatP(0.00099), "<0.001"},
		{"ratio", FormatRatio(0.714), "0.71"},
		{"ratio of no spread", FormatRatio(0), "0.00"},
		{"small ratio", FormatRatio(0.00354), "0.0035"},
		{"large ratio", FormatRatio(123456), "1.235e+05"},
		{"ratios", FormatRatios(between(0.257, 0.861)), "0.26–0.86"},
		{"ratios about 1", FormatRatios(between(0.5, 1.001)), "0.50–1.00"},
		{"ratios that exclude 1", FormatRatios(between(0.5, 0.9972)), "0.50–0.997"},
		{"ratios that exclude 1 by little", FormatRatios(between(1.0002, 2)), "1.0002–2.00"},
		{"change without an interval", FormatChange(0.0123456, none), "+1.23%"},
		{"no change", FormatChange(0, none), "0.00%"},
		{"less than shows", FormatChange(-0.00001, none), "0.00%"},
		{"negative", FormatChange(-0.0123, none), "-1.23%"},
		{"interval of a point", FormatChange(0.5, between(0.5, 0.5)), "+50.00%"},
		{"a wide interval", FormatChange(0.0394, between(-0.0282, 0.144)), "+3.9%"},
		{"a very wide one", FormatChange(0.0394, between(-0.9, 7)), "+3.9%"},
		{"a narrow one", FormatChange(-0.0514, between(-0.0592, -0.0438)), "-5.14%"},
		{"a very narrow one", FormatChange(-0.0514321, between(-0.0514521, -0.0514121)), "-5.1432%"},
		{"changes", FormatChanges(between(-0.0282, 0.144)), "-2.8% to +14.4%"},
		{"changes that exclude 0", FormatChanges(between(0.0004, 0.0212)), "+0.04% to +2.12%"},
		{"changes that hold 0", FormatChanges(between(-0.0004, 0.0212)), "0.0% to +2.1%"},
		{"as much as doubles hold", FormatChange(1e300, between(0, 1e300)), "1.00e+302%"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", tc.what, tc.got, tc.want)
		}
	}
}

// TestVerdictsOfNextToNothing: a difference that the digits cannot show is
// called that, without a sign.
func TestVerdictsOfNextToNothing(t *testing.T) {
	y := []float64{100, 101, 102, 103, 104, 105, 106, 107}
	x := []float64{101.00001, 99.99999, 103.00001, 101.99999, 105.00001, 103.99999, 107.00001, 105.99999}
	c, err := Compare(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := c.Location.Verdict.Text
	if !strings.Contains(text, "observed below 0.01%") && !strings.Contains(text, "observed below 0.1%") {
		t.Errorf("%q does not say that the change is below what is shown", text)
	}
	if strings.Contains(text, "-0.0") || strings.Contains(text, "+0.0") {
		t.Errorf("%q has a zero with a sign", text)
	}
	if c, err = Compare(x, x, Options{}); err != nil || strings.Contains(c.Location.Verdict.Text, "below") {
		t.Errorf("no difference at all: %q, %v", c.Location.Verdict.Text, err)
	}
	c, err = Compare([]float64{0, 1, 1, 2, 0, 1, 1, 2}, []float64{3, 5, 4, 6, 3, 5, 4, 6}, Options{Write: func(float64) string { return "so many" }})
	if err != nil || !strings.Contains(c.Location.Verdict.Text, "so many") {
		t.Errorf("a difference in a unit: %q, %v", c.Location.Verdict.Text, err)
	}
}

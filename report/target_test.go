package report

import (
	"math"
	"strings"
	"testing"

	"goset/stats"
)

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"1%": {Median: 0.01}, " 2.5 % ": {Median: 0.025}, "sd 20%": {SD: 0.2}, "1%, sd 20%": {Median: 0.01, SD: 0.2}, "sd 20%,1%": {Median: 0.01, SD: 0.2},
	} {
		if got, err := ParseTarget(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "-1%", "0%", "1%,2%", "sd", "sd 20", "20% sd", "1%,", "1e3%", "99999999%"} {
		if got, err := ParseTarget(text); err == nil || !strings.Contains(err.Error(), "cannot read effect") {
			t.Errorf("%q: %+v, %v; want an error", text, got, err)
		}
	}
}

// TestTargetNotes: with n = 0, 1, 2 there is nothing to plan with, and it is
// said; else the rounds are those that Student's law gives for the scatter.
func TestTargetNotes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10} {
		d, opts := goData(t, n, func(tr, round int) float64 { return (100 + noise(tr*7+round)) * (1 + 0.1*float64(tr%2)) })
		opts.Target = Target{Median: 0.01, SD: 0.2}
		doc, err := d.Document(opts)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(doc.Notes, "\n")
		switch {
		case n == 0:
			if !strings.Contains(text, "To find a median change of 1% 4 times out of 5, if normal: ") {
				t.Errorf("n = 0: %q", text)
			}
		case n < 2:
			if !strings.Contains(text, "unpinned ref=. against unpinned ref=main on w package=./p: ") || !strings.Contains(text, "unknown: ") {
				t.Errorf("n = %d: %q", n, text)
			}
		case n == 10:
			c := &doc.Tables[0].Contrasts[0]
			want, err := stats.RequiredForShift(math.Log1p(0.01)/c.Location.SD.V, c.Alpha, stats.DefaultPower)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.RoundsForChange(0.01)
			if err != nil || got.V != math.Max(want.V, 8) { // 4 comparisons need 8 rounds
				t.Errorf("%+v rounds, want %+v or 8 (%v)", got, want, err)
			}
			if !strings.Contains(text, "ns/op "+roundsText(got, true)) || !strings.Contains(text, "To find an sd ratio of 1.2 4 times") {
				t.Errorf("notes %q", text)
			}
		}
		opts.Target = Target{}
		if doc, err = d.Document(opts); err != nil || strings.Contains(strings.Join(doc.Notes, "\n"), "To find") {
			t.Errorf("n = %d, nothing asked: %q, %v", n, doc.Notes, err)
		}
	}
}

// TestNoiseRates: the rate over splits has its interval, and words.
func TestNoiseRates(t *testing.T) {
	for _, tt := range []struct {
		rounds, splits, location, spread int
		want                             string
	}{
		{6, 200, 6, 10, "median 6 (3.0%, 95% 1.1–6.4%), spread 10 (5.0%, 95% 2.4–9.0%); 5% are expected: not more than is due"},
		{6, 200, 6, 25, "5% are expected: more than is due for the spread, but 6 rounds have only 32 splits that differ, and a single run decides many of them; judge by 20 rounds or more"},
		{30, 200, 0, 200, "median 0 (0.0%, 95% 0.0–1.8%), spread 200 (100.0%, 95% 98.2–100.0%); 5% are expected: more than is due for the spread: on these runs its test"},
		{5, 200, 0, 0, "false positives: too few rounds for any claim"},
		{30, 0, 0, 0, "false positives: too few rounds for any claim"},
	} {
		n := NoiseFloor{SelfCheck: stats.SelfCheck{Splits: tt.splits, LocationClaims: tt.location, SpreadClaims: tt.spread}}
		n.Comparison.N, n.Comparison.M, n.Comparison.Blocked = tt.rounds, tt.rounds, true
		if got := n.rates(); !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// TestVagueSessions: two sessions that differ give no interval that tells
// anything; what is resolved, or close together, keeps its own.
func TestVagueSessions(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   string
	}{
		{[]float64{-1, 2}, "not resolved: m; 2 sessions give no useful interval; with this scatter 39 would put it within a factor of 2"},
		{[]float64{-0.01, 0.02}, "not resolved: m, 95% i over 2 sessions"},
		{[]float64{-200, 200}, "not resolved: m; 2 sessions give no useful interval, nor would 1000"},
	} {
		var e SessionEffect
		var err error
		if e.Across, err = stats.AcrossSessions(tt.values, stats.Level); err != nil {
			t.Fatal(err)
		}
		s := size{"m", "i"}
		if e.vague() {
			s.interval = ""
		}
		if e.judge("median", s, 1); e.Verdict.Text != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, e.Verdict.Text, tt.want)
		}
	}
}

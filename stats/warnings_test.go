package stats

import (
	"strings"
	"testing"
)

func TestWarningsSayPValues(t *testing.T) {
	for p, want := range map[float64]string{0: "< 0.001", 0.0009: "< 0.001", 0.001: "= 0.001", 0.5: "= 0.500", 1: "= 1.000"} {
		if got := relationP(p); got != want {
			t.Errorf("p = %v: %q, want %q", p, got, want)
		}
	}
	s, err := Summarize(timeIndex(30))
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, "drift over the runs (Mann–Kendall p < 0.001)") {
		t.Errorf("a rising series warns of %q", all)
	}
}

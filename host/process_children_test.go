package host

import (
	"testing"
	"time"
)

func TestParseChildTime(t *testing.T) {
	const tail = " S 1 2 3 0 -1 0 5 6 7 8 9 10 11 12 20 0 4 0 1234"
	for text, want := range map[string]time.Duration{"42 (a) (b c)" + tail: 23 * Tick, "1 (x) S 1 2 3 0 -1 0 5 6 7 8 9 10 0 0": 0} {
		if got, err := parseChildTime(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "42 (a)", "42 (a) S 1 2", "1 (x) S 1 2 3 0 -1 0 5 6 7 8 9 10 -1 0", "1 (x) S 1 2 3 0 -1 0 5 6 7 8 9 10 0 9223372036854775807"} {
		if got, err := parseChildTime(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func FuzzParseChildTime(f *testing.F) {
	f.Add("1 (x) S 1 2 3 0 -1 0 5 6 7 8 9 10 0 0")
	f.Add(")")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseChildTime(text); err == nil && d < 0 {
			t.Errorf("%q: %v", text, d)
		}
	})
}

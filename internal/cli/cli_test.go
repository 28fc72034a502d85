package cli

import (
	"bytes"
	"slices"
	"testing"
)

func TestOneDash(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{nil, []string{}},
		{[]string{"-n", "5"}, []string{"-n", "5"}},
		{[]string{"-n5", "-runs", "3"}, []string{"-n5", "--runs", "3"}},
		{[]string{"-n=5", "-runs", "3"}, []string{"-n=5", "--runs", "3"}},
		{[]string{"--runs=3", "-nice", "-5", "-"}, []string{"--runs=3", "--nice", "-5", "-"}},
		{[]string{"-quiet", "--", "task", "-long"}, []string{"--quiet", "--", "task", "-long"}},
	} {
		if got := OneDash(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"rank", "audit", "restore"}
	for word, want := range map[string]string{"": "", "rnak": ` (did you mean "rank"?)`, "AUDIT": ` (did you mean "audit"?)`, "nonsense": "", "rk": "", "ank": ` (did you mean "rank"?)`} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestColor(t *testing.T) {
	for want, color := range map[string]bool{"auto": false, "always": true, "never": false} {
		if got, err := Color(want, &bytes.Buffer{}); got != color || err != nil {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
	if _, err := Color("sometimes", &bytes.Buffer{}); err == nil {
		t.Error("sometimes is no answer")
	}
}

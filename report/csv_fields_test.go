package report

import (
	"bytes"
	"encoding/csv"
	"testing"
)

// Fields are quoted as encoding/csv does it.
func FuzzFields(f *testing.F) {
	for _, s := range []string{"", "a", `\.`, `\.x`, " a", "a ", "\t", `a"b`, "a,b", "a\nb", "a\r\nb", "\u00a0a", "\xff", "größe"} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var want bytes.Buffer
		w := csv.NewWriter(&want)
		if err := w.Write([]string{a, b, a}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		got := appendFields(nil, []string{a, b, a})
		got[len(got)-1] = '\n'
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q, %q: %q, want %q", a, b, got, want.Bytes())
		}
	})
}

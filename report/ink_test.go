package report

import (
	"bytes"
	"testing"
)

func TestGolden(t *testing.T) {
	b := smallSet()
	opts := smallOptions(b)
	tables, err := Build(t.Context(), b.rs, opts)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	write := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
		out.Reset()
	}
	write("small.txt", Text(&out, tables, TextOptions{}))
	write("narrow.txt", Text(&out, tables, TextOptions{Width: 60, Color: true}))
	write("small.md", Markdown(&out, tables, opts))
	write("small.csv", SummaryCSV(&out, tables))
	write("small.json", JSON(&out, tables))
}

package report

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
)

// Tables without the document around them, as most tests look at them.

// Build collects the records of src and makes its tables.
func Build(ctx context.Context, src Source, opts Options) ([]Table, error) {
	d, err := Collect(ctx, src, opts.Treatments, opts.MaxIterations)
	if err != nil {
		return nil, err
	}
	return d.Tables(opts)
}

// Text writes tables for a terminal.
func Text(w io.Writer, tables []Table, opts TextOptions) error {
	p := newTextInk(w, opts)
	p.view(tablesView(tables))
	return p.w.Flush()
}

// Markdown writes tables in GitHub's dialect.
func Markdown(w io.Writer, tables []Table, opts Options) error {
	b := bufio.NewWriter(w)
	v := tablesView(tables)
	v.title = cmp.Or(opts.Title, opts.Experiment)
	markdownView(b, v)
	return b.Flush()
}

func tablesView(tables []Table) *view {
	return &view{parts: partsOf(tables), legend: legend(tables, true)}
}

// JSON writes tables as an array of objects, in base units and full digits.
func JSON(w io.Writer, tables []Table) error {
	out := make([]jsonTable, len(tables))
	for i := range tables {
		out[i] = tableJSON(&tables[i])
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

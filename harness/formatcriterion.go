package harness

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"goset/metric"
)

// criterionHead is how criterion's raw.csv begins.
// https://bheisler.github.io/criterion.rs/book/user_guide/csv_output.html
const criterionHead = "group,function,value,"

// readCriterionFile reads criterion's own samples: of raw.csv, of sample.json, or
// of the messages of cargo criterion. Its estimates are summaries of them.
func readCriterionFile(text []byte, out *formatted) error {
	if bytes.HasPrefix(text, []byte(criterionHead)) {
		return readCriterionCSV(text, out)
	}
	return readDocs(text, out, func(docs []json.RawMessage, out *formatted) error {
		for _, doc := range docs {
			if err := readCriterionSamples(doc, out); err != nil {
				return err
			}
		}
		return nil
	})
}

// criterionDoc is a message of cargo criterion, whose values have a unit, or a
// sample.json, whose times are in ns, or an estimates.json.
// https://bheisler.github.io/criterion.rs/book/cargo_criterion/external_tools.html
type criterionDoc struct {
	Reason   string          `json:"reason"`
	ID       string          `json:"id"`
	Counts   []json.Number   `json:"iteration_count"`
	Measured []json.Number   `json:"measured_values"`
	Unit     string          `json:"unit"`
	Iters    []json.Number   `json:"iters"`
	Times    []json.Number   `json:"times"`
	Mean     json.RawMessage `json:"mean"`
}

func readCriterionSamples(doc json.RawMessage, out *formatted) error {
	var d criterionDoc
	if err := decodeNumbers(doc, &d); err != nil {
		return fmt.Errorf("a value is no object of criterion: %v", err)
	}
	switch {
	case d.Reason == "benchmark-complete" && d.ID == "":
		return errors.New("a benchmark has no id")
	case d.Reason == "benchmark-complete":
		return addCriterion(d.ID, d.Unit, d.Measured, d.Counts, out)
	case d.Reason != "":
		return nil
	case len(d.Times) > 0:
		return addCriterion("", "ns", d.Times, d.Iters, out)
	case len(d.Mean) > 0:
		out.file.add(quantity{name: "mean", summary: "criterion's estimates are of its samples: give the sample.json or raw.csv beside them, or the messages of cargo criterion"}, "", nil)
	}
	return nil
}

// addCriterion adds the samples of a benchmark, each over its iterations.
func addCriterion(of, unit string, totals, counts []json.Number, out *formatted) error {
	if len(totals) == 0 || len(totals) != len(counts) {
		return fmt.Errorf("benchmark %s has %d measured values and %d counts of iterations", quote(of), len(totals), len(counts))
	}
	texts := make([]string, len(totals))
	for i := range totals {
		total, err := totals[i].Float64()
		if err != nil {
			return fmt.Errorf("benchmark %s: %s is no number", quote(of), quote(totals[i].String()))
		}
		n, err := counts[i].Float64()
		if err != nil || n < 1 {
			return fmt.Errorf("benchmark %s: %s is no number of iterations", quote(of), quote(counts[i].String()))
		}
		texts[i] = strconv.FormatFloat(total/n, 'g', -1, 64)
	}
	q := quantity{of: of, name: "time", unit: unit, better: metric.Lower}
	if base, _, _ := metric.Base(unit); base != "s" {
		q.name = "measured" // cycles, or whatever criterion was made to measure
	}
	out.add(q, texts...)
	return nil
}

// readCriterionCSV reads a raw.csv, which names its benchmark on every line.
func readCriterionCSV(text []byte, out *formatted) error {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("it is no raw.csv of criterion: %v", err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, name := range []string{"group", "function", "value", "sample_measured_value", "unit", "iteration_count"} {
		if _, ok := column[name]; !ok {
			return fmt.Errorf("it is no raw.csv of criterion: it has no column %q", name)
		}
	}
	for _, row := range rows[1:] {
		var names []string
		for _, name := range []string{"group", "function", "value"} {
			if row[column[name]] != "" {
				names = append(names, row[column[name]])
			}
		}
		err := addCriterion(strings.Join(names, "/"), row[column["unit"]],
			[]json.Number{json.Number(row[column["sample_measured_value"]])}, []json.Number{json.Number(row[column["iteration_count"]])}, out)
		if err != nil {
			return err
		}
	}
	return nil
}

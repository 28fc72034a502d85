package harness

import (
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// BenchFile is a file of Go benchmark results, read as the output of a run is:
// results that prints tore apart are put together, the events of go test -json
// too, and what cannot be read is counted.
type BenchFile struct {
	Results []BenchResult
	// Units holds the better= of "Unit" lines.
	Units benchfmt.UnitMetadataMap
	// Unread says how many lines look like results and cannot be read, and
	// shows the first; "": all were read.
	Unread string
}

// BenchResult is one result line.
type BenchResult struct {
	Package string // "" for none
	Mode    string // of bench.txt; "" for none
	Name    string // without "Benchmark", as printed
	// Values are tidied as benchstat shows them: sec/op for ns/op.
	Values []benchfmt.Value
}

// ReadBenchFile reads text in the Go benchmark format, or the events of go test
// -json.
func ReadBenchFile(text []byte) (BenchFile, error) {
	bench, err := readBench(text)
	if err != nil {
		return BenchFile{}, err
	}
	out := BenchFile{Units: bench.units}
	if bench.unread > 0 {
		out.Unread = bench.complaint()
	}
	for _, l := range bench.lines {
		r := BenchResult{Package: l.pkg, Mode: l.mode, Name: l.name}
		for _, bv := range l.values {
			v, unit := benchunit.Tidy(bv.value, bv.unit)
			r.Values = append(r.Values, benchfmt.Value{Value: v, Unit: unit})
		}
		out.Results = append(out.Results, r)
	}
	return out, nil
}

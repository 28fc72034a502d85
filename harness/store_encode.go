package harness

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// lineEncoder writes records as lines of records.jsonl. It is written by hand
// because encoding/json walks maps by reflection and allocates for each key,
// which between two runs of a command of one millisecond is felt. Buffers are
// kept from one record to the next.
type lineEncoder struct {
	line   []byte
	keys   []string
	values []string // the keys of the last record's values, in order
	err    error
}

// encode returns the record as one JSON object and a newline. The bytes are
// valid until the next call. A number that JSON cannot hold (NaN, Inf) is an
// error: it should have voided the run before.
func (e *lineEncoder) encode(r *Record) ([]byte, error) {
	e.line, e.err = append(e.line[:0], '{'), nil
	e.place(r)
	e.outcome(r)
	e.setting(r)
	e.measured(r)
	e.line = append(e.line, '}', '\n')
	return e.line, e.err
}

// place writes which run of the plan it was.
func (e *lineEncoder) place(r *Record) {
	e.integer("run", r.Run)
	e.integer("attempt", r.Attempt)
	e.integer("block", r.Block)
	e.integer("position", r.Position)
	e.integer("treatment", r.Treatment)
	e.integer("previous", r.Previous)
	e.text("workload", r.Workload)
	e.text("mode", r.Mode)
	e.optional("condition", r.Condition)
	if len(r.Levels) > 0 {
		e.marshal("levels", r.Levels)
	}
	if r.Warmup {
		e.key("warmup")
		e.line = append(e.line, "true"...)
	}
}

// outcome writes when it began and how it ended.
func (e *lineEncoder) outcome(r *Record) {
	e.key("start")
	e.line = append(e.line, '"')
	e.line = r.Start.AppendFormat(e.line, time.RFC3339Nano)
	e.line = append(e.line, '"')
	e.text("outcome", string(r.Outcome))
	e.optional("reason", r.Reason)
	e.integer("exit", r.Exit)
	e.optional("signal", r.Signal)
}

// setting writes what it ran under.
func (e *lineEncoder) setting(r *Record) {
	e.optional("cpus", r.CPUs)
	if r.Procs != 0 {
		e.integer("procs", r.Procs)
	}
	if len(r.Layers) > 0 {
		e.marshal("layers", r.Layers)
	}
	if r.Choice != nil {
		e.marshal("choice", r.Choice)
	}
	if len(r.Load) > 0 {
		e.marshal("load", r.Load)
	}
}

// measured writes the numbers, and what describes them.
func (e *lineEncoder) measured(r *Record) {
	e.values = sortedKeys(e.values, r.Values)
	e.numbers("values", e.values, r.Values)
	if len(r.Iterations) > 0 {
		e.series("iterations", r.Iterations)
	}
	if len(r.Counters) > 0 {
		e.keys = sortedKeys(e.keys, r.Counters)
		e.numbers("counters", e.keys, r.Counters)
	}
	if len(r.Metrics) > 0 {
		e.marshal("metrics", r.Metrics)
	}
	if len(r.Warnings) > 0 {
		e.marshal("warnings", r.Warnings)
	}
	e.optional("shape", r.Shape)
	e.optional("output", r.Output)
}

// key starts a member of the object.
func (e *lineEncoder) key(name string) {
	if len(e.line) > 1 {
		e.line = append(e.line, ',')
	}
	e.line = append(e.line, '"')
	e.line = append(e.line, name...)
	e.line = append(e.line, '"', ':')
}

func (e *lineEncoder) integer(name string, n int) {
	e.key(name)
	e.line = strconv.AppendInt(e.line, int64(n), 10)
}

func (e *lineEncoder) text(name, s string) {
	e.key(name)
	e.line = appendJSONString(e.line, s)
}

func (e *lineEncoder) optional(name, s string) {
	if s != "" {
		e.text(name, s)
	}
}

// marshal writes what is small or rare the common way, so that fields added to
// those types are never forgotten here.
func (e *lineEncoder) marshal(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("cannot encode %q of a record: %v", name, err)
	}
	e.key(name)
	e.line = append(e.line, b...)
}

// sortedKeys gives the keys of a map in order, in keys, which may hold those of
// the record before: they are nearly always the same.
func sortedKeys[V any](keys []string, m map[string]V) []string {
	same := len(keys) == len(m)
	for i := 0; same && i < len(keys); i++ {
		_, same = m[keys[i]]
	}
	if same {
		return keys
	}
	keys = keys[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// numbers writes a map with its keys in order, so that equal records are equal
// bytes.
func (e *lineEncoder) numbers(name string, keys []string, m map[string]float64) {
	e.key(name)
	e.line = append(e.line, '{')
	for i, k := range keys {
		if i > 0 {
			e.line = append(e.line, ',')
		}
		e.line = appendJSONString(e.line, k)
		e.line = append(e.line, ':')
		e.number(k, m[k])
	}
	e.line = append(e.line, '}')
}

func (e *lineEncoder) series(name string, m map[string][]float64) {
	e.key(name)
	e.keys = sortedKeys(e.keys, m)
	e.line = append(e.line, '{')
	for i, k := range e.keys {
		if i > 0 {
			e.line = append(e.line, ',')
		}
		e.line = appendJSONString(e.line, k)
		e.line = append(e.line, ':', '[')
		for j, v := range m[k] {
			if j > 0 {
				e.line = append(e.line, ',')
			}
			e.number(k, v)
		}
		e.line = append(e.line, ']')
	}
	e.line = append(e.line, '}')
}

func (e *lineEncoder) number(name string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		if e.err == nil {
			e.err = fmt.Errorf("cannot encode %q of a record: %v is not a finite number", name, v)
		}
		v = 0
	}
	e.line = strconv.AppendFloat(e.line, v, 'g', -1, 64)
}

// appendJSONString appends s as a JSON string; what needs escaping is left to
// encoding/json.
func appendJSONString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			b, err := json.Marshal(s)
			if err != nil {
				// Marshal of a string has no way to fail: bad UTF-8 is replaced.
				panic(err)
			}
			return append(dst, b...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

package harness

import (
	"encoding/json"
	"errors"

	"goset/isolation"
)

// lineDecoder reads lines of records.jsonl into reused records. Lines in the
// form that lineEncoder writes are read by hand, several times faster than
// encoding/json does; every other line is given to encoding/json, which alone
// decides what is well formed.
//
// What repeats from record to record (names, levels, layers) is decoded once
// and shared between the records: it is to be read, not changed.
type lineDecoder struct {
	members []recordMember
	names   map[string]string
	levels  map[string][]Level
	layers  map[string][]isolation.LayerState
	series  []float64  // scratch
	cursor  lineCursor // of the line that is read: here, it is not allocated anew for each
}

// cacheLimit bounds each cache of a decoder: a file of a million different
// names must not be held in memory.
const cacheLimit = 4096

func newLineDecoder() *lineDecoder {
	return &lineDecoder{
		members: recordMembers(),
		names:   map[string]string{},
		levels:  map[string][]Level{},
		layers:  map[string][]isolation.LayerState{},
	}
}

// errSlow says that a line is not in the hand-read form.
var errSlow = errors.New("not in the form of the encoder")

// decode reads one line, without its newline, into r, whose maps and slices
// are used again.
func (d *lineDecoder) decode(line []byte, r *Record) error {
	r.reset()
	// A member that is missing is no run 0 of treatment 0.
	r.Run, r.Treatment = -1, -1
	d.cursor = lineCursor{b: line, d: d}
	if d.cursor.record(r) == nil {
		return nil
	}
	*r = Record{Run: -1, Treatment: -1}
	return json.Unmarshal(line, r)
}

// reset empties a record and keeps its maps.
func (r *Record) reset() {
	values, iterations, counters := r.Values, r.Iterations, r.Counters
	clear(values)
	clear(iterations)
	clear(counters)
	*r = Record{Values: values, Iterations: iterations, Counters: counters}
}

// recordMember is one member of a record.
type recordMember struct {
	name string
	read func(c *lineCursor, r *Record) error
}

// recordMembers are the members in the order of the encoder. A record takes
// them in that order only, so that a member that is there twice goes the slow
// way.
func recordMembers() []recordMember {
	return []recordMember{
		{"run", func(c *lineCursor, r *Record) error { return c.integer(&r.Run) }},
		{"attempt", func(c *lineCursor, r *Record) error { return c.integer(&r.Attempt) }},
		{"block", func(c *lineCursor, r *Record) error { return c.integer(&r.Block) }},
		{"position", func(c *lineCursor, r *Record) error { return c.integer(&r.Position) }},
		{"treatment", func(c *lineCursor, r *Record) error { return c.integer(&r.Treatment) }},
		{"previous", func(c *lineCursor, r *Record) error { return c.integer(&r.Previous) }},
		{"workload", func(c *lineCursor, r *Record) error { return c.name(&r.Workload) }},
		{"mode", func(c *lineCursor, r *Record) error { return c.name(&r.Mode) }},
		{"condition", func(c *lineCursor, r *Record) error { return c.name(&r.Condition) }},
		{"levels", func(c *lineCursor, r *Record) error { return cached(c, c.d.levels, &r.Levels) }},
		{"warmup", func(c *lineCursor, r *Record) error { r.Warmup = true; return c.literal("true") }},
		{"start", func(c *lineCursor, r *Record) error { return c.time(&r.Start) }},
		{"outcome", func(c *lineCursor, r *Record) error { return c.name((*string)(&r.Outcome)) }},
		{"reason", func(c *lineCursor, r *Record) error { return c.name(&r.Reason) }},
		{"exit", func(c *lineCursor, r *Record) error { return c.integer(&r.Exit) }},
		{"signal", func(c *lineCursor, r *Record) error { return c.name(&r.Signal) }},
		{"cpus", func(c *lineCursor, r *Record) error { return c.name(&r.CPUs) }},
		{"procs", func(c *lineCursor, r *Record) error { return c.integer(&r.Procs) }},
		{"layers", func(c *lineCursor, r *Record) error { return cached(c, c.d.layers, &r.Layers) }},
		{"choice", func(c *lineCursor, r *Record) error { return c.unmarshal(&r.Choice) }},
		{"load", func(c *lineCursor, r *Record) error { return c.unmarshal(&r.Load) }},
		{"values", func(c *lineCursor, r *Record) error { return c.numbers(&r.Values) }},
		{"iterations", func(c *lineCursor, r *Record) error { return c.series(&r.Iterations) }},
		{"counters", func(c *lineCursor, r *Record) error { return c.numbers(&r.Counters) }},
		{"metrics", func(c *lineCursor, r *Record) error { return c.unmarshal(&r.Metrics) }},
		{"warnings", func(c *lineCursor, r *Record) error { return c.unmarshal(&r.Warnings) }},
		{"shape", func(c *lineCursor, r *Record) error { return c.name(&r.Shape) }},
		{"output", func(c *lineCursor, r *Record) error { return c.name(&r.Output) }},
	}
}

// record reads the whole line.
func (c *lineCursor) record(r *Record) error {
	if !c.take('{') {
		return errSlow
	}
	left := c.d.members
	for {
		name, err := c.raw()
		if err != nil {
			return err
		}
		for len(left) > 0 && left[0].name != string(name) {
			left = left[1:]
		}
		if len(left) == 0 || !c.take(':') {
			return errSlow
		}
		if err := left[0].read(c, r); err != nil {
			return err
		}
		left = left[1:]
		if c.take(',') {
			continue
		}
		if c.take('}') && c.i == len(c.b) {
			return nil
		}
		return errSlow
	}
}

// name reads a string that is likely to come again.
func (c *lineCursor) name(s *string) error {
	raw, err := c.raw()
	if err != nil {
		return err
	}
	*s = c.d.intern(raw)
	return nil
}

func (d *lineDecoder) intern(raw []byte) string {
	if s, ok := d.names[string(raw)]; ok {
		return s
	}
	s := string(raw)
	if len(d.names) < cacheLimit {
		d.names[s] = s
	}
	return s
}

func (c *lineCursor) numbers(m *map[string]float64) error {
	if *m == nil {
		*m = map[string]float64{}
	}
	return c.members(func(name string) error {
		v, err := c.number()
		(*m)[name] = v
		return err
	})
}

func (c *lineCursor) series(m *map[string][]float64) error {
	if *m == nil {
		*m = map[string][]float64{}
	}
	return c.members(func(name string) error {
		vs, err := c.array()
		(*m)[name] = vs
		return err
	})
}

func (c *lineCursor) unmarshal(v any) error {
	raw, err := c.value()
	if err != nil {
		return err
	}
	if json.Unmarshal(raw, v) != nil {
		return errSlow
	}
	return nil
}

// cached decodes a value that is likely to come again.
func cached[T any](c *lineCursor, cache map[string][]T, out *[]T) error {
	raw, err := c.value()
	if err != nil {
		return err
	}
	if v, ok := cache[string(raw)]; ok {
		*out = v
		return nil
	}
	var v []T
	if json.Unmarshal(raw, &v) != nil {
		return errSlow
	}
	if len(cache) < cacheLimit {
		cache[string(raw)] = v
	}
	*out = v
	return nil
}

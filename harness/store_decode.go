package harness

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

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
	names  map[string]string
	levels map[string][]Level
	layers map[string][]isolation.LayerState
	series []float64 // scratch
}

// cacheLimit bounds each cache of a decoder: a file of a million different
// names must not be held in memory.
const cacheLimit = 4096

func newLineDecoder() *lineDecoder {
	return &lineDecoder{
		names:  map[string]string{},
		levels: map[string][]Level{},
		layers: map[string][]isolation.LayerState{},
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
	c := lineCursor{b: line, d: d}
	if c.record(r) == nil {
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

// lineCursor reads one line from left to right.
type lineCursor struct {
	b []byte
	i int
	d *lineDecoder
}

// The members of a record in the order of the encoder. A cursor takes them in
// that order only, so that a member that is there twice goes the slow way.
const (
	memberNone = iota
	memberRun
	memberAttempt
	memberBlock
	memberPosition
	memberTreatment
	memberPrevious
	memberWorkload
	memberMode
	memberCondition
	memberLevels
	memberWarmup
	memberStart
	memberOutcome
	memberReason
	memberExit
	memberSignal
	memberCPUs
	memberProcs
	memberLayers
	memberChoice
	memberLoad
	memberValues
	memberIterations
	memberCounters
	memberMetrics
	memberWarnings
	memberShape
	memberOutput
)

// memberOf names the member; memberNone for a name that is not known.
func memberOf(name []byte) int {
	switch string(name) {
	case "run":
		return memberRun
	case "attempt":
		return memberAttempt
	case "block":
		return memberBlock
	case "position":
		return memberPosition
	case "treatment":
		return memberTreatment
	case "previous":
		return memberPrevious
	case "workload":
		return memberWorkload
	case "mode":
		return memberMode
	case "condition":
		return memberCondition
	case "levels":
		return memberLevels
	case "warmup":
		return memberWarmup
	case "start":
		return memberStart
	case "outcome":
		return memberOutcome
	case "reason":
		return memberReason
	case "exit":
		return memberExit
	case "signal":
		return memberSignal
	case "cpus":
		return memberCPUs
	case "procs":
		return memberProcs
	case "layers":
		return memberLayers
	case "choice":
		return memberChoice
	case "load":
		return memberLoad
	case "values":
		return memberValues
	case "iterations":
		return memberIterations
	case "counters":
		return memberCounters
	case "metrics":
		return memberMetrics
	case "warnings":
		return memberWarnings
	case "shape":
		return memberShape
	case "output":
		return memberOutput
	}
	return memberNone
}

// record reads the whole line.
func (c *lineCursor) record(r *Record) error {
	if !c.take('{') {
		return errSlow
	}
	last := memberNone
	for {
		name, err := c.raw()
		if err != nil {
			return err
		}
		member := memberOf(name)
		if member <= last || !c.take(':') {
			return errSlow
		}
		last = member
		if err := c.member(member, r); err != nil {
			return err
		}
		if c.take(',') {
			continue
		}
		if c.take('}') && c.i == len(c.b) {
			return nil
		}
		return errSlow
	}
}

// member reads the value of one member.
func (c *lineCursor) member(member int, r *Record) error {
	switch member {
	case memberRun:
		return c.integer(&r.Run)
	case memberAttempt:
		return c.integer(&r.Attempt)
	case memberBlock:
		return c.integer(&r.Block)
	case memberPosition:
		return c.integer(&r.Position)
	case memberTreatment:
		return c.integer(&r.Treatment)
	case memberPrevious:
		return c.integer(&r.Previous)
	case memberExit:
		return c.integer(&r.Exit)
	case memberProcs:
		return c.integer(&r.Procs)
	case memberWorkload:
		return c.name(&r.Workload)
	case memberMode:
		return c.name(&r.Mode)
	case memberCondition:
		return c.name(&r.Condition)
	case memberReason:
		return c.name(&r.Reason)
	case memberSignal:
		return c.name(&r.Signal)
	case memberCPUs:
		return c.name(&r.CPUs)
	case memberShape:
		return c.name(&r.Shape)
	case memberOutput:
		return c.name(&r.Output)
	case memberOutcome:
		return c.name((*string)(&r.Outcome))
	case memberWarmup:
		r.Warmup = true
		return c.literal("true")
	case memberStart:
		return c.time(&r.Start)
	case memberValues:
		return c.numbers(&r.Values)
	case memberCounters:
		return c.numbers(&r.Counters)
	case memberIterations:
		return c.series(&r.Iterations)
	case memberLevels:
		return cached(c, c.d.levels, &r.Levels)
	case memberLayers:
		return cached(c, c.d.layers, &r.Layers)
	case memberChoice:
		return c.unmarshal(&r.Choice)
	case memberLoad:
		return c.unmarshal(&r.Load)
	case memberMetrics:
		return c.unmarshal(&r.Metrics)
	case memberWarnings:
		return c.unmarshal(&r.Warnings)
	}
	return errSlow
}

func (c *lineCursor) take(b byte) bool {
	if c.i < len(c.b) && c.b[c.i] == b {
		c.i++
		return true
	}
	return false
}

func (c *lineCursor) literal(s string) error {
	if len(c.b)-c.i < len(s) || string(c.b[c.i:c.i+len(s)]) != s {
		return errSlow
	}
	c.i += len(s)
	return nil
}

// raw reads a string without escapes and gives its bytes.
func (c *lineCursor) raw() ([]byte, error) {
	if !c.take('"') {
		return nil, errSlow
	}
	from := c.i
	for ; c.i < len(c.b); c.i++ {
		switch b := c.b[c.i]; {
		case b == '"':
			c.i++
			return c.b[from : c.i-1], nil
		case b < ' ' || b == '\\' || b >= 0x80:
			return nil, errSlow
		}
	}
	return nil, errSlow
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

func (c *lineCursor) integer(n *int) error {
	from := c.i
	negative := c.take('-')
	first := c.i
	v := 0
	for ; c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9'; c.i++ {
		v = v*10 + int(c.b[c.i]-'0')
	}
	digits := c.i - first
	// Nine digits fit an int everywhere; a leading zero is not JSON.
	if digits == 0 || digits > 9 || digits > 1 && c.b[first] == '0' {
		c.i = from
		return errSlow
	}
	if negative {
		v = -v
	}
	*n = v
	return nil
}

// number reads a JSON number.
func (c *lineCursor) number() (float64, error) {
	from := c.i
	c.take('-')
	if !c.take('0') && c.digits() == 0 {
		return 0, errSlow
	}
	if c.take('.') && c.digits() == 0 {
		return 0, errSlow
	}
	if c.take('e') || c.take('E') {
		if !c.take('+') {
			c.take('-')
		}
		if c.digits() == 0 {
			return 0, errSlow
		}
	}
	v, err := strconv.ParseFloat(string(c.b[from:c.i]), 64)
	if err != nil {
		return 0, errSlow
	}
	return v, nil
}

// digits passes over digits and counts them.
func (c *lineCursor) digits() int {
	from := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i - from
}

func (c *lineCursor) time(t *time.Time) error {
	raw, err := c.raw()
	if err != nil {
		return err
	}
	return t.UnmarshalText(raw)
}

// members calls value for each member of an object, the cursor on its value.
func (c *lineCursor) members(value func(name string) error) error {
	if !c.take('{') {
		return errSlow
	}
	if c.take('}') {
		return nil
	}
	for {
		raw, err := c.raw()
		if err != nil {
			return err
		}
		if !c.take(':') {
			return errSlow
		}
		if err := value(c.d.intern(raw)); err != nil {
			return err
		}
		if c.take('}') {
			return nil
		}
		if !c.take(',') {
			return errSlow
		}
	}
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

func (c *lineCursor) array() ([]float64, error) {
	if !c.take('[') {
		return nil, errSlow
	}
	if c.take(']') {
		return []float64{}, nil
	}
	c.d.series = c.d.series[:0]
	for {
		v, err := c.number()
		if err != nil {
			return nil, err
		}
		c.d.series = append(c.d.series, v)
		if c.take(']') {
			return slices.Clone(c.d.series), nil
		}
		if !c.take(',') {
			return nil, errSlow
		}
	}
}

// value passes over one object or array and gives its bytes; whether they are
// well formed is for encoding/json to say.
func (c *lineCursor) value() ([]byte, error) {
	from, depth := c.i, 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			if !c.skipString() {
				return nil, errSlow
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.i++
		if depth == 0 {
			return c.b[from:c.i], nil
		}
		if depth < 0 {
			break
		}
	}
	return nil, errSlow
}

// skipString passes over a string with its escapes.
func (c *lineCursor) skipString() bool {
	for c.i++; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case '\\':
			c.i++
		case '"':
			c.i++
			return true
		}
	}
	return false
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

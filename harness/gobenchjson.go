package harness

import (
	"bytes"
	"encoding/json"
	"slices"
)

// eventPart is the output of one package, or what stood outside of all events.
type eventPart struct {
	pkg  string
	text []byte
}

// testEvent is a line of go test -json (cmd/test2json).
type testEvent struct {
	Action, Package, ImportPath, Output string
}

// splitEvents puts the output of every package together again: go test -json
// makes an event of every write, and interleaves packages. Text without events
// is one part as it is. A line that begins as an event and cannot be decoded is
// cut, and counted.
func splitEvents(text []byte, out *benchOutput) []eventPart {
	if !hasEvents(text) {
		return []eventPart{{text: text}}
	}
	var plain eventPart
	var parts []*eventPart
	at := map[string]*eventPart{}
	for line := range bytes.Lines(text) {
		e, ok := eventOf(line)
		switch {
		case !ok && bytes.HasPrefix(line, []byte(`{"`)):
			out.skip(bytes.TrimRight(line, "\r\n"))
		case !ok:
			plain.text = append(plain.text, line...)
		case e.Action == "output":
			p := at[e.Package]
			if p == nil {
				p = &eventPart{pkg: e.Package}
				at[e.Package] = p
				parts = append(parts, p)
			}
			p.text = append(p.text, e.Output...)
		}
	}
	var all []eventPart
	for _, p := range parts {
		// What a test binary marks its -v lines with, where nobody took it out.
		p.text = bytes.ReplaceAll(p.text, []byte("\x16"), nil)
		all = append(all, *p)
	}
	if len(plain.text) > 0 {
		all = append(all, plain)
	}
	return all
}

func hasEvents(text []byte) bool {
	for line := range bytes.Lines(text) {
		if _, ok := eventOf(line); ok {
			return true
		}
	}
	return false
}

// eventOf decodes a line that is an event.
func eventOf(line []byte) (testEvent, bool) {
	var e testEvent
	if !bytes.HasPrefix(line, []byte(`{"`)) || json.Unmarshal(line, &e) != nil {
		return e, false
	}
	actions := []string{"start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip", "build-output", "build-fail", "attr", "artifacts"}
	return e, (e.Package != "" || e.ImportPath != "") && slices.Contains(actions, e.Action)
}

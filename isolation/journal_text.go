package isolation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind names a sort of change. It decides how an object is read, written and
// compared, and so what its undo does.
type Kind string

// Entry is one change as the journal has it, written before the change is made.
type Entry struct {
	Kind Kind `json:"kind"`
	// Object is what is changed: the kernel's path of a file or cgroup, the
	// name of a unit, "PID:START" of a process or thread.
	Object string `json:"object"`
	// Identity tells the object from another one that comes to have the same
	// name, where the kind has a way: the inode of a cgroup, the device of an
	// IRQ.
	Identity string `json:"identity,omitempty"`
	// Label is for messages alone: the name of a thread.
	Label string `json:"label,omitempty"`
	Old   string `json:"old"`
	New   string `json:"new"`
	Boot  string `json:"boot"`
	// Since is when a thread whose CPUs are remembered was looked for, in clock
	// ticks since boot: who is younger may be its heir.
	Since uint64 `json:"since,omitempty"`
}

// The bounds of a journal: far above what a run writes, and small enough that
// a wrong file does not take the memory.
const (
	maxJournal = 64 << 20
	maxEntry   = 256 << 10
)

// checkSum is that of a line, by Castagnoli's polynomial. Its table is made with
// the first: most processes have no journal.
func checkSum(text []byte) uint32 {
	return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
}

// line writes an entry as one line: the check sum of the text, and the text.
func (e Entry) line() ([]byte, error) {
	for _, s := range []string{string(e.Kind), e.Object, e.Identity, e.Label, e.Old, e.New, e.Boot} {
		// JSON would replace what is no UTF-8, and undo write that.
		if !utf8.ValidString(s) {
			return nil, fmt.Errorf("cannot journal %q: it is no UTF-8", s)
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	if text.Len() > maxEntry {
		return nil, fmt.Errorf("cannot journal %s: %d bytes are more than %d", e.Object, text.Len(), maxEntry)
	}
	return fmt.Appendf(nil, "%08x %s", checkSum(text.Bytes()), text.Bytes()), nil
}

// parseEntry reads a line without its end. Only what line wrote is accepted,
// byte by byte.
func parseEntry(text string) (Entry, error) {
	sum, body, ok := strings.Cut(text, " ")
	want, err := strconv.ParseUint(sum, 16, 32)
	if !ok || err != nil || len(sum) != 8 {
		return Entry{}, fmt.Errorf("%.40q is no entry of a journal", text)
	}
	if got := checkSum([]byte(body + "\n")); got != uint32(want) {
		return Entry{}, fmt.Errorf("%.40q has check sum %08x", text, got)
	}
	var e Entry
	dec := json.NewDecoder(strings.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return Entry{}, fmt.Errorf("%.40q: %v", text, err)
	}
	again, err := e.line()
	if err != nil || string(again) != text+"\n" {
		return Entry{}, fmt.Errorf("%.40q is not as it was written", text)
	}
	return e, nil
}

// parseJournal reads every entry that is whole. The faults say what was passed
// over: a line that was cut off by a power failure is no fault when it is the
// last, since an entry is on disk before its change is made.
func parseJournal(r io.Reader) (entries []Entry, faults []error) {
	text, err := io.ReadAll(io.LimitReader(r, maxJournal+1))
	if err != nil {
		return nil, []error{err}
	}
	if len(text) > maxJournal {
		faults = append(faults, fmt.Errorf("it is longer than %d bytes, of which the first are used", maxJournal))
		text = text[:maxJournal]
	}
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		if !whole {
			break
		}
		e, err := parseEntry(string(line))
		if err == nil {
			err = validEntry(e)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		entries = append(entries, e)
	}
	return entries, faults
}

// validEntry refuses entries that this version never writes.
func validEntry(e Entry) error {
	k, ok := kindOf(e.Kind)
	if !ok {
		return fmt.Errorf("kind %q is not known", e.Kind)
	}
	if e.Boot == "" {
		return errors.New("it names no boot")
	}
	if strings.ContainsAny(e.Old+e.New, "\x00") {
		return fmt.Errorf("a value of %s holds a NUL", e.Object)
	}
	if err := k.valid(e.Object); err != nil {
		return fmt.Errorf("kind %q: %w", e.Kind, err)
	}
	return nil
}

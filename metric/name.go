package metric

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest metric name, in bytes.
const maxName = 200

// CheckName says whether a name is fit for a metric. Names go into CSV cells,
// JSON keys and tables: they are printable UTF-8 of at most maxName bytes,
// with single blanks and only inside, and do not begin with a character that
// makes a spreadsheet take the cell for a formula. A writer of the Go
// benchmark format has to replace the blanks.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("metric name is empty")
	case len(name) > maxName:
		return fmt.Errorf("metric name must have at most %d bytes, got %d", maxName, len(name))
	case name != CleanName(name):
		return fmt.Errorf("metric name must be printable, with single blanks inside, and not begin with one of %s, got %q", formula, name)
	}
	return nil
}

// formula lists what a spreadsheet takes for the start of a formula.
const formula = "= + - @"

// CleanName makes a name fit: runs of white space become one blank, what is
// not printable becomes "?", a character that begins a formula gets "_" before
// it, and what is too long ends in a fingerprint of the whole, so that two
// long names stay two. An empty name becomes "_".
func CleanName(name string) string {
	if clean(name) {
		return name
	}
	var b strings.Builder
	blank := false
	for _, r := range name {
		if unicode.IsSpace(r) {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if b.Len() == 0 && strings.ContainsRune("=+-@", r) {
			b.WriteByte('_')
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "_"
	}
	return shorten(b.String(), name)
}

// clean is the quick way out for the names that need nothing.
func clean(name string) bool {
	if name == "" || len(name) > maxName || strings.IndexByte("=+-@ ", name[0]) >= 0 || name[len(name)-1] == ' ' {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c < ' ' || c > '~' || c == ' ' && name[i-1] == ' ' {
			return false
		}
	}
	return true
}

// shorten cuts s at a character and puts the fingerprint of whole behind it.
func shorten(s, whole string) string {
	if len(s) <= maxName {
		return s
	}
	h := fnv.New32a()
	h.Write([]byte(whole)) // a hash never fails to write
	cut := maxName - len("~00000000")
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.TrimRight(s[:cut], " ") + fmt.Sprintf("~%08x", h.Sum32())
}

package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Fault is one thing that is wrong with an experiment: where it stands, the
// rule that it breaks, and the way out.
type Fault struct {
	File string
	// Line and Col count from 1, Col in characters. Both are 0 when the fault
	// stands in no file, as that of an override.
	Line, Col int
	Key       string // "plan.runs"
	Rule      string // "must be a whole number from 1 to 10000000"
	Got       string // the value as it was written; "" when nothing was
	Hint      string // the way out, as `did you mean "runs"?`
	// Origin is where the value came from when the file does not have it:
	// "-set plan.runs=0".
	Origin string
	// Unavailable is true when the key is right but this version cannot do
	// what it asks for.
	Unavailable bool
}

// Error prints "file:line:col: key: rule, got value (hint)", with the origin
// in the place of the position for what was not in the file.
func (f Fault) Error() string {
	var b strings.Builder
	switch {
	case f.Origin != "":
		fmt.Fprintf(&b, "%s: ", f.Origin)
	case f.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Col)
	default:
		fmt.Fprintf(&b, "%s: ", f.File)
	}
	if f.Key != "" {
		fmt.Fprintf(&b, "%s: ", f.Key)
	}
	b.WriteString(f.Rule)
	if f.Got != "" {
		fmt.Fprintf(&b, ", got %s", f.Got)
	}
	if f.Hint != "" {
		fmt.Fprintf(&b, " (%s)", f.Hint)
	}
	return b.String()
}

// Faults is every fault of an experiment, in the order of the file; those
// that stand in no file come last.
type Faults []Fault

// Error prints a line per fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a Fault.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// sorted returns the faults by position, each text once.
func (fs Faults) sorted() Faults {
	out := slices.Clone(fs)
	slices.SortStableFunc(out, func(a, b Fault) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(f Fault) bool {
		text := f.Error()
		twice := seen[text]
		seen[text] = true
		return twice
	})
}

// didYouMean is the hint that names the nearest of the words that are
// allowed; "" when none is near. Near is a third of the letters: "rums" finds
// "runs" and "quitest" finds "quietest", but "x" finds nothing.
func didYouMean(got string, allowed []string) string {
	if len(got) > 64 {
		return "" // the distance is quadratic in the length
	}
	best, least := "", 1+max(1, len(got)/3)
	for _, word := range allowed {
		d := distance(strings.ToLower(got), strings.ToLower(word))
		if d < least && d < len(word) {
			best, least = word, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// distance is how many letters are wrong, left out or too many. Two neighbours
// that changed places, the commonest slip of all, count once and not twice.
func distance(got, word string) int {
	d := levenshtein.ComputeDistance(got, word)
	swapped := []byte(got)
	for i := 1; i < len(swapped); i++ {
		swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
		d = min(d, 1+levenshtein.ComputeDistance(string(swapped), word))
		swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
	}
	return d
}

// orList writes words as `"a", "b" or "c"`.
func orList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

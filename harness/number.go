package harness

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"goset/metric"
)

// maxUnit is the longest unit that is read behind a number, in bytes.
const maxUnit = 32

// parseNumber reads text as programs print numbers: an optional sign, digits
// with a decimal point, an exponent, and a unit, glued on or behind a blank:
// "12.5ms", "-3e-7", "3.1 GB/s", "45%", and durations such as "1m30.5s". The
// value is in the unit as printed; that of a compound duration is "s".
//
// A thousands separator ("1,234,567", "1'234", "1 234") and a decimal comma
// ("3,14") cannot be told apart for sure, so both are errors, as are NaN,
// infinities, hexadecimal digits, and what is outside the range of a float64.
func parseNumber(text string) (value float64, unit string, err error) {
	s := strings.TrimSpace(text)
	if word := notFinite(s); word != "" {
		return 0, "", errors.New("printed " + word)
	}
	if v, ok := parseDuration(s); ok {
		return inRange(v, "s", s)
	}
	n := scanNumber(s)
	if n == 0 {
		return 0, "", fmt.Errorf("%s is not a number", quote(text))
	}
	rest := s[n:]
	if why := separator(rest); why != "" {
		return 0, "", fmt.Errorf("%s has %s: a number is printed with plain digits and a decimal point", quote(text), why)
	}
	if len(rest) > 1 && (rest[0] == 'x' || rest[0] == 'X') && s[:n][signLen(s):] == "0" {
		return 0, "", fmt.Errorf("%s is hexadecimal: only decimal numbers are read", quote(text))
	}
	unit = strings.TrimSpace(rest)
	if !unitLike(unit) {
		return 0, "", fmt.Errorf("%s is not a number: %s follows it", quote(text), quote(rest))
	}
	v, err := parseDecimal(s[:n])
	if err != nil {
		return 0, "", fmt.Errorf("%s %w", quote(text), err)
	}
	return v, unit, nil
}

// inBase reads text as a number of the declared unit and brings it to base
// units. A unit that is printed with the number wins when it measures the same
// ("12.5ms" where "s" is declared) and is an error when it does not.
func inBase(text, declared string) (value float64, base string, err error) {
	v, printed, err := parseNumber(text)
	if err != nil {
		return 0, "", err
	}
	unit := declared
	if printed != "" && printed != declared {
		pb, _, _ := metric.Base(printed)
		if db, _, _ := metric.Base(declared); declared != "" && pb != db {
			return 0, "", fmt.Errorf("%s has the unit %q, which is not the declared %q", quote(text), printed, declared)
		}
		unit = printed
	}
	scaled, base, _ := metric.Convert(v, unit)
	if math.IsInf(scaled, 0) || scaled == 0 && v != 0 {
		return 0, "", fmt.Errorf("%s %w", quote(text), errRange)
	}
	return scaled, base, nil
}

// errRange is for what a float64 cannot hold: too large, or so small that it
// would become 0.
var errRange = errors.New("is outside the range of a float64")

// parseDecimal reads what scanNumber found. strconv alone would read "1e-999"
// as 0 without an error, and "−" not at all.
func parseDecimal(s string) (float64, error) {
	if rest, ok := strings.CutPrefix(s, "\u2212"); ok {
		s = "-" + rest
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, errRange
	}
	if v == 0 {
		mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
		if strings.ContainsAny(mantissa, "123456789") {
			return 0, errRange
		}
	}
	return v, nil
}

// inRange refuses a value that overflowed on the way.
func inRange(v float64, unit, text string) (float64, string, error) {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, "", fmt.Errorf("%s %w", quote(text), errRange)
	}
	return v, unit, nil
}

// signLen is the length of a sign at the start of s: "+", "-" or the
// typographic minus.
func signLen(s string) int {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return 1
	}
	if strings.HasPrefix(s, "\u2212") {
		return len("\u2212")
	}
	return 0
}

// digits is how many ASCII digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}

// scanNumber is the length of the decimal number that s begins with, 0 for
// none. An "e" belongs to it only with digits behind it.
func scanNumber(s string) int {
	n := signLen(s)
	whole := digits(s[n:])
	n += whole
	fraction := 0
	if n < len(s) && s[n] == '.' {
		fraction = digits(s[n+1:])
		if whole+fraction > 0 {
			n += 1 + fraction
		}
	}
	if whole+fraction == 0 {
		return 0
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		e := n + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		if d := digits(s[e:]); d > 0 {
			n = e + d
		}
	}
	return n
}

// separator says what kind of grouping or decimal comma begins rest, the text
// behind the first digits; "" for none.
func separator(rest string) string {
	r, size := utf8.DecodeRuneInString(rest)
	if digits(rest[size:]) == 0 {
		return ""
	}
	switch {
	case r == ',':
		return "a thousands separator or a decimal comma"
	case r == '\'' || r == '\u2019' || r == '_' || unicode.IsSpace(r):
		return "a thousands separator"
	case r == '.':
		return "more than one decimal point"
	}
	return ""
}

// notFinite returns how a NaN or an infinity is written at the start of s,
// alone or with a unit behind a blank, and "" when s is none.
func notFinite(s string) string {
	word, _, _ := strings.Cut(s, " ")
	body := strings.ToLower(word[signLen(word):])
	switch {
	case body == "nan", body == "nan%", strings.HasPrefix(body, "nan("), strings.HasPrefix(body, "1.#qnan"), strings.HasPrefix(body, "1.#ind"):
		return "NaN"
	case body == "inf", body == "inf%", body == "infinity", body == "\u221e", strings.HasPrefix(body, "1.#inf"):
		return "Inf"
	}
	return ""
}

// unitLike is true of text that can be a unit: letters and the signs of units,
// no digits and no blanks.
func unitLike(s string) bool {
	if len(s) > maxUnit || s != "" && strings.IndexByte("*-_", s[0]) >= 0 {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !strings.ContainsRune("%°/*-_µ\u2126\u2030", r) {
			return false
		}
	}
	return true
}

// parseDuration reads hours, minutes and seconds glued together, as time(1) of
// the shells ("0m1.234s") and Go ("1h2m3.5s") print them. "12m" alone is left:
// it could be metres.
func parseDuration(s string) (seconds float64, ok bool) {
	rest := s[signLen(s):]
	parts := 0
	for _, u := range []struct {
		letter  byte
		seconds float64
	}{{'h', 3600}, {'m', 60}, {'s', 1}} {
		n := scanNumber(rest)
		if n == 0 || n >= len(rest) || rest[n] != u.letter || signLen(rest) > 0 {
			continue
		}
		v, err := parseDecimal(rest[:n])
		if err != nil {
			return 0, false
		}
		seconds += v * u.seconds
		rest = rest[n+1:]
		parts++
	}
	if rest != "" || parts < 2 || !strings.HasSuffix(s, "s") {
		return 0, false
	}
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "\u2212") {
		seconds = -seconds
	}
	return seconds, true
}

// quote shows text in a message, cut to what fits a line.
func quote(text string) string {
	const most = 60
	if len(text) <= most {
		return strconv.Quote(text)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strconv.Quote(text[:cut]) + "..."
}

// median is the middle value, or the mean of the middle two. It sorts a copy:
// the time order of a sample is needed later. There must be a value.
func median(values []float64) float64 {
	s := slices.Clone(values)
	slices.Sort(s)
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return s[n/2-1]/2 + s[n/2]/2 // halves first: the sum could overflow
}

// byteCount writes a number of bytes for a message.
func byteCount(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }

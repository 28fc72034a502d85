package harness

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"goset/internal/lazy"
	"goset/metric"
)

// numberKind says whether a number of a line can be used.
type numberKind int

const (
	numberPlain   numberKind = iota
	numberGrouped            // has a thousands separator or a decimal comma
	numberVoid               // NaN or an infinity
)

// number is one number of a line, in base units.
type number struct {
	kind  numberKind
	value float64
	unit  string
	text  string // as printed; of a grouped one only
}

// lineScanner splits a line into its form and its numbers. It is reused from
// line to line.
type lineScanner struct {
	// form is the line's words with "#" and the base unit for each number, cut
	// at maxTemplate with a fingerprint of the whole behind it.
	form    []byte
	numbers []number
	beyond  int // numbers behind the first maxFound of the line

	placed int    // numbers that stand in the form already
	sum    uint64 // FNV-1a of the whole form; hash/fnv costs a call per word
	over   bool   // form was cut

	units map[string]unitInfo
}

// unitInfo is what package metric says of a unit, remembered: an output has
// few units and many numbers.
type unitInfo struct {
	convert func(float64) float64
	base    string
	known   bool
}

// unit looks a unit up.
func (s *lineScanner) unit(unit string) unitInfo {
	if u, ok := s.units[unit]; ok {
		return u
	}
	var u unitInfo
	u.convert, u.base, u.known = metric.Converter(unit)
	if s.units == nil {
		s.units = map[string]unitInfo{}
	}
	if len(s.units) < maxFound {
		s.units[strings.Clone(unit)] = u // unit alone would keep its whole line
	}
	return u
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// maxChecked is how much of a word the checks look at. Whatever is recognised
// is shorter; a longer word is read in pieces, each once, so that a line
// without blanks takes no more than linear time.
const maxChecked = 64

// scan reads a line.
func (s *lineScanner) scan(line []byte) {
	s.form, s.numbers = s.form[:0], s.numbers[:0]
	s.beyond, s.placed, s.sum, s.over = 0, 0, fnvOffset, false
	rest := string(line)
	for rest != "" {
		var w string
		w, rest = cutWord(rest)
		from := len(s.numbers)
		s.word(w)
		if len(s.numbers) > from {
			rest = s.unitBehind(rest, from)
		}
	}
	s.place()
	if s.over {
		s.form = fmt.Appendf(s.form, "~%016x", s.sum)
	}
}

// word reads a word piece by piece.
func (s *lineScanner) word(w string) {
	list := false
	for w != "" {
		w = trimWord(w)
		switch {
		case w == "":
		case scanNumber(w[:min(len(w), maxChecked)]) > 0:
			w, list = s.numeric(w, list)
		case len(w) <= len("-infinity") && notFinite(w) != "":
			s.add(number{kind: numberVoid})
			w = ""
		default:
			w = s.literal(w)
		}
	}
}

// numeric reads a piece that begins like a number and returns what is left of
// the word. list says that a comma was found to separate numbers before.
func (s *lineScanner) numeric(w string, list bool) (rest string, inList bool) {
	n := scanNumber(w)
	if n == len(w) {
		s.decimal(w, "")
		return "", list
	}
	if class := classOf(w, w[n:]); class != "" {
		s.put(class)
		return "", list
	}
	if g := groupedAt(w, n, list); g > 0 {
		u := unitLen(w[g:])
		s.add(number{kind: numberGrouped, unit: s.unit(w[g : g+u]).base, text: w[:g]})
		return w[g+u:], list
	}
	if v, length := durationAt(w, n); length > 0 {
		s.add(number{value: v, unit: "s"})
		return w[length:], list
	}
	u := unitLen(w[n:])
	unit, after := w[n:n+u], w[n+u:]
	if !s.plausible(unit) || !separates(after) {
		s.put(w)
		return "", list
	}
	s.decimal(w[:n], unit)
	return strings.TrimPrefix(after, "/"), list || strings.HasPrefix(after, ",")
}

// decimal adds the number of a text that scanNumber found.
func (s *lineScanner) decimal(text, unit string) {
	v, err := parseDecimal(text)
	if err != nil { // 12e4567 is an id and no number
		s.put("<id>")
		return
	}
	n := number{value: v}
	if unit != "" && !s.convert(&n, unit) {
		s.put("<id>")
		return
	}
	s.add(n)
}

// convert gives a number its unit; false: a float64 cannot hold the result.
func (s *lineScanner) convert(n *number, unit string) bool {
	u := s.unit(unit)
	v := u.convert(n.value)
	if math.IsInf(v, 0) || v == 0 && n.value != 0 {
		return false
	}
	n.value, n.unit = v, u.base
	return true
}

// literal reads a piece that begins like a word: the whole, or up to the "="
// or ":" that a number may follow.
func (s *lineScanner) literal(w string) (rest string) {
	if class := classOf(w, ""); class != "" {
		s.put(class)
		return ""
	}
	if i := strings.IndexAny(w, "=:,"); i >= 0 {
		s.put(w[:i])
		return w[i+1:]
	}
	s.put(w)
	return ""
}

// add adds a number; its place in the form waits for the unit behind it.
func (s *lineScanner) add(n number) {
	if len(s.numbers) >= maxFound {
		s.beyond++
		s.put("#")
		return
	}
	s.numbers = append(s.numbers, n)
}

// unitBehind takes the next word as the unit of the numbers from index from
// on, if they have none and it is one: "12.5 ms", "0.1/0.2/0.3 ms".
func (s *lineScanner) unitBehind(rest string, from int) string {
	w, behind := cutWord(rest)
	w = strings.TrimRight(w, ".,;:)]")
	if len(w) > maxUnit || !s.unitWord(w) {
		return rest
	}
	for i := from; i < len(s.numbers); i++ {
		if n := &s.numbers[i]; n.unit != "" || !s.convert(n, w) {
			return rest
		}
	}
	return behind
}

// put adds a word to the form, behind the numbers before it.
func (s *lineScanner) put(word string) {
	s.place()
	s.append(word)
}

// place puts the numbers that have no place yet into the form.
func (s *lineScanner) place() {
	for ; s.placed < len(s.numbers); s.placed++ {
		if u := s.numbers[s.placed].unit; u != "" {
			s.append("#" + u)
		} else {
			s.append("#")
		}
	}
}

// append adds a piece to the form and its fingerprint.
func (s *lineScanner) append(piece string) {
	if len(s.form) > 0 || s.over {
		s.sum = (s.sum ^ ' ') * fnvPrime
	}
	for i := 0; i < len(piece); i++ {
		s.sum = (s.sum ^ uint64(piece[i])) * fnvPrime
	}
	if s.over {
		return
	}
	if len(s.form) > 0 {
		s.form = append(s.form, ' ')
	}
	if room := maxTemplate - len(s.form); len(piece) > room {
		s.over = true
		piece = piece[:max(room, 0)]
	}
	s.form = append(s.form, piece...)
}

// cutWord cuts the first word off a line. Words end at white space, quotes,
// braces, bars and semicolons, and at a comma that is not between digits.
func cutWord(line string) (word, rest string) {
	start := 0
	for start < len(line) {
		n := wordBreak(line, start)
		if n == 0 {
			break
		}
		start += n
	}
	for i := start; i < len(line); i++ {
		if n := wordBreak(line, i); n > 0 {
			return line[start:i], line[i+n:]
		}
	}
	return line[start:], ""
}

// wordBreak is the length of the word separator at i, 0 for none.
func wordBreak(line string, i int) int {
	switch c := line[i]; c {
	case ' ', '\t', '\v', '\f', '\r', 0, '"', '{', '}', '|', ';':
		return 1
	case ',':
		if !betweenDigits(line, i, 1) {
			return 1
		}
	case 0xc2, 0xe2:
		for _, blank := range []string{"\u00a0", "\u2009", "\u202f"} {
			if strings.HasPrefix(line[i:], blank) && !betweenDigits(line, i, len(blank)) {
				return len(blank)
			}
		}
		if strings.HasPrefix(line[i:], "\u2502") { // box drawing of tables
			return len("\u2502")
		}
	}
	return 0
}

// betweenDigits is true when digits stand on both sides of line[i:i+n].
func betweenDigits(line string, i, n int) bool {
	return i > 0 && line[i-1]-'0' <= 9 && i+n < len(line) && line[i+n]-'0' <= 9
}

// trimWord takes the punctuation off a word. "<5" and ">5" are kept: a bound
// is not the number; and so is the bracket of "result[3]".
func trimWord(w string) string {
	for w != "" {
		r, n := utf8.DecodeRuneInString(w)
		if !strings.ContainsRune("([<'`=:~\u2248\u00b1,;#$\u20ac\u00a3*&!", r) || r == '<' && digits(w[1:]) > 0 {
			break
		}
		w = w[n:]
	}
	for w != "" {
		last := w[len(w)-1]
		closes := last == ')' && !opens(w, '(') || last == ']' && !opens(w, '[')
		if !closes && strings.IndexByte(">',;:.!?*`", last) < 0 {
			break
		}
		w = w[:len(w)-1]
	}
	return w
}

// opens is true when a bracket opens in a word that is short enough to look.
func opens(w string, bracket byte) bool {
	return len(w) <= maxChecked && strings.IndexByte(w, bracket) >= 0
}

// separates is true of text that may follow a number and its unit inside a
// word.
func separates(after string) bool {
	if after == "" || strings.HasPrefix(after, "\u00b1") || strings.IndexByte(",=:()[]", after[0]) >= 0 {
		return true
	}
	return after[0] == '/' && scanNumber(after[1:min(len(after), maxChecked)]) > 0
}

// unitLen is the length of the unit that s begins with: letters and the signs
// of units, and "/" only before a letter.
func unitLen(s string) int {
	n := 0
	for n < len(s) && n < maxUnit {
		r, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case r == '/' && n+1 < len(s) && (s[n+1] >= 'a' && s[n+1] <= 'z' || s[n+1] >= 'A' && s[n+1] <= 'Z'):
		case r == '/' || !unitLike(s[n:n+size]):
			return n
		}
		n += size
	}
	return n
}

// plausible is false for what makes an ordinal or a hexadecimal id of the
// number before it.
func (s *lineScanner) plausible(unit string) bool {
	if unit == "" || s.unit(unit).known {
		return true
	}
	switch strings.ToLower(unit) {
	case "st", "nd", "rd", "th":
		return false
	}
	return len(unit) <= 16 && strings.Trim(unit, "abcdefABCDEF") != ""
}

// unitWord is true of a word that is the unit of the number before it. The
// units that are words of another meaning too ("0.5 min 3.2 max") must be
// glued on.
func (s *lineScanner) unitWord(w string) bool {
	switch w {
	case "", "min", "A", "V", "h", "k":
		return false
	case "%":
		return true
	}
	return unitLike(w) && s.unit(w).known
}

// The shapes of words that hold digits and are no numbers.
var (
	dateWord    = lazy.Regexp(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T_].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2})$`)
	timeWord    = lazy.Regexp(`^\d{1,3}:\d{2}(:\d{2})?([.,]\d+)?(Z|[a-zA-Z]*|[-+]\d{2}:?\d{2})$`)
	addressWord = lazy.Regexp(`^(\d{1,3}(\.\d{1,3}){3}([:/]\d+)?|[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,}(/\d+)?)$`)
	versionWord = lazy.Regexp(`^\d+(\.\d+){2,}`)
	idWord      = lazy.Regexp(`^(0[xX][0-9a-fA-F]+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{8,})$`)
)

// classOf names the kind of a word that holds no number: "<date>", "<time>",
// "<ip>", "<id>", "<path>"; a version stays as it is. rest is what follows the
// number that the word begins with, "" when it begins with none. "" is no such
// kind.
func classOf(w, rest string) string {
	if rest == "" && (strings.HasPrefix(w, "/") || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../") || strings.HasPrefix(w, "~/") ||
		strings.Contains(w[:min(len(w), 16)], "://")) {
		return "<path>"
	}
	if len(w) > maxChecked {
		return ""
	}
	if rest == "" && strings.Count(w, ":") > 1 && addressWord().MatchString(w) {
		return "<ip>"
	}
	if rest == "" || strings.IndexByte(":-./", rest[0]) < 0 {
		if idWord().MatchString(w) && strings.ContainsAny(w, "0123456789") {
			return "<id>"
		}
		return ""
	}
	switch {
	case dateWord().MatchString(w):
		return "<date>"
	case timeWord().MatchString(w):
		return "<time>"
	case addressWord().MatchString(w):
		return "<ip>"
	case versionWord().MatchString(w):
		return w
	case idWord().MatchString(w):
		return "<id>"
	}
	return ""
}

// groupedWord matches a number with a thousands separator or a decimal comma.
var groupedWord = lazy.Regexp(`^[-+]?(\d{1,3}(,\d{3})+(\.\d+)?|\d{1,3}(\.\d{3})+,\d+|\d{1,3}(['_\x{2019}\x{a0}\x{2009}\x{202f}]\d{3})+([.,]\d+)?|\d+,\d+)`)

// groupedAt is the length of the grouped number that w begins with; 0 for
// none. n is the length of its plain start. Several commas that do not make
// groups of three separate a list, and so do all that follow in the word.
func groupedAt(w string, n int, list bool) int {
	next, _ := utf8.DecodeRuneInString(w[n:])
	if list || !strings.ContainsRune(",'_.\u2019\u00a0\u2009\u202f", next) {
		return 0
	}
	part := w[:min(len(w), maxChecked)]
	g := len(groupedWord().FindString(part))
	if g == 0 || g == maxChecked {
		return 0
	}
	if next := w[g:]; next != "" && (next[0]-'0' <= 9 || strings.IndexByte(",.'_", next[0]) >= 0 && digits(next[1:]) > 0) {
		return 0
	}
	return g
}

// durationAt reads a compound duration such as "0m1.234s" at the start of w;
// n is the length of its first number. length is 0 for none.
func durationAt(w string, n int) (seconds float64, length int) {
	if w[n] != 'h' && w[n] != 'm' {
		return 0, 0
	}
	part := w[:min(len(w), maxChecked)]
	if i := strings.IndexAny(part, ",=()[]"); i >= 0 {
		part = part[:i]
	}
	v, ok := parseDuration(part)
	if !ok || math.IsInf(v, 0) {
		return 0, 0
	}
	return v, len(part)
}

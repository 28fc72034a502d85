package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// failAt records a fault at a place of the text.
func (l *loader) failAt(where span, f Fault) {
	l.faults = append(l.faults, *l.src.fault(where.at, f))
}

// fail records that a value breaks a rule.
func (l *loader) fail(n *node, rule, hint string) {
	where := n.val
	if where.end == 0 {
		where = n.name
	}
	l.failAt(where, Fault{Key: n.path, Rule: rule, Got: l.src.written(where), Hint: hint})
}

// unknown records a key that the table does not have.
func (l *loader) unknown(n *node, known []string) {
	hint := didYouMean(n.key, known)
	if hint == "" && len(known) <= 16 {
		hint = "known here: " + strings.Join(known, ", ")
	}
	l.failAt(n.name, Fault{Key: n.path, Rule: "is no key of this table", Hint: hint})
}

// unavailable records a key that a later version will have.
func (l *loader) unavailable(n *node) {
	where := n.name
	if where.end == 0 {
		where = n.val
	}
	l.failAt(where, Fault{Key: n.path, Rule: "is not available in this version", Unavailable: true})
}

// one says of a list that it stands where nothing varies.
func (l *loader) one(n *node, rule string) {
	hint := ""
	if n.kind == arrayNode {
		hint = "it cannot vary: factors are keys of modes, of kernels and of env"
	}
	l.fail(n, rule, hint)
}

func (l *loader) text(n *node) (string, bool) {
	s, ok := n.value.(string)
	if !ok {
		l.one(n, "must be a string")
		return "", false
	}
	if strings.ContainsRune(s, 0) {
		l.fail(n, "must have no NUL character", "")
		return "", false
	}
	return s, true
}

func (l *loader) integer(n *node, least, most int64) (int64, bool) {
	v, ok := n.value.(int64)
	if !ok || v < least || v > most {
		l.one(n, fmt.Sprintf("must be a whole number from %d to %d", least, most))
		return 0, false
	}
	return v, true
}

func (l *loader) boolean(n *node) bool {
	v, ok := n.value.(bool)
	if !ok {
		l.one(n, "must be true or false")
	}
	return v
}

func (l *loader) word(n *node, words []string) (string, bool) {
	v, ok := n.value.(string)
	if !ok || !slices.Contains(words, v) {
		rule := "must be " + orList(words)
		if hint := didYouMean(v, words); hint != "" {
			l.fail(n, rule, hint)
		} else {
			l.one(n, rule)
		}
		return "", false
	}
	return v, true
}

func (l *loader) duration(n *node, least, most time.Duration) (time.Duration, bool) {
	text, _ := n.value.(string)
	d, ok := durationWithin(text, least, most)
	if !ok {
		l.one(n, durationRule(least, most))
	}
	return d, ok
}

func durationRule(least, most time.Duration) string {
	return fmt.Sprintf(`must be a duration from %s to %s, as "500ms" or "2m"`, shortDuration(least), shortDuration(most))
}

// shortDuration writes "24h" where Duration.String has "24h0m0s".
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func durationWithin(text string, least, most time.Duration) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= least && d <= most
}

// texts reads an array of strings.
func (l *loader) texts(n *node, rule string) ([]string, bool) {
	if n.kind != arrayNode {
		l.fail(n, rule, "")
		return nil, false
	}
	out, ok := make([]string, 0, len(n.items)), true
	for _, e := range n.items {
		s, isText := e.value.(string)
		switch {
		case !isText:
			l.fail(e, "must be a string", "an element cannot vary: put {factor} in it")
			ok = false
		case strings.ContainsRune(s, 0):
			l.fail(e, "must have no NUL character", "")
			ok = false
		}
		out = append(out, s)
	}
	return out, ok
}

// types is a set of TOML types that a level may have.
type types int

const (
	aString types = 1 << iota
	anInteger
	aBoolean
)

// levelText is a scalar as a level's text, and its type; 0 for what no level
// can be.
func levelText(n *node) (string, types) {
	switch v := n.value.(type) {
	case string:
		return v, aString
	case int64:
		return strconv.FormatInt(v, 10), anInteger
	case bool:
		return strconv.FormatBool(v), aBoolean
	}
	return "", 0
}

// levels reads a scalar, or a list of them, which makes the key a factor.
// fits says whether the text is allowed. Levels that are not are recorded as
// faults and kept, so that the factor is still known by its name.
func (l *loader) levels(n *node, takes types, rule string, words []string, fits func(text string) bool) []string {
	items := []*node{n}
	switch {
	case n.kind == arrayNode && len(n.items) == 0:
		l.fail(n, "a list of levels must not be empty", "")
		return nil
	case n.kind == arrayNode:
		items = n.items
	}
	var out []string
	for _, e := range items {
		text, is := levelText(e)
		switch {
		case is&takes == 0 || strings.ContainsRune(text, 0) || !fits(text):
			l.fail(e, rule, didYouMean(text, words))
		case slices.Contains(out, text):
			l.fail(e, "a level may stand in a list once", "")
		}
		out = append(out, text)
	}
	return out
}

package cpulist

import (
	"fmt"
	"strconv"
	"strings"
)

// String is the set as the kernel prints a list ("%*pbl"): "0-3,8"; "" for the
// empty set.
func (s Set) String() string { return string(s.appendList(nil)) }

func (s Set) appendList(b []byte) []byte {
	first, last := -1, -1
	flush := func() {
		if first < 0 {
			return
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(first), 10)
		if last > first {
			b = append(b, '-')
			b = strconv.AppendInt(b, int64(last), 10)
		}
	}
	for cpu := range s.All() {
		if first < 0 || cpu != last+1 {
			flush()
			first = cpu
		}
		last = cpu
	}
	flush()
	return b
}

// Mask is the set as the kernel prints a mask ("%*pb"): hexadecimal, in groups
// of 32 bits, the highest first. The kernel pads to the number of CPUs it is
// built for, which only changes the leading zeros; this is the shortest text,
// "0" for the empty set.
func (s Set) Mask() string {
	var b strings.Builder
	for i := 2*len(s.words) - 1; i >= 0; i-- {
		group := uint32(s.words[i/2] >> (32 * (i % 2)))
		switch {
		case b.Len() > 0:
			fmt.Fprintf(&b, ",%08x", group)
		case group != 0:
			fmt.Fprintf(&b, "%x", group)
		}
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}

// MarshalText makes the set its list text in JSON.
func (s Set) MarshalText() ([]byte, error) { return s.appendList([]byte{}), nil }

// UnmarshalText is [Parse].
func (s *Set) UnmarshalText(text []byte) error {
	set, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = set
	return nil
}

// Parse reads a CPU list: numbers and ranges ("0-3,8"), of a range the first
// used of every group CPUs ("0-6:1/2"), separated by commas or blanks, in any
// order. These are the kernel's rules; in addition "0-10:2", taskset's "every
// second", is read, and so are the two texts that a kernel prints for a mask
// that does not exist, "" and "(null)": both are the empty set. A file's final
// newline, and a NUL after it as memory dumps have, end the text.
//
// "all" and "N" (the last CPU) need the number of CPUs: see [ParseWithin].
func Parse(text string) (Set, error) {
	p := listParser{text: text, rest: text, last: -1}
	return p.list()
}

// ParseWithin reads a CPU list on a machine whose CPUs are numbered 0 to n-1:
// "all" and "N" have their kernel meaning, "!0-3" is numactl's "all but", and
// a CPU of n or above is an error, as the kernel's ERANGE.
func ParseWithin(text string, n int) (Set, error) {
	if n < 1 || n-1 > MaxCPU {
		return Set{}, fmt.Errorf("cannot read CPU list %q: a machine has 1 to %d CPUs, not %d", text, MaxCPU+1, n)
	}
	trimmed := strings.TrimLeft(text, " \t")
	rest, but := strings.CutPrefix(trimmed, "!")
	if !but {
		rest = text
	}
	p := listParser{text: text, rest: rest, last: n - 1}
	set, err := p.list()
	if err != nil || !but {
		return set, err
	}
	b := builder{}
	for cpu := range n {
		b.add(cpu)
	}
	return b.set().Minus(set), nil
}

// listParser walks rest, the unread end of text.
type listParser struct {
	text, rest string
	last       int // the machine's last CPU; -1: not known
	b          builder
}

func (p *listParser) fail(format string, args ...any) error {
	return fmt.Errorf("cannot read CPU list %q: %s", p.text, fmt.Sprintf(format, args...))
}

func (p *listParser) list() (Set, error) {
	if err := p.cutEnd(); err != nil {
		return Set{}, err
	}
	if strings.Trim(p.rest, " \t") == "(null)" {
		return Set{}, nil
	}
	for {
		p.rest = strings.TrimLeft(p.rest, ", \t\r\v\f")
		if p.rest == "" {
			return p.b.set(), nil
		}
		if err := p.region(); err != nil {
			return Set{}, err
		}
	}
}

// cutEnd drops the line end. Unlike the kernel, which stops reading there, a
// second line is an error: it would be dropped in silence.
func (p *listParser) cutEnd() error {
	end := strings.IndexAny(p.rest, "\n\x00")
	if end < 0 {
		return nil
	}
	if strings.Trim(p.rest[end:], "\n\x00 \t\r") != "" {
		return p.fail("it has more than one line")
	}
	p.rest = p.rest[:end]
	return nil
}

// region reads one of "A", "A-B", "A-B:USED/GROUP", "A-B:STEP", "all".
func (p *listParser) region() error {
	start := p.rest
	first, last, ranged, err := p.bounds()
	if err != nil {
		return err
	}
	used, group := 1, 1
	if after, ok := strings.CutPrefix(p.rest, ":"); ok {
		if !ranged {
			return p.fail("%q: only a range can have a pattern", word(start))
		}
		p.rest = after
		if used, group, err = p.pattern(start); err != nil {
			return err
		}
	}
	if p.rest != "" && !strings.ContainsRune(", \t\r\v\f", rune(p.rest[0])) {
		return p.fail("%q is neither a CPU nor a range", word(start))
	}
	if first > last {
		return p.fail("range %q starts after its end", word(start))
	}
	if p.last >= 0 && last > p.last {
		return p.fail("CPU %d is out of range: the last CPU is %d", last, p.last)
	}
	for cpu := first; cpu <= last; cpu++ {
		if (cpu-first)%group < used {
			p.b.add(cpu)
		}
	}
	return nil
}

func (p *listParser) bounds() (first, last int, ranged bool, err error) {
	// The kernel takes "all" in any case, and "N" only as a capital.
	if len(p.rest) >= 3 && strings.EqualFold(p.rest[:3], "all") {
		if p.last < 0 {
			return 0, 0, false, p.fail("%q needs the number of CPUs; name the CPUs instead", word(p.rest))
		}
		p.rest = p.rest[3:]
		return 0, p.last, true, nil
	}
	start := p.rest
	if first, err = p.number(start); err != nil {
		return 0, 0, false, err
	}
	after, ranged := strings.CutPrefix(p.rest, "-")
	if !ranged {
		return first, first, false, nil
	}
	p.rest = after
	last, err = p.number(start)
	return first, last, true, err
}

// pattern reads what follows the colon: used and group.
func (p *listParser) pattern(start string) (used, group int, err error) {
	if used, err = p.digits(start); err != nil {
		return 0, 0, err
	}
	after, ok := strings.CutPrefix(p.rest, "/")
	if !ok { // taskset's step is a group of which one is used
		if used < 1 {
			return 0, 0, p.fail("the step of %q must be 1 or more", word(start))
		}
		return 1, used, nil
	}
	p.rest = after
	if group, err = p.digits(start); err != nil {
		return 0, 0, err
	}
	if group < 1 || used > group {
		return 0, 0, p.fail("the pattern of %q must be USED/GROUP with GROUP at least 1 and USED at most GROUP", word(start))
	}
	return used, group, nil
}

// number reads a CPU number or "N".
func (p *listParser) number(start string) (int, error) {
	if !strings.HasPrefix(p.rest, "N") {
		return p.digits(start)
	}
	if p.last < 0 {
		return 0, p.fail("%q needs the number of CPUs; name the CPUs instead", word(start))
	}
	p.rest = p.rest[1:]
	return p.last, nil
}

func (p *listParser) digits(start string) (int, error) {
	n, i := 0, 0
	for ; i < len(p.rest) && p.rest[i] >= '0' && p.rest[i] <= '9'; i++ {
		n = 10*n + int(p.rest[i]-'0')
		if n > MaxCPU {
			return 0, p.fail("%q is above %d, the highest CPU number", word(start), MaxCPU)
		}
	}
	if i == 0 {
		return 0, p.fail("%q is neither a CPU nor a range", word(start))
	}
	p.rest = p.rest[i:]
	return n, nil
}

// word is the region at the start of text, for messages.
func word(text string) string {
	if end := strings.IndexAny(text, ", \t\r\v\f"); end >= 0 {
		return text[:end]
	}
	return text
}

// ParseMask reads a CPU mask: hexadecimal groups of 32 bits separated by
// commas, the highest first, as in /proc/irq/N/smp_affinity; or one number of
// any length, with or without "0x", as taskset prints it.
func ParseMask(text string) (Set, error) {
	body := strings.TrimRight(strings.TrimSpace(strings.TrimRight(text, "\x00")), "\n")
	fail := func(format string, args ...any) (Set, error) {
		return Set{}, fmt.Errorf("cannot read CPU mask %q: %s", text, fmt.Sprintf(format, args...))
	}
	if after, ok := strings.CutPrefix(strings.ToLower(body), "0x"); ok {
		body = after
	}
	groups := strings.Split(body, ",")
	b := builder{}
	for i, group := range groups {
		if group == "" {
			return fail("it has an empty group")
		}
		if len(groups) > 1 && len(group) > 8 {
			return fail("group %q has more than 32 bits", group)
		}
		above := 32 * (len(groups) - 1 - i)
		for j := range len(group) {
			digit, err := strconv.ParseUint(group[j:j+1], 16, 8)
			if err != nil {
				return fail("%q is not hexadecimal", group)
			}
			for bit := range 4 {
				if digit>>bit&1 == 0 {
					continue
				}
				cpu := above + 4*(len(group)-1-j) + bit
				if cpu > MaxCPU {
					return fail("CPU %d is above %d, the highest CPU number", cpu, MaxCPU)
				}
				b.add(cpu)
			}
		}
	}
	return b.set(), nil
}

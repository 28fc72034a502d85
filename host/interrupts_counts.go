package host

import (
	"encoding/binary"
	"errors"
	"math"
)

var errCountTooLarge = errors.New("a count is above 18446744073709551615")

// The kernel pads a count to ten characters and one blank
// (seq_put_decimal_ull_width), so that nearly every cell is the same eleven
// bytes wide. parseCounts reads such a cell in two eight-byte words; a text of
// 512 CPUs and 1000 rows is 5.6 MB, and byte by byte a poll of it would take
// 20 ms of a CPU. A cell of another form falls back to bytes.
const cell = 11

const (
	eachByte  = 0x0101010101010101
	blanks    = 0x20 * eachByte
	digitBits = 0x10 * eachByte // set in '0' to '9', clear in ' '
	lowNibble = 0x0f * eachByte
)

// Most cells of a large machine are 0, and stand together: a device's interrupt
// goes to one CPU. After a 0, so many are looked at at once.
const (
	zeroRun = 8
	zeros   = "          0          0          0          0          0          0          0          0"
)

// zeroCells reports whether the cells from text[pos:] are zeroRun zeros, the
// last one ended.
func zeroCells(text []byte, pos int) bool {
	end := pos + len(zeros)
	return end < len(text) && string(text[pos:end]) == zeros && !continues(text[end])
}

// parseCounts reads blank-separated counts from text[pos:] into dst until dst
// is full or something else than a count follows. It returns how many it read
// and the offset after the last one.
func parseCounts(text []byte, pos int, dst []uint64) (n, end int, err error) {
	for n < len(dst) {
		if v, ok := fastCell(text, pos); ok {
			dst[n] = v
			n++
			pos += cell
			for v == 0 && n+zeroRun <= len(dst) && zeroCells(text, pos) {
				clear(dst[n : n+zeroRun])
				n += zeroRun
				pos += len(zeros)
			}
			continue
		}
		v, next, ok, err := slowCount(text, pos)
		if err != nil || !ok {
			return n, pos, err
		}
		dst[n] = v
		n++
		pos = next
	}
	return n, pos, nil
}

// fastCell reads the cell text[pos:pos+11] if it is blanks and then one to
// eight digits, and the count ends with it.
func fastCell(text []byte, pos int) (uint64, bool) {
	if pos+cell+1 > len(text) {
		return 0, false
	}
	c := text[pos : pos+cell+1 : pos+cell+1]
	head := binary.LittleEndian.Uint64(c)
	word := binary.LittleEndian.Uint64(c[3:])
	if head == blanks && word>>48&0xff == ' ' && word>>40&0xff == ' ' {
		// Most cells of a large machine: one digit.
		d := word>>56 - '0'
		return d, d <= 9 && !continues(c[cell])
	}
	digits := word & digitBits
	mask := digits >> 4 * 0x0f // 0x0f in every byte that is a digit
	value := word & lowNibble
	switch {
	case head&0xffffff != blanks&0xffffff, // nine digits or more, or no blank
		word&^uint64(lowNibble) != blanks|digits, // neither blank nor 0x3_
		value&^mask != 0,                         // 0x21 to 0x2f
		(value+6*eachByte)&digitBits != 0,        // 0x3a to 0x3f
		digits<<8&^digits != 0,                   // a blank after a digit
		digits>>60 == 0,                          // no digit at the end
		continues(c[cell]):
		return 0, false
	}
	// Eight digits at once, the first in the low byte: pairs, fours, eights.
	value = value * (10<<8 + 1) >> 8
	value = value & 0x00ff00ff00ff00ff * (100<<16 + 1) >> 16
	value = value & 0x0000ffff0000ffff * (10000<<32 + 1) >> 32
	return value, true
}

// continues reports whether a byte after a count makes the text before it
// something else than a count.
func continues(c byte) bool { return c != ' ' && c != '\n' && c != '\t' && c != '\r' }

// slowCount reads one count of any width. ok is false when what follows is no
// count: the line's end, or a word such as "2-edge".
func slowCount(text []byte, pos int) (v uint64, next int, ok bool, err error) {
	for pos < len(text) && (text[pos] == ' ' || text[pos] == '\t') {
		pos++
	}
	start := pos
	for ; pos < len(text) && text[pos] >= '0' && text[pos] <= '9'; pos++ {
		d := uint64(text[pos] - '0')
		if v > (math.MaxUint64-d)/10 {
			return 0, 0, false, errCountTooLarge
		}
		v = 10*v + d
	}
	if pos == start || pos < len(text) && continues(text[pos]) && text[pos] != 0 {
		return 0, 0, false, nil
	}
	return v, pos, true, nil
}

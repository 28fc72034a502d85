package harness

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// span is a range of bytes of a text.
type span struct{ at, end int }

// source is an experiment's text with the overrides spliced in. It remembers
// which bytes the file had, so that a fault names the line that a person sees
// in an editor, and which came from elsewhere.
type source struct {
	file   string
	orig   []byte
	text   []byte
	pieces []piece // in the order of text, without gaps
}

// piece is a run of bytes of one origin.
type piece struct {
	n      int
	orig   int    // offset in source.orig; -1 for a spliced piece
	origin string // of a spliced piece
}

func newSource(file string, text []byte) *source {
	return &source{file: file, orig: text, text: text, pieces: []piece{{n: len(text)}}}
}

// splice puts value in the place of a range of the text.
func (s *source) splice(where span, value, origin string) {
	var pieces []piece
	at := 0
	placed := false
	place := func() {
		if !placed {
			pieces = append(pieces, piece{n: len(value), orig: -1, origin: origin})
			placed = true
		}
	}
	for _, p := range s.pieces {
		if before := min(p.n, where.at-at); before > 0 {
			pieces = append(pieces, p.part(0, before))
		}
		if at+p.n >= where.at {
			place()
		}
		if skip := max(0, where.end-at); skip < p.n && at+p.n > where.at {
			pieces = append(pieces, p.part(max(skip, where.at-at), p.n))
		}
		at += p.n
	}
	s.pieces = pieces
	s.text = slices.Concat(s.text[:where.at], []byte(value), s.text[where.end:])
}

// part is the piece from byte a to byte b of it.
func (p piece) part(a, b int) piece {
	q := piece{n: b - a, orig: -1, origin: p.origin}
	if p.orig >= 0 {
		q.orig = p.orig + a
	}
	return q
}

// position turns an offset of the text into a line and a column of the file,
// or into the origin of what was spliced in there.
func (s *source) position(offset int) (line, col int, origin string) {
	at := 0
	for _, p := range s.pieces {
		if offset < at+p.n {
			if p.orig < 0 {
				return 0, 0, p.origin
			}
			line, col = lineCol(s.orig, p.orig+offset-at)
			return line, col, ""
		}
		at += p.n
	}
	line, col = lineCol(s.orig, len(s.orig))
	return line, col, ""
}

// lineCol counts lines and characters, as editors do, both from 1.
func lineCol(text []byte, offset int) (line, col int) {
	offset = min(max(offset, 0), len(text))
	before := text[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[start:])
}

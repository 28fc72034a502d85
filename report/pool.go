package report

import (
	"math"
	"strings"
	"unicode"
)

// pool holds iterations of many runs: all of them, or a thinned share of one
// in 2^shift.
type pool struct {
	values []float64
	seen   int // finite iterations offered
	shift  uint
}

// add takes in the iterations of one run. Which ones a thinned pool keeps
// follows from their number alone, so the same records give the same
// table; it is hashed, because a fixed stride would be in step with whatever is
// periodic in the noise.
func (p *pool) add(xs []float64) {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		if p.shift == 0 || mix(uint64(p.seen))>>(64-p.shift) == 0 {
			p.values = append(p.values, x)
		}
		p.seen++
	}
}

// halve drops about every other value.
func (p *pool) halve() {
	p.shift++
	kept := p.values[:0]
	for i, x := range p.values {
		// The shift is mixed in, or each halving would undo the chance of the last.
		if mix(uint64(i)|uint64(p.shift)<<56)&1 == 0 {
			kept = append(kept, x)
		}
	}
	p.values = append(make([]float64, 0, len(kept)+len(kept)/8), kept...)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// tally counts distinct texts, in order of appearance, up to maxTexts of them.
type tally struct {
	texts  []string
	counts []int
	other  int // occurrences of texts beyond maxTexts
}

// add returns the index of the text in texts; -1: it is one of the others.
func (y *tally) add(s string) int {
	for i, t := range y.texts {
		if t == s {
			y.counts[i]++
			return i
		}
	}
	if len(y.texts) == maxTexts {
		y.other++
		return -1
	}
	y.texts, y.counts = append(y.texts, s), append(y.counts, 1)
	return len(y.texts) - 1
}

// names is an ordered set.
type names struct {
	list []string
	set  map[string]bool
}

func (n *names) add(s string) {
	if n.set[s] {
		return
	}
	if n.set == nil {
		n.set = map[string]bool{}
	}
	n.set[s] = true
	n.list = append(n.list, s)
}

// oneLine makes a text that came from outside fit for a line of a table: a
// child's output may hold line ends and terminal escapes.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

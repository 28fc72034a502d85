// Package cpulist is the word for a set of CPUs and for the two texts in which
// the kernel writes one: the list ("0-3,8") and the mask ("00000000,0000010f").
//
// Both texts are read as strictly as the kernel reads them
// (lib/bitmap-str.c), so that a list that goset accepts is a list that the
// kernel accepts; what a text cannot mean is an error that quotes it, never a
// shorter set. Sets are values of any size: they are built with [Of] or
// [Parse], combined with [Set.Union], [Set.Minus] and [Set.Intersect], and
// written back with [Set.String] or [Set.Mask].
package cpulist

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// MaxCPU is the highest CPU number a Set holds. The largest NR_CPUS of any
// kernel is 8192; the bound keeps a text such as "0-4000000000" from taking
// the memory that it names.
const MaxCPU = 65535

// Set is a set of CPU numbers. The zero Set is empty. Sets are values: no
// method changes its receiver.
type Set struct {
	words []uint64 // bit i of words[w] is CPU 64*w+i; no trailing zero word
}

// Of is the set of the given CPUs. Like an index out of range, a number
// outside 0 to [MaxCPU] is a mistake of the caller and panics; numbers that
// come from outside the program go through [Parse].
func Of(cpus ...int) Set {
	b := builder{}
	for _, cpu := range cpus {
		if cpu < 0 || cpu > MaxCPU {
			panic(fmt.Sprintf("cpulist.Of: CPU %d is outside 0 to %d", cpu, MaxCPU))
		}
		b.add(cpu)
	}
	return b.set()
}

// builder is a Set while it is made: the only form that changes.
type builder struct{ words []uint64 }

func (b *builder) add(cpu int) {
	for len(b.words) <= cpu/64 {
		b.words = append(b.words, 0)
	}
	b.words[cpu/64] |= 1 << (cpu % 64)
}

func (b *builder) set() Set { return normal(b.words) }

// normal drops trailing zero words, and makes every empty set the zero Set, so
// that equal sets are equal also to reflect.DeepEqual.
func normal(words []uint64) Set {
	n := len(words)
	for n > 0 && words[n-1] == 0 {
		n--
	}
	if n == 0 {
		return Set{}
	}
	return Set{words: words[:n:n]}
}

// Contains reports whether cpu is in the set.
func (s Set) Contains(cpu int) bool {
	return cpu >= 0 && cpu/64 < len(s.words) && s.words[cpu/64]>>(cpu%64)&1 != 0
}

// Empty reports whether the set holds no CPU.
func (s Set) Empty() bool { return len(s.words) == 0 }

// Len is the number of CPUs in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// First is the lowest CPU of the set, or -1 when the set is empty.
func (s Set) First() int {
	for cpu := range s.All() {
		return cpu
	}
	return -1
}

// Last is the highest CPU of the set, or -1 when the set is empty.
func (s Set) Last() int {
	if s.Empty() {
		return -1
	}
	n := len(s.words) - 1
	return 64*n + 63 - bits.LeadingZeros64(s.words[n])
}

// All yields the CPUs of the set in ascending order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s.words {
			for ; w != 0; w &= w - 1 {
				if !yield(64*i + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// CPUs is the set as ascending numbers; nil when the set is empty.
func (s Set) CPUs() []int {
	if s.Empty() {
		return nil
	}
	return slices.AppendSeq(make([]int, 0, s.Len()), s.All())
}

// Equal reports whether both sets hold the same CPUs.
func (s Set) Equal(o Set) bool { return slices.Equal(s.words, o.words) }

// SubsetOf reports whether every CPU of the set is in o.
func (s Set) SubsetOf(o Set) bool { return s.Minus(o).Empty() }

// Intersects reports whether the sets share a CPU.
func (s Set) Intersects(o Set) bool {
	for i := range min(len(s.words), len(o.words)) {
		if s.words[i]&o.words[i] != 0 {
			return true
		}
	}
	return false
}

// Union is the set of the CPUs that are in either set.
func (s Set) Union(o Set) Set {
	if len(s.words) < len(o.words) {
		s, o = o, s
	}
	words := slices.Clone(s.words)
	for i, w := range o.words {
		words[i] |= w
	}
	return normal(words)
}

// Intersect is the set of the CPUs that are in both sets.
func (s Set) Intersect(o Set) Set {
	words := slices.Clone(s.words[:min(len(s.words), len(o.words))])
	for i := range words {
		words[i] &= o.words[i]
	}
	return normal(words)
}

// Minus is the set of the CPUs that are in s and not in o.
func (s Set) Minus(o Set) Set {
	words := slices.Clone(s.words)
	for i := range min(len(words), len(o.words)) {
		words[i] &^= o.words[i]
	}
	return normal(words)
}

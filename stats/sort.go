package stats

import (
	"math"
	"slices"
)

// radixFrom is the length from which on sorting by digits is faster than by
// comparisons, of which half are mispredicted.
const radixFrom = 256

// sorted returns xs in ascending order, and leaves xs as it is.
func sorted(xs []float64) []float64 {
	s := slices.Clone(xs)
	sortFloats(s)
	return s
}

// sortFloats sorts xs, which holds no NaN, in ascending order; −0 comes before
// 0.
func sortFloats(xs []float64) {
	if len(xs) < radixFrom || slices.IsSorted(xs) {
		slices.Sort(xs)
		return
	}
	keys := make([]uint64, len(xs))
	for i, x := range xs {
		keys[i] = orderedBits(x)
	}
	keys, _ = radixSort(keys, nil)
	for i, k := range keys {
		xs[i] = fromOrderedBits(k)
	}
}

// Order returns the indices of xs, which holds no NaN, in the order of its
// values; those of equal values keep their order.
func Order(xs []float64) []int32 {
	order := make([]int32, len(xs))
	for i := range order {
		order[i] = int32(i)
	}
	keys := make([]uint64, len(xs))
	for i, x := range xs {
		keys[i] = orderedBits(x + 0) // −0 + 0 is 0: they are equal
	}
	if len(xs) < radixFrom {
		slices.SortStableFunc(order, func(a, b int32) int {
			switch {
			case keys[a] < keys[b]:
				return -1
			case keys[a] > keys[b]:
				return 1
			}
			return 0
		})
		return order
	}
	_, order = radixSort(keys, order)
	return order
}

// orderedBits maps numbers to integers of the same order: the bits of positive
// ones ascend with the value, those of negative ones descend.
func orderedBits(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

func fromOrderedBits(k uint64) float64 {
	if k>>63 != 0 {
		return math.Float64frombits(k &^ (1 << 63))
	}
	return math.Float64frombits(^k)
}

// radixSort sorts keys byte by byte from the lowest one, and along, which may be
// nil, as they are moved. It returns both, or the space that it used beside them.
// A byte that is the same in all keys, as of counts the lower ones are, takes no
// turn.
func radixSort(keys []uint64, along []int32) ([]uint64, []int32) {
	var counts [8][256]int32
	for _, k := range keys {
		for d := range counts {
			counts[d][byte(k>>(8*d))]++
		}
	}
	spare := make([]uint64, len(keys))
	var alongside []int32
	if along != nil {
		alongside = make([]int32, len(along))
	}
	for d := range counts {
		next, shift := &counts[d], 8*d
		if int(next[byte(keys[0]>>shift)]) == len(keys) {
			continue
		}
		at := int32(0) // where the keys with this digit begin
		for i, n := range next {
			next[i], at = at, at+n
		}
		if along != nil {
			for i, k := range keys {
				alongside[next[byte(k>>shift)]] = along[i]
				spare[next[byte(k>>shift)]] = k
				next[byte(k>>shift)]++
			}
		} else {
			for _, k := range keys {
				digit := byte(k >> shift)
				spare[next[digit]] = k
				next[digit]++
			}
		}
		keys, spare, along, alongside = spare, keys, alongside, along
	}
	return keys, along
}

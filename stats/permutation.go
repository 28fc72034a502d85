package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Resampling sets the Monte Carlo of tests and intervals that are too large to
// enumerate. The zero value is the default: seed 1, and as many draws as the
// procedure names.
type Resampling struct {
	Seed  uint64
	Draws int
}

// DefaultSeed is the seed of a zero Resampling.
const DefaultSeed = 1

func (r Resampling) draws(fallback int) int {
	if r.Draws > 0 {
		return r.Draws
	}
	return fallback
}

func (r Resampling) source() *rand.PCG {
	seed := r.Seed
	if seed == 0 {
		seed = DefaultSeed
	}
	return rand.NewPCG(seed, 0x9e3779b97f4a7c15)
}

func newRand(r Resampling) *rand.Rand { return rand.New(r.source()) }

// Permutation is the outcome of a permutation test.
type Permutation struct {
	P, Less, Greater Value
	// MinP is the smallest two-sided p that this design can reach.
	MinP  float64
	Exact bool
	// Count is the number of relabellings: all of them if Exact, else the
	// Monte Carlo draws; 0 when the p is of the normal approximation.
	Count int
}

const (
	// exactFlips is the largest number of blocks whose sign flips are
	// enumerated; 2^20 relabellings resolve any p that a table prints.
	exactFlips = 20
	flipDraws  = 99_999
	// normalFlips is the number of blocks above which the sum of random signs
	// is taken as normal. Drawing takes draws × blocks steps, minutes for a
	// million blocks, and the central limit theorem is then closer to the
	// exact p than the draws are.
	normalFlips = 2_000
	// exactLabels is the largest number of relabellings enumerated in a test
	// of two unpaired samples.
	exactLabels = 1e7
	labelDraws  = 9_999
)

// flipTest is the test of T = Σd under exchange of the two labels within each
// block, which flips the sign of d. Sums closer than tol count as equal: equal
// decimals differ in binary.
func flipTest(d []float64, tol float64, r Resampling) Permutation {
	switch {
	case len(d) <= exactFlips:
		return exactFlip(d, tol)
	case len(d) > normalFlips:
		return normalFlip(d)
	}
	return monteCarloFlip(d, tol, r)
}

// normalFlip is the sign-flip test of many blocks: under random signs Σ±d has
// mean 0 and variance Σd².
func normalFlip(d []float64) Permutation {
	obs, scale := 0.0, 0.0
	for _, v := range d {
		obs += v
		scale = math.Hypot(scale, v)
	}
	z := 0.0
	if scale > 0 {
		z = obs / scale
	}
	return Permutation{P: defined(normalTwoSided(z)), Less: defined(normalCDF(z)), Greater: defined(normalCDF(-z)), MinP: minFlipP(len(d))}
}

func exactFlip(d []float64, tol float64) Permutation {
	obs := 0.0
	for _, v := range d {
		obs += v
	}
	// Every sum is one of the first half plus one of the second: sorting both
	// replaces 2^n steps by about n·2^(n/2), and rounding does not pile up.
	h := len(d) / 2
	a, b := signSums(d[:h]), signSums(d[h:])
	all := int(1) << len(d)
	atMost := func(t float64) int { return countSums(a, b, t) }
	less := atMost(obs + tol)
	greater := all - atMost(nextBelow(obs-tol))
	far := math.Abs(obs) - tol
	p := 1.0
	if far > 0 {
		p = float64(all-atMost(nextBelow(far))+atMost(-far)) / float64(all)
	}
	return Permutation{P: defined(math.Min(p, 1)), Less: defined(float64(less) / float64(all)),
		Greater: defined(float64(greater) / float64(all)), MinP: minFlipP(len(d)), Exact: true, Count: all}
}

func nextBelow(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// minFlipP is 2/2ⁿ, and 1 for fewer than two blocks.
func minFlipP(n int) float64 { return math.Min(1, math.Ldexp(2, -n)) }

// signSums returns the sums of ±d over all signs, in ascending order, by
// merging the shifted copies instead of sorting.
func signSums(d []float64) []float64 {
	sums := []float64{0}
	for _, v := range d {
		v = math.Abs(v)
		next := make([]float64, 0, 2*len(sums))
		i := 0
		for _, s := range sums {
			for i < len(sums) && sums[i]-v <= s+v {
				next = append(next, sums[i]-v)
				i++
			}
			next = append(next, s+v)
		}
		sums = next // every s − v is at most the last s + v
	}
	return sums
}

// countSums counts the pairs of the ascending a and b with a sum of at most t.
func countSums(a, b []float64, t float64) int {
	count, j := 0, len(b)
	for _, v := range a {
		for j > 0 && v+b[j-1] > t {
			j--
		}
		count += j
	}
	return count
}

// monteCarloFlip draws signs eight blocks at a time from tables of the 256
// sums of each eight, and counts p = (1+b)/(1+B) (Phipson and Smyth 2010).
func monteCarloFlip(d []float64, tol float64, r Resampling) Permutation {
	tables, obs := flipTables(d)
	src, draws := r.source(), r.draws(flipDraws)
	far := math.Abs(obs) - tol
	var both, less, greater int
	for range draws {
		sum := 0.0
		bits, left := uint64(0), 0
		for i := range tables {
			if left == 0 {
				bits, left = src.Uint64(), 8
			}
			sum += tables[i][bits&0xff]
			bits >>= 8
			left--
		}
		if math.Abs(sum) >= far {
			both++
		}
		if sum <= obs+tol {
			less++
		}
		if sum >= obs-tol {
			greater++
		}
	}
	return monteCarlo(both, less, greater, draws, minFlipP(len(d)))
}

func flipTables(d []float64) (tables [][256]float64, obs float64) {
	for part := range slices.Chunk(d, 8) {
		var table [256]float64
		for mask := range table {
			for i, v := range part {
				if mask>>i&1 == 0 {
					v = -v
				}
				table[mask] += v
			}
		}
		tables = append(tables, table)
		obs += table[255]
	}
	return tables, obs
}

func monteCarlo(both, less, greater, draws int, minP float64) Permutation {
	p := func(hits int) Value { return defined(float64(1+hits) / float64(1+draws)) }
	return Permutation{P: p(both), Less: p(less), Greater: p(greater), Count: draws,
		MinP: math.Max(minP, 1/float64(1+draws))}
}

// labelTest is the permutation test of mean(x) − mean(y) over all labellings
// of the pooled values.
func labelTest(x, y []float64, tol float64, r Resampling) Permutation {
	if choose(len(x)+len(y), len(x)) <= exactLabels {
		return exactLabel(x, y, tol)
	}
	return monteCarloLabel(x, y, tol, r)
}

func choose(n, k int) float64 {
	lg := func(v int) float64 { g, _ := math.Lgamma(float64(v) + 1); return g }
	return math.Round(math.Exp(lg(n) - lg(k) - lg(n-k)))
}

// exactLabel counts labellings by their sum over x, from the subsets of both
// halves of the pooled values: the difference of means is linear in it.
func exactLabel(x, y []float64, tol float64) Permutation {
	pooled := slices.Concat(x, y)
	obs, total := sumOf(x), sumOf(pooled)
	center := total * float64(len(x)) / float64(len(pooled))
	h := len(pooled) / 2
	a, b := subsetSums(pooled[:h]), subsetSums(pooled[h:])
	count := func(t float64) int {
		c := 0
		for k, sums := range a {
			if rest := len(x) - k; rest >= 0 && rest < len(b) {
				c += countSums(sums, b[rest], t)
			}
		}
		return c
	}
	all := count(math.Inf(1))
	far := math.Abs(obs-center) - tol
	p := 1.0
	if far > 0 {
		p = float64(count(center-far)+all-count(nextBelow(center+far))) / float64(all)
	}
	return Permutation{P: defined(math.Min(p, 1)), Less: defined(float64(count(obs+tol)) / float64(all)),
		Greater: defined(float64(all-count(nextBelow(obs-tol))) / float64(all)),
		MinP:    minLabelP(len(x), len(y)), Exact: true, Count: all}
}

// minLabelP is two extreme labellings of all, or one where they cannot mirror.
func minLabelP(n, m int) float64 {
	extremes := 2.0
	if n != m {
		extremes = 1
	}
	return math.Min(1, extremes/choose(n+m, n))
}

// subsetSums returns, by subset size, the sums of all subsets in ascending order.
func subsetSums(xs []float64) [][]float64 {
	sums := make([][]float64, len(xs)+1)
	sums[0] = []float64{0}
	for i, x := range xs {
		for k := i + 1; k > 0; k-- {
			for _, s := range sums[k-1] {
				sums[k] = append(sums[k], s+x)
			}
		}
	}
	for _, s := range sums {
		slices.Sort(s)
	}
	return sums
}

func sumOf(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum
}

func monteCarloLabel(x, y []float64, tol float64, r Resampling) Permutation {
	pooled := slices.Concat(x, y)
	obs, total := sumOf(x), sumOf(pooled)
	center := total * float64(len(x)) / float64(len(pooled))
	// Drawing the smaller group is enough; its sum mirrors the other's.
	k, mirror := len(x), false
	if len(y) < k {
		k, mirror = len(y), true
	}
	rng, draws := newRand(r), r.draws(labelDraws)
	far := math.Abs(obs-center) - tol
	var both, less, greater int
	for range draws {
		sum := 0.0
		for i := range k {
			j := i + rng.IntN(len(pooled)-i)
			pooled[i], pooled[j] = pooled[j], pooled[i]
			sum += pooled[i]
		}
		if mirror {
			sum = total - sum
		}
		if math.Abs(sum-center) >= far {
			both++
		}
		if sum <= obs+tol {
			less++
		}
		if sum >= obs-tol {
			greater++
		}
	}
	return monteCarlo(both, less, greater, draws, minLabelP(len(x), len(y)))
}

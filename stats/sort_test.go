package stats

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// samplesToSort are samples of n values, of the kinds that there are: measured
// times, counts with ties, values of both signs and zeros, one value only, and
// extremes.
func samplesToSort(n int) map[string][]float64 {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	fill := func(value func(i int) float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = value(i)
		}
		return xs
	}
	extremes := []float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}
	return map[string][]float64{
		"times":       fill(func(int) float64 { return 0.0005 * (1 + 0.01*rng.NormFloat64()) }),
		"counts":      fill(func(int) float64 { return float64(rng.IntN(4)) }),
		"differences": fill(func(int) float64 { return rng.NormFloat64() }),
		"constant":    fill(func(int) float64 { return 3.25 }),
		"ascending":   fill(func(i int) float64 { return float64(i) }),
		"descending":  fill(func(i int) float64 { return -float64(i) }),
		"extremes":    fill(func(int) float64 { return extremes[rng.IntN(len(extremes))] }),
	}
}

func TestSort(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, radixFrom - 1, radixFrom, radixFrom + 1, 5000} {
		for name, xs := range samplesToSort(n) {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				before := slices.Clone(xs)
				want := slices.Sorted(slices.Values(xs))
				if got := sorted(xs); !slices.Equal(got, want) {
					t.Errorf("sorted: %v, want %v", got, want)
				}
				order := make([]int32, n)
				for i := range order {
					order[i] = int32(i)
				}
				slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(xs[a], xs[b]) })
				if got := Order(xs); !slices.Equal(got, order) {
					t.Errorf("order: %v, want %v", got, order)
				}
				if !slices.Equal(xs, before) {
					t.Error("the sample was changed")
				}
			})
		}
	}
}

// BenchmarkSort: sorted beside the library's sort of the same measured times.
// They are others each time: a processor learns the outcomes of the comparisons
// of one sample of 1,000.
func BenchmarkSort(b *testing.B) {
	for _, n := range []int{100, 300, 1000, 100_000} {
		var samples [][]float64
		for i := range max(1, 200_000/n) {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(i)))
			xs := make([]float64, n)
			for j := range xs {
				xs[j] = 0.0005 * (1 + 0.01*rng.NormFloat64())
			}
			samples = append(samples, xs)
		}
		for name, sort := range map[string]func([]float64){"digits": sortFloats, "comparisons": slices.Sort[[]float64]} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				buf := make([]float64, n)
				for i := 0; b.Loop(); i++ {
					copy(buf, samples[i%len(samples)])
					sort(buf)
				}
			})
		}
	}
}

// BenchmarkRankCorrelate relates a sample to twenty counters, as attributions
// do.
func BenchmarkRankCorrelate(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		samples := samplesToSort(n)
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			for b.Loop() {
				r, err := Rank(samples["times"])
				if err != nil {
					b.Fatal(err)
				}
				for range 10 {
					for _, name := range []string{"differences", "counts"} {
						if _, err := r.Correlate(samples[name]); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	}
}

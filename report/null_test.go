package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"goset/harness"
	"goset/metric"
)

// TestReportWhereNothingDiffers makes 100 experiments (seeded) in which no mode,
// place or counter has an effect, with a strong common effect of each round, and
// counts what the reports assert all the same. Each family may assert at most
// at its level; the bounds are 4 standard deviations above.
func TestReportWhereNothingDiffers(t *testing.T) {
	const experiments = 100
	rng := rand.New(rand.NewPCG(9, 9))
	claims := map[string]int{}
	for range experiments {
		doc := noEffect(t, rng)
		for i := range doc.Tables {
			for _, about := range []string{"median", "spread"} {
				claimed := false
				for _, v := range doc.Tables[i].Verdicts() {
					claimed = claimed || v.Claim && v.About == about
				}
				if claimed {
					claims[about]++
				}
			}
			for _, a := range doc.Tables[i].Attributions {
				for _, c := range a.Causes {
					if c.PAdj.V < 0.05 {
						claims["cause"]++
						break
					}
				}
			}
		}
		if len(doc.SelfCheck.Failed) > 0 {
			claims["self-check"]++
		}
		average := false
		for _, s := range doc.Suite {
			average = average || s.AverageClaim
		}
		if average {
			claims["suite"]++
		}
		claims["order"] += len(doc.Notes)
	}
	// Families: 4 tables and 16 cells an experiment; the self-check has one
	// family for medians and one for spreads; order effects speak at 1%.
	for what, most := range map[string]int{
		"median": 38, "spread": 38, "cause": 115, "self-check": 22, "suite": 14, "order": 6,
	} {
		if claims[what] > most {
			t.Errorf("%s: %d assertions where nothing differs, at most %d are chance", what, claims[what], most)
		}
	}
	t.Log(claims)
}

func noEffect(t *testing.T, rng *rand.Rand) *Document {
	t.Helper()
	b := &builder{}
	time := metric.Metric{Name: "time", Unit: "s", Better: metric.Lower, Shown: true}
	for w := range 4 {
		for _, m := range []string{"unpinned", "unpinned#2", "taskset", "goset"} {
			b.treat(fmt.Sprint("w", w), m, "")
		}
	}
	for block := range 10 {
		place, common := rng.Perm(len(b.treatments)), rng.NormFloat64()
		for i := range b.treatments {
			b.run(i, block+1, map[string]float64{"time": 1 + 0.01*(rng.NormFloat64()+common)}, describe(time), func(r *harness.Record) {
				r.Position = place[i] + 1
				r.Counters = map[string]float64{"x": rng.Float64(), "y": rng.Float64(), "z": float64(rng.IntN(3))}
			})
		}
	}
	d, err := Collect(t.Context(), b.rs, b.treatments, 0)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Document(Options{Baseline: "unpinned", ModeFactors: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

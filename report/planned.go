package report

import (
	"context"

	"goset/harness"
	"goset/stats"
)

// Planned says what the rounds of a plan can resolve: of the tables that it
// will make, the one with the most comparisons decides. It is "" where so many
// rounds are enough for Holm's correction, and where nothing is compared.
func Planned(e *harness.Experiment, p *harness.Plan) (string, error) {
	data, err := Collect(context.Background(), noRecords{}, p.Treatments, 0)
	if err != nil {
		return "", err
	}
	opts := Options{Baseline: e.Plan.Baseline, Compare: e.Plan.Compare, ModeFactors: ModeFactors(e.Modes), Sides: SidesOf(e.Workloads),
		Unblocked: e.Plan.Order == harness.OrderSequential}
	b, err := data.build(opts)
	if err != nil {
		return "", err
	}
	most := 0
	for i := range b.tables {
		most = max(most, comparisonsOf(b.pairs(&b.tables[i])))
	}
	if most == 0 {
		return "", nil
	}
	return stats.CannotResolve(e.Plan.Blocks(), most, !opts.Unblocked), nil
}

// noRecords is the source of an experiment that has not run.
type noRecords struct{}

func (noRecords) Each(context.Context, func(*harness.Record) error) error { return nil }

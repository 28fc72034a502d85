package stats

import (
	"math"
	"math/bits"
	"strings"
)

// FactorialEffect is one main effect or interaction of a 2^k crossing.
type FactorialEffect struct {
	Name string // "cgroup", "cgroup:steer", …
	// Change is exp(HL) − 1 of the within-block contrast of ln y, a fraction;
	// for an interaction, how far the combination is from the product of the
	// single effects.
	Change  Value
	CI      Interval
	HL      Shift // the same on the scale of logarithms
	MeanLog Value
	Test    SignedRankTest
	PAdj    Value // Holm over the 2^k − 1 effects
	PT      Value // Student's test of the contrasts, if normal
	// Spread of the same contrast: the ratio of geometric-mean AADs of ln y
	// where the factor is on against off, with its sign-flip p.
	SpreadRatio Value
	SpreadP     Value
	SpreadPAdj  Value
}

// maxFactors bounds the crossing: 2^10 cells.
const maxFactors = 10

// Factorial analyses blocks of 2^k cells, one value per cell; bit i of a
// cell's index is the level of factor i. Each effect is one contrast per block,
// con = 2^(1−k) Σ sign·ln y, so no error term is pooled and unequal cell
// variances do no harm. Values must be positive.
func Factorial(factors []string, blocks [][]float64, conf float64, r Resampling) ([]FactorialEffect, error) {
	k, err := checkTable(blocks)
	if err != nil {
		return nil, err
	}
	if err := checkConf(conf); err != nil {
		return nil, err
	}
	if len(factors) < 1 || len(factors) > maxFactors {
		return nil, &ArgumentError{Name: "number of factors", Rule: "1 to 10", Got: float64(len(factors))}
	}
	if len(blocks) > 0 && k != 1<<len(factors) {
		return nil, &SizeError{What: "every block needs 2^k cells", Got: []int{1 << len(factors), k}}
	}
	for _, row := range blocks {
		for i, y := range row {
			if y <= 0 {
				return nil, &ArgumentError{Name: "value of cell " + cellName(factors, i), Rule: "positive (contrasts are of logarithms)", Got: y}
			}
		}
	}
	logs := logTable(blocks)
	effects := make([]FactorialEffect, 0, 1<<len(factors)-1)
	for mask := 1; mask < 1<<len(factors); mask++ {
		e := FactorialEffect{Name: cellName(factors, mask)}
		e.locate(contrasts(logs, mask), conf)
		e.spread(logs, mask, r)
		effects = append(effects, e)
	}
	adjustEffects(effects)
	return effects, nil
}

func cellName(factors []string, mask int) string {
	var on []string
	for i, f := range factors {
		if mask>>i&1 == 1 {
			on = append(on, f)
		}
	}
	return strings.Join(on, ":")
}

func logTable(rows [][]float64) [][]float64 {
	logs := make([][]float64, len(rows))
	for i, row := range rows {
		logs[i] = make([]float64, len(row))
		for j, y := range row {
			logs[i][j] = math.Log(y)
		}
	}
	return logs
}

// contrasts returns one contrast per row: cells that have an even number of
// the mask's factors off count plus.
func contrasts(rows [][]float64, mask int) []float64 {
	con := make([]float64, len(rows))
	for i, row := range rows {
		for cell, v := range row {
			if bits.OnesCount(uint(mask&^cell))%2 == 1 {
				v = -v
			}
			con[i] += v
		}
		con[i] /= float64(len(row)) / 2
	}
	return con
}

func (e *FactorialEffect) locate(con []float64, conf float64) {
	e.HL = hodgesLehmann(con, conf)
	e.Change, e.CI = asChange(e.HL)
	e.Test = signedRank(con)
	if len(con) == 0 {
		e.MeanLog, e.PT = undefined("no observations"), undefined("no observations")
		return
	}
	m := momentsOf(con)
	e.MeanLog = defined(m.mean)
	switch {
	case !m.sd.OK:
		e.PT = undefined("%s", m.sd.Why)
	case m.sd.V == 0:
		e.PT = undefined("the contrast is constant")
	default:
		n := float64(m.n)
		e.PT = defined(math.Min(1, studentTwoSided(m.mean/(m.sd.V/math.Sqrt(n)), n-1)))
	}
}

// spread contrasts |ln y − median of the cell| in the same way.
func (e *FactorialEffect) spread(logs [][]float64, mask int, r Resampling) {
	if len(logs) < 2 {
		e.SpreadRatio, e.SpreadP = undefined("n ≥ 2 needed"), undefined("n ≥ 2 needed")
		return
	}
	dev := make([][]float64, len(logs))
	for i := range dev {
		dev[i] = make([]float64, len(logs[i]))
	}
	lnAAD := [][]float64{make([]float64, len(logs[0]))}
	column := make([]float64, len(logs))
	e.SpreadRatio, e.SpreadP = Value{}, Value{}
	for cell := range logs[0] {
		for i := range logs {
			column[i] = logs[i][cell]
		}
		for i, d := range deviations(column) {
			dev[i][cell] = d
			lnAAD[0][cell] += d / float64(len(logs))
		}
		if lnAAD[0][cell] == 0 {
			e.SpreadRatio = undefined("a cell has zero spread")
		}
		lnAAD[0][cell] = math.Log(lnAAD[0][cell])
	}
	if e.SpreadRatio.Why == "" {
		e.SpreadRatio = defined(math.Exp(contrasts(lnAAD, mask)[0]))
	}
	con := contrasts(dev, mask)
	e.SpreadP = flipTest(con, roundingTolerance(con, con), r).P
}

func adjustEffects(effects []FactorialEffect) {
	var location, spread []Value
	for _, e := range effects {
		location, spread = append(location, e.Test.P), append(spread, e.SpreadP)
	}
	location, spread = holmValues(location), holmValues(spread)
	for i := range effects {
		effects[i].PAdj, effects[i].SpreadPAdj = location[i], spread[i]
	}
}

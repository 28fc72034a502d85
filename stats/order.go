package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// OrderCheck looks for effects of the order of runs: of the position within
// a block, and of the mode that ran just before.
type OrderCheck struct {
	Position    FriedmanTest // over positions, on value − median of the mode
	PositionAdj Value        // Holm over this and all predecessor tests
	Predecessor []CarryOver  // one per mode
	Warnings    []string
}

// CarryOver is the effect of having one mode as the predecessor.
type CarryOver struct {
	Mode int // column of the predecessor
	N    int
	Mean Value // mean residual of the runs after it
	P    Value // exact sign test of those residuals
	PAdj Value
}

// CheckOrder takes values[block][mode] and position[block][mode], the place
// from 0 at which the mode ran in its block. The predecessor of a block's first
// run is the last run of the block before.
func CheckOrder(values [][]float64, position [][]int) (OrderCheck, error) {
	k, err := checkTable(values)
	if err != nil {
		return OrderCheck{}, err
	}
	byPosition, err := modesByPosition(position, len(values), k)
	if err != nil {
		return OrderCheck{}, err
	}
	residual := residuals(values, k)
	var c OrderCheck
	rows := make([][]float64, len(values))
	for b, modes := range byPosition {
		rows[b] = make([]float64, k)
		for p, m := range modes {
			rows[b][p] = residual[b][m]
		}
	}
	if c.Position, err = Friedman(rows); err != nil {
		return OrderCheck{}, err
	}
	c.carryOver(residual, byPosition, k)
	c.judge()
	return c, nil
}

// modesByPosition inverts the positions of each block.
func modesByPosition(position [][]int, blocks, k int) ([][]int, error) {
	if len(position) != blocks {
		return nil, &SizeError{What: "every block needs its positions", Got: []int{blocks, len(position)}}
	}
	order := make([][]int, blocks)
	for b, row := range position {
		if len(row) != k {
			return nil, &SizeError{What: "every block needs one position per mode", Got: []int{k, len(row)}}
		}
		order[b] = make([]int, k)
		seen := make([]bool, k)
		for m, p := range row {
			if p < 0 || p >= k || seen[p] {
				return nil, &ArgumentError{Name: "position in the block", Rule: "each of 0…k−1 once", Got: float64(p)}
			}
			seen[p] = true
			order[b][p] = m
		}
	}
	return order, nil
}

func residuals(values [][]float64, k int) [][]float64 {
	residual := make([][]float64, len(values))
	for b := range values {
		residual[b] = make([]float64, k)
	}
	column := make([]float64, len(values))
	for m := range k {
		for b, row := range values {
			column[b] = row[m]
		}
		if len(column) == 0 {
			continue
		}
		med := median(column)
		for b, v := range column {
			residual[b][m] = v - med
		}
	}
	return residual
}

func (c *OrderCheck) carryOver(residual [][]float64, byPosition [][]int, k int) {
	after := make([][]float64, k)
	last := -1
	for b, modes := range byPosition {
		for _, m := range modes {
			if last >= 0 {
				after[last] = append(after[last], residual[b][m])
			}
			last = m
		}
	}
	for m, rs := range after {
		co := CarryOver{Mode: m, N: len(rs), Mean: undefined("no observations"), P: undefined("no observations")}
		if len(rs) > 0 {
			co.Mean, co.P = defined(meanOf(rs)), signTest(rs)
		}
		c.Predecessor = append(c.Predecessor, co)
	}
}

func (c *OrderCheck) judge() {
	family := []Value{c.Position.P}
	for _, co := range c.Predecessor {
		family = append(family, co.P)
	}
	adjusted := holmValues(family)
	c.PositionAdj = adjusted[0]
	if c.PositionAdj.OK && c.PositionAdj.V < FlagLevel {
		c.Warnings = append(c.Warnings, "the place within a round matters (Friedman p_adj "+relationP(c.PositionAdj.V)+"): run in random order")
	}
	for i := range c.Predecessor {
		c.Predecessor[i].PAdj = adjusted[i+1]
	}
}

// signTest is the exact two-sided sign test of d about zero; zeros are left
// out. Without a nonzero value p is 1.
func signTest(d []float64) Value {
	n, plus := 0, 0
	for _, v := range d {
		if v != 0 {
			n++
		}
		if v > 0 {
			plus++
		}
	}
	if n == 0 {
		return defined(1)
	}
	few := min(plus, n-plus)
	return defined(math.Min(1, 2*distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(few))))
}

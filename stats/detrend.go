package stats

// DetrendedSDs gives the sd of each mode without what the modes of a block
// have in common: of the values less the median of their block.
// columns[mode][block]; all modes need the same blocks, and at least two modes
// are needed or nothing would be left.
func DetrendedSDs(columns [][]float64) ([]Value, error) {
	if err := checkFinite(columns...); err != nil {
		return nil, err
	}
	out := make([]Value, len(columns))
	for _, c := range columns {
		if len(c) != len(columns[0]) {
			return nil, &SizeError{What: "every mode needs the same blocks", Got: []int{len(columns[0]), len(c)}}
		}
	}
	if len(columns) < 2 {
		for i := range out {
			out[i] = undefined("two modes needed")
		}
		return out, nil
	}
	// Modes differ in level: without their own medians out, the median of a
	// block would jump between modes.
	residual := make([][]float64, len(columns))
	for i, c := range columns {
		residual[i] = make([]float64, len(c))
		if len(c) == 0 {
			continue
		}
		med := median(c)
		for j, v := range c {
			residual[i][j] = v - med
		}
	}
	for j := range columns[0] {
		block := make([]float64, len(columns))
		for i := range columns {
			block[i] = residual[i][j]
		}
		med := median(block)
		for i := range columns {
			residual[i][j] -= med
		}
	}
	for i := range out {
		out[i] = sdValue(residual[i])
	}
	return out, nil
}

package stats

import "slices"

// FriedmanTest asks whether any of k treatments differs, within blocks.
type FriedmanTest struct {
	X2 Value // tie-corrected
	P  Value // from the χ² law with k − 1 degrees of freedom
}

// Friedman tests rows of blocks, each with one value per treatment. It goes to
// the data file only: declared contrasts need no omnibus gate.
func Friedman(rows [][]float64) (FriedmanTest, error) {
	k, err := checkTable(rows)
	if err != nil {
		return FriedmanTest{}, err
	}
	none := func(why string) (FriedmanTest, error) {
		return FriedmanTest{X2: undefined("%s", why), P: undefined("%s", why)}, nil
	}
	if len(rows) == 0 {
		return none("no observations")
	}
	if k < 2 {
		return none("two treatments needed")
	}
	n, m := float64(len(rows)), float64(k)
	sums, ties := make([]float64, k), 0.0
	for _, row := range rows {
		for j, r := range midranks(row) {
			sums[j] += r
		}
		ties += tieSum(row)
	}
	spread := 0.0
	for _, s := range sums {
		d := s - n*(m+1)/2
		spread += d * d
	}
	scale := n*m*(m+1) - ties/(m-1)
	if scale <= 1e-9 {
		return none("all values tied within every block")
	}
	x2 := 12 * spread / scale
	return FriedmanTest{X2: defined(x2), P: defined(chiSquaredSurvival(x2, m-1))}, nil
}

// checkTable returns the common length of rows.
func checkTable(rows [][]float64) (int, error) {
	if err := checkFinite(rows...); err != nil {
		return 0, err
	}
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			return 0, &SizeError{What: "every block needs the same treatments", Got: []int{len(rows[0]), len(row)}}
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	return len(rows[0]), nil
}

// KruskalWallisTest asks whether any of k unpaired groups differs.
type KruskalWallisTest struct {
	H Value // tie-corrected
	P Value
}

// KruskalWallis compares unpaired groups by ranks.
func KruskalWallis(groups ...[]float64) (KruskalWallisTest, error) {
	if err := checkFinite(groups...); err != nil {
		return KruskalWallisTest{}, err
	}
	why := groupGap(groups)
	pooled := slices.Concat(groups...)
	if why == "" && isConstant(pooled) {
		why = "all values equal"
	}
	if why != "" {
		return KruskalWallisTest{H: undefined("%s", why), P: undefined("%s", why)}, nil
	}
	n, at, h := float64(len(pooled)), 0, 0.0
	ranks := midranks(pooled)
	for _, g := range groups {
		d := meanOf(ranks[at:at+len(g)]) - (n+1)/2
		h += float64(len(g)) * d * d
		at += len(g)
	}
	h *= 12 / (n * (n + 1)) / (1 - tieSum(pooled)/(n*n*n-n))
	return KruskalWallisTest{H: defined(h), P: defined(chiSquaredSurvival(h, float64(len(groups)-1)))}, nil
}

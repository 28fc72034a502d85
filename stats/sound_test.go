package stats

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// unsound walks a result and describes what no result may hold: NaN or an
// infinity, an undefined Value or Interval without a reason, a p outside [0, 1],
// an interval upside down.
func unsound(v any) []string {
	var faults []string
	walk(reflect.ValueOf(v), "", func(path, fault string) { faults = append(faults, path+": "+fault) })
	return faults
}

func walk(v reflect.Value, path string, report func(path, fault string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, report)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), report)
		}
	case reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			report(path, fmt.Sprint(v.Float()))
		}
	case reflect.String:
		if s := v.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.Contains(s, "%!") {
			report(path, fmt.Sprintf("text %q", s))
		}
	case reflect.Struct:
		if v.CanInterface() {
			checkStruct(v.Interface(), path, report)
		}
		for i := range v.NumField() {
			walk(v.Field(i), path+"."+v.Type().Field(i).Name, report)
		}
	}
}

func checkStruct(v any, path string, report func(path, fault string)) {
	switch v := v.(type) {
	case Value:
		name := path[strings.LastIndexByte(path, '.')+1:]
		isP := name == "P" || name == "PAdj" || name == "Less" || name == "Greater" || name == "PExact" || name == "PNormal"
		switch {
		case !v.OK && v.Why == "":
			report(path, "undefined without a reason")
		case v.OK && isP && (v.V < 0 || v.V > 1):
			report(path, fmt.Sprintf("p = %v", v.V))
		}
	case Interval:
		switch {
		case !v.OK && v.Why == "":
			report(path, "no interval and no reason")
		case v.OK && v.Lo > v.Hi:
			report(path, fmt.Sprintf("upside down [%v, %v]", v.Lo, v.Hi))
		case v.OK && (v.Coverage <= 0 || v.Coverage > 1):
			report(path, fmt.Sprintf("coverage %v", v.Coverage))
		}
	}
}

// everything calls each public function that takes one or two samples.
func everything(x, y []float64) map[string]func() (any, error) {
	r := Resampling{Draws: 200}
	rows := tableOf(x, y, 3)
	nested := min(len(x), 12)
	return map[string]func() (any, error){
		"Summarize":                func() (any, error) { return Summarize(x) },
		"Median":                   func() (any, error) { return Median(x) },
		"MedianInterval":           func() (any, error) { return MedianInterval(x, Level) },
		"QuantileInterval":         func() (any, error) { return QuantileInterval(x, 0.9, Level) },
		"StandardDeviation":        func() (any, error) { return StandardDeviation(x, Level) },
		"SDRatio":                  func() (any, error) { return SDRatio(x, y, Level) },
		"FindOutliers":             func() (any, error) { return FindOutliers(x) },
		"Drift":                    func() (any, error) { return Drift(x) },
		"MannKendall":              func() (any, error) { return MannKendall(x, y) },
		"ACF1":                     func() (any, error) { return ACF1(x) },
		"SignedRank":               func() (any, error) { return SignedRank(x) },
		"SignedRankDropZeros":      func() (any, error) { return SignedRankDropZeros(x) },
		"HodgesLehmann":            func() (any, error) { return HodgesLehmann(x, Level) },
		"PairedRatio":              func() (any, error) { return PairedRatio(x, y, Level) },
		"MannWhitney":              func() (any, error) { return MannWhitney(x, y) },
		"HodgesLehmannTwoSample":   func() (any, error) { return HodgesLehmannTwoSample(x, y, Level) },
		"BrownForsythe":            func() (any, error) { return BrownForsythe(x, y) },
		"FlignerKilleen":           func() (any, error) { return FlignerKilleen(x, y) },
		"BlockBrownForsythe":       func() (any, error) { return BlockBrownForsythe(x, y, r) },
		"PermutationBrownForsythe": func() (any, error) { return PermutationBrownForsythe(x, y, r) },
		"PitmanMorgan":             func() (any, error) { return PitmanMorgan(x, y) },
		"WelchT":                   func() (any, error) { return WelchT(x, y, Level) },
		"KruskalWallis":            func() (any, error) { return KruskalWallis(x, y) },
		"ShapiroWilk":              func() (any, error) { return ShapiroWilk(x) },
		"FindWarmUp":               func() (any, error) { return FindWarmUp(x) },
		"Friedman":                 func() (any, error) { return Friedman(rows) },
		"Page":                     func() (any, error) { return Page(rows) },
		"PageSpread":               func() (any, error) { return PageSpread(rows) },
		"SlopeOfSweep":             func() (any, error) { return SlopeOfSweep([]float64{1, 2, 4}, rows, Level, r) },
		"CheckOrder":               func() (any, error) { return CheckOrder(rows, rotation(len(rows), 3)) },
		"Factorial":                func() (any, error) { return Factorial([]string{"a", "b"}, tableOf(x, y, 4), Level, r) },
		"CompareSuite":             func() (any, error) { return CompareSuite([]Pair{{"a", x, y}, {"b", y, x}}, Level, r) },
		"KaliberaJones": func() (any, error) {
			return KaliberaJones(x[:nested/2*2], []int{2, nested / 2}, []float64{1, 10}, Level)
		},
		"KaliberaJonesRatio": func() (any, error) {
			return KaliberaJonesRatio(x, []int{len(x)}, y, []int{len(y)}, Level)
		},
		"BCa":               func() (any, error) { return BCa([][]float64{x, y}, LogSDRatio, false, Level, r) },
		"BCa of one sample": func() (any, error) { return BCa([][]float64{x}, LogMedianRatio, false, Level, r) },
		"AcrossSessions":    func() (any, error) { return AcrossSessions(x, Level) },
		"KaliberaJonesUneven": func() (any, error) {
			return KaliberaJonesUneven([][]float64{x, y, x[:min(1, len(x))]}, []float64{1, 10}, Level)
		},
		"LogSDRatioPseudovalues": func() (any, error) {
			values, why, err := LogSDRatioPseudovalues(x, y)
			if err == nil && len(values) == 0 && why == "" {
				return nil, fmt.Errorf("no values and no reason")
			}
			return values, err
		},
		"RankCorrelate":       func() (any, error) { return RankCorrelate(x, y) },
		"Compare":             func() (any, error) { return Compare(x, y, Options{Resampling: r}) },
		"Compare unblocked":   func() (any, error) { return Compare(x, y, Options{Unblocked: true, Resampling: r}) },
		"Compare equivalence": func() (any, error) { return Compare(x, y, Options{Equivalence: [2]float64{0.8, 1.25}, Resampling: r}) },
		"CheckSelf":           func() (any, error) { return CheckSelf(x, y, 3, Options{Resampling: r}) },
		"WithoutFlagged": func() (any, error) {
			c, err := Compare(x, y, Options{Resampling: r})
			if err != nil {
				return nil, err
			}
			return c.WithoutFlagged(x, y, Options{Resampling: r})
		},
	}
}

// tableOf cuts the values into rows of k.
func tableOf(x, y []float64, k int) [][]float64 {
	all := slices.Concat(x, y)
	var rows [][]float64
	for len(all) >= k {
		rows, all = append(rows, all[:k:k]), all[k:]
	}
	return rows
}

func rotation(blocks, k int) [][]int {
	rows := make([][]int, blocks)
	for b := range rows {
		for m := range k {
			rows[b] = append(rows[b], (m+b)%k)
		}
	}
	return rows
}

// degenerates are the samples on which careless statistics divide by zero.
func degenerates() map[string][2][]float64 {
	return map[string][2][]float64{
		"none":            {nil, nil},
		"one":             {{3.3}, {4.4}},
		"one and none":    {{3.3}, nil},
		"two":             {{1, 2}, {3, 5}},
		"two equal":       {{1, 1}, {1, 1}},
		"three":           {{1, 2, 4}, {2, 2, 3}},
		"five":            {{1, 2, 3, 4, 5}, {2, 4, 6, 8, 10}},
		"constant both":   {slices.Repeat([]float64{42.5}, 8), slices.Repeat([]float64{42.5}, 8)},
		"constant apart":  {slices.Repeat([]float64{42.5}, 8), slices.Repeat([]float64{0.1}, 8)},
		"constant x":      {slices.Repeat([]float64{42.5}, 8), {1, 2, 3, 4, 5, 6, 7, 8}},
		"constant y":      {{1, 2, 3, 4, 5, 6, 7, 8}, slices.Repeat([]float64{42.5}, 8)},
		"zeros":           {make([]float64, 12), make([]float64, 12)},
		"negative":        {{-1, -2, -3, -4, -5, -6}, {-2, -2, -3, -3, -9, -1}},
		"around zero":     {{-1, 0, 1, -1, 0, 1}, {0, 0, 0, 0, 0, 1}},
		"ties":            {{1, 1, 1, 1, 2, 2, 2, 2}, {1, 2, 1, 2, 1, 2, 1, 2}},
		"one spike":       {{1, 1, 1, 1, 1, 1, 1, 1e9}, {1, 1, 1, 1, 1, 1, 1, 1}},
		"huge":            {{1e308, -1e308, 1.7e308, -1.7e308, 1e308, 0, 1, 2}, {1e308, 1e308, 1e308, 1, 2, 3, 4, 5}},
		"huge positive":   {{1.7e308, 1e308, 1.2e308, 1.1e308, 1.3e308, 1e300}, {1e-300, 1e-308, 5e-324, 1e-320, 1e-310, 1e-305}},
		"tiny":            {{5e-324, 1e-323, 5e-324, 1e-323, 2e-323, 5e-324}, {5e-324, 5e-324, 1e-323, 1e-323, 5e-324, 5e-324}},
		"offset":          {{1e15, 1e15 + 1, 1e15 + 2, 1e15, 1e15 + 1, 1e15 + 3}, {1e15, 1e15, 1e15, 1e15, 1e15, 1e15 + 1}},
		"unequal":         {{1, 2, 3, 4, 5, 6, 7}, {2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"large n":         {ramp(60), ramp(60)},
		"large n unequal": {ramp(61), ramp(45)},
		"large n tied":    {slices.Repeat([]float64{1, 2, 2, 3}, 15), slices.Repeat([]float64{2, 3, 3, 3}, 15)},
	}
}

func ramp(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 100 + math.Mod(float64(i)*37.7, 11)
	}
	return xs
}

func TestDegenerateSamplesAreSound(t *testing.T) {
	for sample, pair := range degenerates() {
		for name, call := range everything(pair[0], pair[1]) {
			t.Run(sample+"/"+name, func(t *testing.T) {
				x, y := slices.Clone(pair[0]), slices.Clone(pair[1])
				got, err := call()
				if !slices.Equal(x, pair[0]) || !slices.Equal(y, pair[1]) {
					t.Error("the caller's slices were changed")
				}
				if err != nil {
					if !typedError(err) {
						t.Errorf("error %v (%T) is not of the package's types", err, err)
					}
					return
				}
				for _, fault := range unsound(got) {
					t.Error(fault)
				}
			})
		}
	}
}

func typedError(err error) bool {
	switch err.(type) {
	case *ValueError, *SizeError, *ArgumentError:
		return true
	default:
		return false
	}
}

func TestNonFiniteIsAnError(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := []float64{1, 2, 3, 4, 5, bad, 7, 8, 9, 10, 11, 12}
		for name, call := range everything(x, ramp(12)) {
			if _, err := call(); err == nil || !typedError(err) {
				t.Errorf("%s with %v: error %v, want a typed one", name, bad, err)
			}
		}
	}
}

// FuzzSound feeds pairs of samples made from bytes: values with ties, zeros and
// extreme magnitudes. No function may panic, return NaN, or give an undefined
// number without a reason.
func FuzzSound(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, uint8(6))
	f.Add([]byte{255, 255, 0, 0, 128, 127, 1, 1, 1, 1, 1, 1, 1, 1}, uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, split uint8) {
		if len(data) > 80 {
			data = data[:80]
		}
		values := make([]float64, len(data))
		for i, b := range data {
			mantissa, exp := float64(int(b&15)-5), int(b>>4)
			values[i] = mantissa
			if exp > 12 {
				values[i] = math.Ldexp(mantissa, 340*(exp-14)) // 2^±340 or 1
			}
		}
		k := min(int(split), len(values))
		for name, call := range everything(values[:k:k], values[k:]) {
			got, err := call()
			if err != nil {
				if !typedError(err) {
					t.Errorf("%s: error %v (%T)", name, err, err)
				}
				continue
			}
			for _, fault := range unsound(got) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	})
}

package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"testing"

	"goset/internal/publicdata"
)

// oracleCase is one case of stats-oracle.json: inputs and outputs computed
// with SciPy and R.
type oracleCase struct {
	ID     string
	Kind   string
	Input  json.RawMessage
	Expect map[string]any
	Tol    map[string]float64
}

// oracleInput is the union of all inputs.
type oracleInput struct {
	Of                       string
	X, Y, D, T               []float64
	P                        json.RawMessage
	Conf                     float64
	Groups                   [][]float64
	RoundsByMode             [][]float64 `json:"rounds_by_mode"`
	RoundsByLevel            [][]float64 `json:"rounds_by_level"`
	RoundsByCell             [][]float64 `json:"rounds_by_cell"`
	Factors                  []string
	Ratio, Alpha             float64
	Kurtosis, Power, Penalty float64
	N                        int
	MinSegment               int       `json:"min_segment"`
	Data                     any       `json:"data_high_to_low"`
	Costs                    []float64 `json:"costs_low_to_high"`
	Old                      any       `json:"old_high_to_low"`
	New                      any       `json:"new_high_to_low"`
	Benchmarks               []struct{ X, Y []float64 }
	Statistic                string
	Samples                  [][]float64
	B                        int
}

// TestOracle maps every kind to the public function that answers it. An
// unknown kind fails: the schema may grow, silence may not.
func TestOracle(t *testing.T) {
	raw, err := os.ReadFile(publicdata.Path(t, "stats/stats-oracle.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []oracleCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("the oracle holds no cases")
	}
	kinds := oracleKinds()
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			answer, known := kinds[c.Kind]
			if !known {
				t.Fatalf("unknown kind %q", c.Kind)
			}
			var in oracleInput
			if err := json.Unmarshal(c.Input, &in); err != nil {
				t.Fatal(err)
			}
			got, err := answer(in)
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind == "bca" {
				compareBCa(t, c, got)
				return
			}
			compareOracle(t, "", c.Expect, got, c.Tol)
		})
	}
}

// answers holds got values by the oracle's names: float64, int, Value, slices
// of them, or nested answers. A missing name fails the case.
type answers map[string]any

func compareOracle(t *testing.T, path string, want map[string]any, got answers, tol map[string]float64) {
	t.Helper()
	for key, w := range want {
		if key == "reason" {
			continue // prose
		}
		g, ok := got[key]
		if !ok {
			t.Errorf("%s%s: no answer", path, key)
			continue
		}
		compareValue(t, path+key, w, g, tol)
	}
}

func compareValue(t *testing.T, path string, want, got any, tol map[string]float64) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		compareOracle(t, path+".", w, got.(answers), tol)
	case []any:
		items := listOf(got)
		if len(items) != len(w) {
			t.Errorf("%s: %d items %v, want %v", path, len(items), items, w)
			return
		}
		for i := range w {
			compareValue(t, fmt.Sprintf("%s[%d]", path, i), w[i], items[i], tol)
		}
	case nil:
		if items := listOf(got); items != nil || got == nil {
			if len(items) > 0 {
				t.Errorf("%s = %v, want none", path, items)
			}
			return
		}
		if v := valueOf(got); v.OK {
			t.Errorf("%s = %v, want undefined", path, v.V)
		} else if v.Why == "" {
			t.Errorf("%s is undefined without a reason", path)
		}
	case float64:
		v := valueOf(got)
		if limit := math.Max(tol["abs"], tol["rel"]*math.Abs(w)); !v.OK || !(math.Abs(v.V-w) <= limit) {
			t.Errorf("%s = %+v, want %v ± %g", path, v, w, limit)
		}
	default:
		t.Errorf("%s: cannot compare %T", path, want)
	}
}

func listOf(got any) []any {
	var out []any
	switch g := got.(type) {
	case []float64:
		for _, v := range g {
			out = append(out, v)
		}
	case []int:
		for _, v := range g {
			out = append(out, v)
		}
	case []Value:
		for _, v := range g {
			out = append(out, v)
		}
	}
	return out
}

func valueOf(got any) Value {
	switch g := got.(type) {
	case Value:
		return g
	case float64:
		return defined(g)
	case int:
		return defined(float64(g))
	default:
		return undefined("not a number: %T", got)
	}
}

func compareBCa(t *testing.T, c oracleCase, got answers) {
	t.Helper()
	near := func(key string, rel, abs float64) {
		want := c.Expect[key].(float64)
		if v := valueOf(got[key]); !v.OK || math.Abs(v.V-want) > math.Max(abs, rel*math.Abs(want)) {
			t.Errorf("%s = %+v, want %v ± %g", key, v, want, math.Max(abs, rel*math.Abs(want)))
		}
	}
	near("estimate", 1e-9, 1e-12)
	near("lo", 0, c.Tol["lo_abs"])
	near("hi", 0, c.Tol["hi_abs"])
	near("acceleration", c.Tol["acceleration_rel"], c.Tol["acceleration_abs"])
	near("z0", 0, c.Tol["z0_abs"])
}

// bound turns one side of an interval into a Value.
func bound(i Interval, hi bool) Value {
	if !i.OK {
		return Value{Why: i.Why}
	}
	if hi {
		return defined(i.Hi)
	}
	return defined(i.Lo)
}

func coverage(i Interval) Value {
	if !i.OK {
		return Value{Why: i.Why}
	}
	return defined(i.Coverage)
}

func order(k int) Value {
	if k == 0 {
		return undefined("unbounded")
	}
	return defined(float64(k))
}

type oracleFunc = func(oracleInput) (answers, error)

func oracleKinds() map[string]oracleFunc {
	return map[string]oracleFunc{
		"describe": oracleDescribe, "quantile": oracleQuantile, "median_ci": oracleMedianCI, "quantile_ci": oracleQuantileCI,
		"sd_ci": oracleSDCI, "sd_ratio": oracleSDRatio, "brown_forsythe": oracleBrownForsythe, "fligner": oracleFligner,
		"block_bf": oracleBlockBF, "perm_bf": oraclePermBF, "mann_whitney": oracleMannWhitney, "signed_rank": oracleSignedRank,
		"hodges_lehmann": oracleHodgesLehmann, "hodges_lehmann_two_sample": oracleTwoSample, "paired_ratio": oraclePairedRatio,
		"mann_kendall": oracleKendall, "kendall": oracleKendall, "acf1": oracleACF, "holm": oracleHolm, "welch_t": oracleWelch,
		"pitman_morgan": oraclePitmanMorgan, "friedman": oracleFriedman, "shapiro": oracleShapiro,
		"power_sd_ratio": oraclePower, "n_required_sd_ratio": oracleRequired, "changepoint_rank": oracleChangepoint,
		"outlier_flags": oracleOutliers, "kalibera_jones": oracleKalibera, "kj_ratio": oracleKJRatio,
		"factorial": oracleFactorial, "page_trend": oraclePage, "suite_spread": oracleSuite, "bca": oracleBCa,
		"degenerate": oracleDegenerate,
	}
}

func oracleDegenerate(in oracleInput) (answers, error) {
	of := map[string]oracleFunc{}
	for kind, f := range map[string]oracleFunc{
		"describe": oracleDescribe, "quantile": oracleQuantile, "median_ci": oracleMedianCI, "quantile_ci": oracleQuantileCI,
		"sd_ci": oracleSDCI, "sd_ratio": oracleSDRatioDefault, "brown_forsythe": oracleBrownForsythe, "fligner": oracleFligner,
		"block_bf": oracleBlockBF, "perm_bf": oraclePermBF, "mann_whitney": oracleMannWhitney, "signed_rank": oracleSignedRank,
		"hodges_lehmann": oracleHodgesLehmann, "hodges_lehmann_two_sample": oracleTwoSample, "paired_ratio": oraclePairedRatio,
		"mann_kendall": oracleKendall, "kendall": oracleKendall, "acf1": oracleACF, "outlier_flags": oracleOutliers,
		"friedman": oracleFriedman, "shapiro": oracleShapiro, "page_trend": oraclePage, "welch_t": oracleWelch,
		"pitman_morgan": oraclePitmanMorgan,
	} {
		of[kind] = f
	}
	f, known := of[in.Of]
	if !known {
		return nil, fmt.Errorf("unknown degenerate kind %q", in.Of)
	}
	if in.Conf == 0 {
		in.Conf = Level
	}
	return f(in)
}

func oracleDescribe(in oracleInput) (answers, error) {
	s, err := Summarize(in.X)
	return answers{"n": s.N, "mean": s.Mean, "median": s.Median, "sd": s.SD, "min": s.Min, "max": s.Max, "range": s.Range,
		"spread": s.Spread, "cv": s.CV, "mad_raw": s.MAD, "mad_sigma": s.MADSigma, "iqr7": s.IQR, "aad_median": s.AAD,
		"geomean": s.Geomean}, err
}

func oracleQuantile(in oracleInput) (answers, error) {
	var ps []float64
	if err := json.Unmarshal(in.P, &ps); err != nil {
		return nil, err
	}
	out := answers{}
	for typ := QuantileType(1); typ <= 9; typ++ {
		var qs []Value
		for _, p := range ps {
			q, err := Quantile(in.X, p, typ)
			if err != nil {
				return nil, err
			}
			qs = append(qs, q)
		}
		out[fmt.Sprintf("type%d", typ)] = qs
	}
	return out, nil
}

func orderAnswers(ci OrderInterval) answers {
	return answers{"lo_order": order(ci.LoOrder), "hi_order": order(ci.HiOrder), "lo": ci.Lower, "hi": ci.Upper,
		"coverage": coverage(ci.Interval), "min_n": ci.MinN}
}

func oracleMedianCI(in oracleInput) (answers, error) {
	ci, err := MedianInterval(in.X, in.Conf)
	return orderAnswers(ci), err
}

func oracleQuantileCI(in oracleInput) (answers, error) {
	var p float64
	if err := json.Unmarshal(in.P, &p); err != nil {
		return nil, err
	}
	ci, err := QuantileInterval(in.X, p, in.Conf)
	return orderAnswers(ci), err
}

func oracleSDCI(in oracleInput) (answers, error) {
	s, err := StandardDeviation(in.X, in.Conf)
	return answers{"sd": s.SD, "lo_chi2": bound(s.ChiSquared, false), "hi_chi2": bound(s.ChiSquared, true),
		"bonett_kurtosis": s.Kurtosis, "bonett_se": s.SE, "lo_bonett": bound(s.CI, false), "hi_bonett": bound(s.CI, true)}, err
}

func oracleSDRatio(in oracleInput) (answers, error) {
	r, err := SDRatio(in.X, in.Y, in.Conf)
	return answers{"ratio": r.Ratio, "F": r.F, "p_F": r.PF, "lo_F": bound(r.FCI, false), "hi_F": bound(r.FCI, true),
		"bonett_kurtosis": r.Kurtosis, "bonett_se": r.SE, "lo_bonett": bound(r.Closed, false), "hi_bonett": bound(r.Closed, true),
		"p_bonett": r.P, "lo_bonett_inv": bound(r.Inverted, false), "hi_bonett_inv": bound(r.Inverted, true)}, err
}

func oracleSDRatioDefault(in oracleInput) (answers, error) {
	r, err := SDRatio(in.X, in.Y, in.Conf)
	return answers{"ratio": r.Ratio, "lo": bound(r.CI, false), "hi": bound(r.CI, true), "p": r.P}, err
}

func oracleBrownForsythe(in oracleInput) (answers, error) {
	b, err := BrownForsythe(in.Groups...)
	return answers{"W": b.W, "p": b.P}, err
}

func oracleFligner(in oracleInput) (answers, error) {
	f, err := FlignerKilleen(in.Groups...)
	return answers{"X2": f.X2, "p": f.P}, err
}

func oracleBlockBF(in oracleInput) (answers, error) {
	b, err := BlockBrownForsythe(in.X, in.Y, Resampling{})
	return answers{"mean_diff_absdev": b.MeanDifference, "p": b.P, "p_less": b.Less, "p_greater": b.Greater, "n_flips": b.Count}, err
}

func oraclePermBF(in oracleInput) (answers, error) {
	b, err := PermutationBrownForsythe(in.X, in.Y, Resampling{})
	return answers{"mean_diff_absdev": b.MeanDifference, "p": b.P, "n_perm": b.Count, "p_less": b.Less, "p_greater": b.Greater}, err
}

func oracleMannWhitney(in oracleInput) (answers, error) {
	m, err := MannWhitney(in.X, in.Y)
	return answers{"U": m.U, "p": m.P, "p_less": m.Less, "p_greater": m.Greater, "p_asymptotic": m.PAsymptotic}, err
}

func oracleSignedRank(in oracleInput) (answers, error) {
	s, err := SignedRank(in.D)
	if err != nil {
		return nil, err
	}
	drop, err := SignedRankDropZeros(in.D)
	return answers{"W_pratt": s.W, "p": s.P, "p_less": s.Less, "p_greater": s.Greater, "n_nonzero": s.Nonzero,
		"p_wilcox_drop_zeros": drop.P, "W_wilcox": drop.W}, err
}

func shiftAnswers(s Shift) answers {
	return answers{"estimate": s.Estimate, "lo": bound(s.CI, false), "hi": bound(s.CI, true), "coverage": coverage(s.CI), "k": s.K}
}

func oracleHodgesLehmann(in oracleInput) (answers, error) {
	s, err := HodgesLehmann(in.D, in.Conf)
	return shiftAnswers(s), err
}

func oracleTwoSample(in oracleInput) (answers, error) {
	s, err := HodgesLehmannTwoSample(in.X, in.Y, in.Conf)
	return shiftAnswers(s), err
}

func oraclePairedRatio(in oracleInput) (answers, error) {
	e, err := PairedRatio(in.X, in.Y, in.Conf)
	return answers{"rel_change": e.Change, "lo": bound(e.CI, false), "hi": bound(e.CI, true), "coverage": coverage(e.CI), "p": e.Test.P}, err
}

func oracleKendall(in oracleInput) (answers, error) {
	k, err := MannKendall(in.T, in.Y)
	return answers{"tau_b": k.TauB, "S": k.S, "var_S": k.VarS, "z_cc": k.Z, "p_cc": k.PNormal, "p_exact": k.PExact, "p": k.P,
		"theil_sen_slope": k.Slope}, err
}

func oracleACF(in oracleInput) (answers, error) {
	a, err := ACF1(in.X)
	return answers{"r1": a.R1, "ljung_box": a.LjungBox, "p_ljung_box": a.P, "ess_ar1": a.ESS}, err
}

func oracleHolm(in oracleInput) (answers, error) {
	var ps []float64
	if err := json.Unmarshal(in.P, &ps); err != nil {
		return nil, err
	}
	h, err := Holm(ps)
	if err != nil {
		return nil, err
	}
	bh, err := BenjaminiHochberg(ps)
	return answers{"adjusted": h, "bh": bh}, err
}

func oracleWelch(in oracleInput) (answers, error) {
	if in.Conf == 0 {
		in.Conf = Level
	}
	w, err := WelchT(in.X, in.Y, in.Conf)
	return answers{"t": w.T, "df": w.DF, "p": w.P, "lo": bound(w.CI, false), "hi": bound(w.CI, true)}, err
}

func oraclePitmanMorgan(in oracleInput) (answers, error) {
	p, err := PitmanMorgan(in.X, in.Y)
	return answers{"r": p.R, "t": p.T, "p": p.P, "spearman_r": p.Spearman}, err
}

func oracleFriedman(in oracleInput) (answers, error) {
	f, err := Friedman(in.RoundsByMode)
	if err != nil {
		return nil, err
	}
	columns := make([][]float64, len(in.RoundsByMode[0]))
	for _, row := range in.RoundsByMode {
		for j, v := range row {
			columns[j] = append(columns[j], v)
		}
	}
	k, err := KruskalWallis(columns...)
	return answers{"X2": f.X2, "p": f.P, "kruskal_H": k.H, "kruskal_p": k.P}, err
}

func oracleShapiro(in oracleInput) (answers, error) {
	s, err := ShapiroWilk(in.X)
	return answers{"W": s.W, "p": s.P}, err
}

func oraclePower(in oracleInput) (answers, error) {
	p, err := PowerSDRatio(in.Ratio, in.N, in.Alpha)
	return answers{"power": p}, err
}

func oracleRequired(in oracleInput) (answers, error) {
	n, err := RequiredForSDRatio(in.Ratio, in.Kurtosis, in.Alpha, in.Power)
	return answers{"n": n}, err
}

func oracleChangepoint(in oracleInput) (answers, error) {
	c, err := RankChangepoints(in.Y, in.Penalty, in.MinSegment)
	return answers{"changepoints": c}, err
}

func oracleOutliers(in oracleInput) (answers, error) {
	o, err := FindOutliers(in.X)
	a := answers{"lo_fence": o.LoFence, "hi_fence": o.HiFence, "tukey_index": o.Tukey, "modified_z_index": o.Modified}
	if !o.ModifiedZ.OK {
		a["modified_z_index"] = o.ModifiedZ
	}
	return a, err
}

// flatten lays nested lists out with the innermost fastest and returns their
// lengths from the innermost out.
func flatten(data any) (values []float64, reps []int, err error) {
	list, ok := data.([]any)
	if !ok {
		return []float64{data.(float64)}, nil, nil
	}
	var below []int
	for _, item := range list {
		v, r, err := flatten(item)
		if err != nil {
			return nil, nil, err
		}
		if below != nil && !slices.Equal(below, r) {
			return nil, nil, fmt.Errorf("unbalanced: %v and %v", below, r)
		}
		values, below = append(values, v...), r
	}
	return values, append(below, len(list)), nil
}

func oracleKalibera(in oracleInput) (answers, error) {
	values, reps, err := flatten(in.Data)
	if err != nil {
		return nil, err
	}
	l, err := KaliberaJones(values, reps, in.Costs, Level)
	return answers{"mean": l.Mean, "S2": l.S2, "T2": l.T2, "ci95_half": l.Half, "optimal_reps": l.Optimal, "r_low_to_high": reps}, err
}

func oracleKJRatio(in oracleInput) (answers, error) {
	oldValues, oldReps, err := flatten(in.Old)
	if err != nil {
		return nil, err
	}
	newValues, newReps, err := flatten(in.New)
	if err != nil {
		return nil, err
	}
	r, err := KaliberaJonesRatio(oldValues, oldReps, newValues, newReps, Level)
	return answers{"ratio": r.Ratio, "lo": bound(r.CI, false), "hi": bound(r.CI, true), "h_old": r.Old.Half, "h_new": r.New.Half}, err
}

func oracleFactorial(in oracleInput) (answers, error) {
	effects, err := Factorial(in.Factors, in.RoundsByCell, Level, Resampling{})
	out := answers{}
	for _, e := range effects {
		out[e.Name] = answers{"mean_log": e.MeanLog, "hl_log": e.HL.Estimate, "lo_log": bound(e.HL.CI, false),
			"hi_log": bound(e.HL.CI, true), "p": e.Test.P, "t_p": e.PT, "p_holm": e.PAdj}
	}
	return out, err
}

func oraclePage(in oracleInput) (answers, error) {
	p, err := Page(in.RoundsByLevel)
	return answers{"L": p.L, "mean": p.Mean, "var": p.Var, "z": p.Z, "p_greater": p.GreaterNormal, "p_two": p.PNormal}, err
}

func oracleSuite(in oracleInput) (answers, error) {
	var pairs []Pair
	for _, b := range in.Benchmarks {
		pairs = append(pairs, Pair{X: b.X, Y: b.Y})
	}
	s, err := CompareSuite(pairs, Level, Resampling{})
	return answers{"geomean_sd_ratio": s.GeomeanRatio, "lo": bound(s.CI, false), "hi": bound(s.CI, true), "p": s.Average.P,
		"iut_p_less": s.EveryLower}, err
}

func oracleBCa(in oracleInput) (answers, error) {
	statistics := map[string]Statistic{
		"log_sd_ratio": LogSDRatio, "log_median_ratio": LogMedianRatio, "log_sd": LogSD, "median": SampleMedian,
		"sd_ratio":     exponential(LogSDRatio),
		"median_ratio": exponential(LogMedianRatio),
		"sd":           exponential(LogSD),
		"mean":         func(s [][]float64) (float64, bool) { return meanOf(s[0]), true },
	}
	stat, known := statistics[in.Statistic]
	if !known {
		names := make([]string, 0, len(statistics))
		for name := range statistics {
			names = append(names, name)
		}
		sort.Strings(names)
		return nil, fmt.Errorf("unknown statistic %q, have %v", in.Statistic, names)
	}
	b, err := BCa(in.Samples, stat, false, in.Conf, Resampling{Seed: 3, Draws: in.B})
	return answers{"estimate": b.Estimate, "lo": bound(b.CI, false), "hi": bound(b.CI, true), "acceleration": b.Acceleration, "z0": b.Z0}, err
}

func exponential(log Statistic) Statistic {
	return func(s [][]float64) (float64, bool) {
		v, ok := log(s)
		return math.Exp(v), ok
	}
}

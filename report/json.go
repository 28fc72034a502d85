package report

import (
	"goset/harness"
	"goset/metric"
)

type jsonCounts struct {
	Kept   int `json:"kept"`
	Void   int `json:"void"`
	Failed int `json:"failed"`
	Warmup int `json:"warmup"`
}

type jsonTable struct {
	Workload  string          `json:"workload"`
	Condition string          `json:"condition,omitempty"`
	Levels    []harness.Level `json:"levels,omitempty"`
	Metric    metric.Metric   `json:"metric"`
	Baseline  string          `json:"baseline,omitempty"`
	Runs      jsonCounts      `json:"runs"`
	Rows      []jsonRow       `json:"rows"`
	Notes     []jsonNote      `json:"notes"`

	Contrasts    []jsonContrast    `json:"contrasts,omitempty"`
	Effects      []jsonEffect      `json:"effects,omitempty"`
	Trends       []jsonTrend       `json:"trends,omitempty"`
	Attributions []jsonAttribution `json:"attributions,omitempty"`
}

type jsonRow struct {
	Mode     string          `json:"mode"`
	Levels   []harness.Level `json:"levels,omitempty"`
	Excluded []jsonExcluded  `json:"excluded,omitempty"`
	// Values has every column of summary.csv; null is undefined.
	Values map[string]*float64 `json:"values"`
	// Undefined says of each null what was missing.
	Undefined map[string]string `json:"undefined,omitempty"`
}

type jsonExcluded struct {
	Run     int             `json:"run"`
	Attempt int             `json:"attempt"`
	Block   int             `json:"block"`
	Outcome harness.Outcome `json:"outcome"`
	Reason  string          `json:"reason"`
}

type jsonNote struct {
	Text string   `json:"text"`
	Rows []string `json:"rows"`
}

func tableJSON(t *Table) jsonTable {
	j := jsonTable{Workload: t.Workload, Condition: t.Condition, Levels: t.Levels, Metric: t.Metric, Baseline: t.Baseline,
		Runs: jsonCounts(t.Counts), Rows: []jsonRow{}, Notes: []jsonNote{}}
	for i := range t.Rows {
		j.Rows = append(j.Rows, rowJSON(&t.Rows[i]))
	}
	for _, n := range t.Notes {
		labels := []string{}
		for _, r := range n.Rows {
			labels = append(labels, t.Rows[r].Label())
		}
		j.Notes = append(j.Notes, jsonNote{n.Text, labels})
	}
	for i := range t.Contrasts {
		j.Contrasts = append(j.Contrasts, contrastJSON(&t.Contrasts[i]))
	}
	for i := range t.Effects {
		j.Effects = append(j.Effects, effectJSON(&t.Effects[i]))
	}
	for i := range t.Trends {
		j.Trends = append(j.Trends, trendJSON(&t.Trends[i]))
	}
	for i := range t.Attributions {
		j.Attributions = append(j.Attributions, attributionJSON(t, &t.Attributions[i]))
	}
	return j
}

func rowJSON(r *Row) jsonRow {
	j := jsonRow{Mode: r.Mode, Levels: r.Levels, Values: map[string]*float64{}}
	for _, e := range r.Excluded {
		j.Excluded = append(j.Excluded, jsonExcluded(e))
	}
	for _, c := range columns() {
		putNumber(j.Values, &j.Undefined, c.name, c.value(r))
	}
	return j
}

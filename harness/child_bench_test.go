package harness

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"
)

// BenchmarkExecute is one run of the shortest command there is.
func BenchmarkExecute(b *testing.B) {
	r, err := NewRunner()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	job := Job{Argv: []string{"true"}, Env: os.Environ()}
	var wall []time.Duration
	for b.Loop() {
		res, err := r.Execute(context.Background(), job)
		if err != nil || res.Exit != 0 {
			b.Fatal(res.Exit, err)
		}
		wall = append(wall, res.Wall)
		r.Quiet()
	}
	slices.Sort(wall)
	b.ReportMetric(float64(wall[len(wall)/2]), "median-wall-ns")
}

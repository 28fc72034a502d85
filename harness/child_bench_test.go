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
	var wall, launch []time.Duration
	for b.Loop() {
		res, err := r.Execute(context.Background(), job)
		if err != nil || res.Exit != 0 {
			b.Fatal(res.Exit, err)
		}
		wall = append(wall, res.Wall)
		launch = append(launch, res.Launch)
		r.Quiet()
	}
	slices.Sort(wall)
	slices.Sort(launch)
	b.ReportMetric(float64(wall[len(wall)/2]), "median-wall-ns")
	b.ReportMetric(float64(launch[len(launch)/2]), "median-launch-ns")
}

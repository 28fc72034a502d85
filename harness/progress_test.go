package harness

import (
	"context"
	"slices"
	"testing"
	"time"

	"goset/isolation"
)

func TestEstimator(t *testing.T) {
	_, p := testExperiment(3, []string{"a", "b"}, isolation.Mode{Name: "m"}, isolation.Mode{Name: "n"})
	// Treatments: a/m 0, a/n 1, b/m 2, b/n 3; three runs of each.
	p.Treatments[3].Spec.Expect = 7 * time.Second
	e := newEstimator(p, time.Second)
	want := func(after string, seconds float64, known bool) {
		t.Helper()
		left, ok := e.Left()
		if ok != known || left != time.Duration(seconds*float64(time.Second)) {
			t.Errorf("after %s: %v, %v; want %v s, %v", after, left, ok, seconds, known)
		}
	}
	want("nothing", 0, false)
	e.Observe(0, 2*time.Second)
	e.Ended(0)
	// a/m: 2 left at 2 s; a/n: 3 at 2 s of its workload; b/m: 3 at 2 s of all;
	// b/n: 3 at 7 s; each with a second of idle time.
	want("the first", 2*3+3*3+3*3+3*8, true)
	e.Observe(2, 4*time.Second)
	e.Ended(2)
	// b/m has 2 left at 4 s now; b/n keeps the author's 7 s.
	want("the second", 2*3+3*3+2*5+3*8, true)
	e.Observe(3, 6*time.Second)
	// An attempt that is made again has not ended the run.
	want("an attempt", 2*3+3*3+2*5+3*7, true)
	for i := range p.Treatments {
		for range 4 { // one too many
			e.Ended(i)
		}
	}
	want("all", 0, true)
}

func TestEstimatorOfAnEmptyPlan(t *testing.T) {
	if left, ok := newEstimator(&Plan{}, time.Second).Left(); left != 0 || !ok {
		t.Errorf("%v, %v", left, ok)
	}
}

func TestProgressTakesThePassedGapOff(t *testing.T) {
	s, x := testSession(t, 2, []string{"a"}, isolation.Mode{Name: "m"})
	s.Experiment.Plan.Idle = 3 * time.Second
	s.Plan.Treatments[0].Spec.Expect = 10 * time.Second
	clock := s.Clock.(*fakeClock)
	x.answer = func(_ context.Context, _ int, _ Job) (Result, error) {
		clock.now = clock.now.Add(8 * time.Second)
		return Result{}, nil
	}
	var left []float64
	s.Events = func(e Event) {
		var p *Progress
		switch e := e.(type) {
		case Gap:
			p = e.Progress
		case RunStarted:
			p = e.Progress
		case RunEnded:
			p = e.Progress
		default:
			return
		}
		d, ok := p.Left()
		if !ok {
			t.Errorf("nothing known at %T", e)
		}
		left = append(left, d.Seconds())
	}
	if _, err := Execute(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want := []float64{26, 25, 24, 23, 11, 11, 10, 9, 8, 0}
	if !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}

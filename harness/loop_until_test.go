package harness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"goset/isolation"
)

// fakeStopper has enough after so many records, and remembers the questions.
type fakeStopper struct {
	seen, after int
	asked       []int
}

func (f *fakeStopper) Observe(*Record) { f.seen++ }

func (f *fakeStopper) Enough(block int) (string, bool) {
	f.asked = append(f.asked, block)
	return "narrow enough", f.seen >= f.after
}

func untilSession(t *testing.T, after int) (Session, *fakeExecutor, *fakeStopper) {
	s, x := testSession(t, 12, []string{"a", "b"}, isolation.Mode{Name: "m"})
	s.Experiment.Plan.Runs, s.Experiment.Plan.Until = 4, &Until{Median: 0.01, Max: 12}
	f := &fakeStopper{after: after}
	s.Stopper = f
	return s, x, f
}

func TestUntilStopsAfterAWholeRound(t *testing.T) {
	s, x, f := untilSession(t, 12) // 6 rounds of 2
	sum, err := Execute(t.Context(), s)
	if err != nil || !sum.Done() || sum.Stopped == nil || sum.Stopped.Block != 6 || sum.Stopped.Blocks != 12 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if len(x.jobs) != 12 {
		t.Errorf("%d runs, want 12", len(x.jobs))
	}
	if got := fmt.Sprint(f.asked); got != "[4 6]" {
		t.Errorf("asked after rounds %s, want after 4 and 6: from plan.runs on, even ones", got)
	}
	m, err := ReadManifest(s.Dir)
	if err != nil || m.Stopped == nil || m.Stopped.Reason != "narrow enough" || m.Repeats != 12 || m.Until == "" {
		t.Fatalf("manifest %+v, %v", m.Stopped, err)
	}
	if got := string(m.States); got != "kkkkkkkkkkkk............" {
		t.Errorf("states %s", got)
	}
	// A resume has nothing to do, and says the same.
	f.asked = nil
	sum, err = Resume(t.Context(), s.Dir, s, resumeOptions(s))
	if err != nil || !sum.Done() || sum.Stopped == nil || len(x.jobs) != 12 || f.asked != nil {
		t.Errorf("resume: %+v, %v, %d runs", sum, err, len(x.jobs))
	}
}

func TestUntilStopsInAResumeWhereItWouldHave(t *testing.T) {
	for n := range 13 {
		s, x, _ := untilSession(t, 12)
		ctx, cancel := context.WithCancel(t.Context())
		x.answer = func(_ context.Context, i int, _ Job) (Result, error) {
			if i == n {
				cancel()
				return Result{Interrupted: true}, nil
			}
			return Result{Wall: time.Second}, nil
		}
		_, err := Execute(ctx, s)
		cancel()
		if n < 12 && !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
		x.jobs, x.answer = nil, nil
		s.Stopper = &fakeStopper{after: 12}
		sum, err := Resume(t.Context(), s.Dir, s, resumeOptions(s))
		if err != nil || sum.Stopped == nil || sum.Stopped.Block != 6 || len(x.jobs) != 12-n {
			t.Errorf("interrupted at %d: %+v, %v, %d runs more", n, sum.Stopped, err, len(x.jobs))
		}
	}
}

func TestUntilNeverMet(t *testing.T) {
	s, x, f := untilSession(t, 1000)
	sum, err := Execute(t.Context(), s)
	if err != nil || !sum.Done() || sum.Stopped != nil || len(x.jobs) != 24 {
		t.Errorf("%+v, %v, %d runs", sum, err, len(x.jobs))
	}
	if got := fmt.Sprint(f.asked); got != "[4 6 8 10]" {
		t.Errorf("asked after rounds %s", got)
	}
}

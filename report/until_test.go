package report

import (
	"strings"
	"testing"

	"goset/harness"
)

func TestStopper(t *testing.T) {
	rs := compared{n: 60, scale: 1}.build().rs // CV 1%: at n = 10 the median is known to about ±0.7%
	stopAt := func(u harness.Until) (int, string) {
		s := NewStopper(&harness.Experiment{Plan: harness.PlanSpec{Baseline: "unpinned", Until: &u}})
		for i := range rs {
			if i > 0 && rs[i].Block != rs[i-1].Block {
				if reason, ok := s.Enough(rs[i-1].Block); ok {
					return rs[i-1].Block, reason
				}
			}
			s.Observe(&rs[i])
		}
		return 0, ""
	}
	early, reason := stopAt(harness.Until{Median: 0.02})
	if early < 6 || early > 10 || !strings.HasPrefix(reason, "every median to ±2% (widest: median ±") {
		t.Errorf("±2%% reached after %d rounds: %q", early, reason)
	}
	late, _ := stopAt(harness.Until{Median: 0.005})
	if late <= early {
		t.Errorf("±0.5%% reached after %d rounds, ±2%% after %d", late, early)
	}
	if at, _ := stopAt(harness.Until{SDRatio: 0.8}); at < 7 || at > 40 {
		t.Errorf("sd ratios to ±80%% reached after %d rounds", at)
	}
	if at, reason := stopAt(harness.Until{Median: 0.02, SDRatio: 0.01}); at != 0 {
		t.Errorf("sd ratios to ±1%% reached after %d rounds: %s", at, reason)
	}
}

func TestStopperWithoutRuns(t *testing.T) {
	if s := NewStopper(&harness.Experiment{}); s != nil {
		t.Error("a stopper of a plan that does not ask for one")
	}
	s := NewStopper(&harness.Experiment{Plan: harness.PlanSpec{Until: &harness.Until{Median: 1}}})
	if reason, ok := s.Enough(0); ok {
		t.Errorf("enough of nothing: %q", reason)
	}
}

package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		caused, idle uint64
		silent       bool
		verdict      string
	}{
		{0, 0, true, "silent"},
		{2, 0, true, "silent"},
		{60, 50, true, "silent"},
		{1000, 0, false, "loud: 1 "},
		{101, 50, false, "loud"},
		{500, 400, false, "not proven: 400"},
	} {
		r := AuditRow{Reads: 1000, Caused: IPIs{Call: c.caused, Local: 9999}, Idle: IPIs{Reschedule: c.idle}}
		r.judge()
		if r.Silent != c.silent || !strings.HasPrefix(r.Verdict, c.verdict) {
			t.Errorf("%d and %d: %v %q", c.caused, c.idle, r.Silent, r.Verdict)
		}
	}
}

// TestAuditWithoutControl: files that nobody counts in prove nothing.
func TestAuditWithoutControl(t *testing.T) {
	f := writeTree(t, map[string]string{
		"proc/sys/kernel/osrelease": audited61,
		"proc/sys/kernel/version":   "#1 SMP\n",
		"proc/interrupts":           "CPU0 CPU1\nCAL: 1 2 Function call interrupts\nIPI0: 3 4 Rescheduling interrupts\n",
		"proc/stat":                 "cpu0 1 1 1 1\n",
		"proc/sys/vm/stat_refresh":  "\n",
		"proc/7/task/7/schedstat":   "1 1 1\n",
	})
	a, err := f.Audit(context.Background(), AuditOptions{Target: Target{CPU: 1, PID: 7}, Reads: 3})
	if err != nil {
		t.Fatal(err)
	}
	if a.Seen || len(a.Proven()) != 0 || a.Control.Reads != controlReads {
		t.Errorf("%+v proves %v", a, a.Proven())
	}
	read := func(name string) int {
		i := slices.IndexFunc(a.Sources, func(r AuditRow) bool { return r.Source == name })
		return a.Sources[i].Reads
	}
	if read(SourceInterrupts) != 3 || read(SourceDelay) != 3 || read(SourceFrequency) != 0 {
		t.Errorf("reads: %+v", a.Sources)
	}
	if _, err := f.Audit(context.Background(), AuditOptions{Target: Target{CPU: 5}, Reads: 3}); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Errorf("CPU 5: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Audit(ended, AuditOptions{Target: Target{CPU: 1}, Reads: 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

package harness

import (
	"context"
	"time"
)

// Clock is the time that Execute goes by, so that tests need not wait.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or for the end of the context, whose error it returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// machineClock is the machine's own clock.
type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

func (machineClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

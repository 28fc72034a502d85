//go:build !linux

package workloads

import "time"

// clock reads the runtime's monotonic clock.
type clock struct{ epoch time.Time }

func (c *clock) init() { c.epoch = time.Now() }

// now returns nanoseconds since an arbitrary instant.
func (c *clock) now() int64 { return int64(time.Since(c.epoch)) }

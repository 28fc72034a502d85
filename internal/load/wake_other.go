//go:build !linux

package load

import "time"

// Wake sleeps until a timer wakes it, perSecond times a second. It does not
// return.
func Wake(perSecond int) {
	for period := time.Second / time.Duration(perSecond); ; {
		time.Sleep(period)
	}
}

//go:build !linux

package isolation

import "goset/cpulist"

// Foresee fails: there is no layer here that changes the machine.
func Foresee(string, Mode, cpulist.Set) (Forecast, error) { return nil, noSession() }

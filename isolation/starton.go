package isolation

import (
	"fmt"

	"goset/cpulist"
)

// StartOn runs start, which creates a process, while the calling thread, to
// which the caller has locked its goroutine, may use the CPUs alone: the process
// inherits that. No CPUs: start is run as it is. An error beside a process that
// start made means that the thread could not get its own CPUs back.
func StartOn(cpus cpulist.Set, start func() error) error {
	if cpus.Empty() {
		return start()
	}
	p := newPin(cpus)
	restore, err := p.enter()
	if err != nil {
		return fmt.Errorf("cannot set the affinity to %s: %w", cpus, err)
	}
	err = start()
	if rerr := restore(); rerr != nil && err == nil {
		err = fmt.Errorf("cannot take the starting thread off %s: %w", cpus, rerr)
	}
	return err
}

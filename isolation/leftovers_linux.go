package isolation

import (
	"errors"
	"os"
)

// Leftovers lists the journals in a folder ("": DefaultState) whose writer is
// gone: what Restore would undo. It changes nothing.
func Leftovers(state string) ([]string, error) {
	if state == "" {
		state = DefaultState
	}
	f, err := openFolder(state, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.close()
	names, err := f.journals()
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, name := range names {
		if pid, start := writerOf(name); !lives(machine{}, pid, start) {
			stale = append(stale, name)
		}
	}
	return stale, nil
}

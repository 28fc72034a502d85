package isolation

import (
	"errors"
	"os"
	"slices"
)

// Leftovers lists the journals in a folder ("": DefaultState) whose writer is
// gone: what Restore would undo. It changes nothing. Journals that this user can
// read and that hold nothing of this boot are not among them: what they undo ended
// with it.
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
		if pid, start := writerOf(name); !lives(machine{}, pid, start) && !f.isForeign(name) {
			stale = append(stale, name)
		}
	}
	return stale, nil
}

// isForeign tells a journal without an entry of this boot. Of one that cannot be
// read, or only in part, it is not known.
func (f *folder) isForeign(name string) bool {
	boot, err := machine{}.bootID()
	if err != nil {
		return false
	}
	file, err := f.open(name)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer file.Close()
	entries, faults := parseJournal(file)
	return len(faults) == 0 && !slices.ContainsFunc(entries, func(e Entry) bool { return e.Boot == boot })
}

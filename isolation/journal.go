package isolation

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

// Journal is the write-ahead list of what was changed on the machine. Each
// change is one Set: read the old value, append the entry, sync, write, read
// back, compare. The journal is the only undo there is: leaving, a signal, the
// guard and a later restore all replay it backwards.
//
// A Journal is not safe for concurrent use.
type Journal struct {
	kernel  kernel
	file    *os.File
	boot    string
	entries []Entry
	ends    []int64 // of each entry, in the file
}

// newJournal writes to a file that is empty and locked.
func newJournal(k kernel, file *os.File, boot string) *Journal {
	return &Journal{kernel: k, file: file, boot: boot}
}

// SetError says which change could not be made. What was changed in spite of
// it is in the journal.
type SetError struct {
	Kind               Kind
	Object, Value, Old string
	// Got is what was read back; "" when the write itself failed.
	Got string
	Err error // of the write; nil when it succeeded and another value came of it
}

// Error names the object, the value, and what is there instead.
func (e *SetError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("cannot set %s to %q: %v", e.Object, e.Value, e.Err)
	}
	return fmt.Sprintf("cannot set %s to %q: it reads %q after the write", e.Object, e.Value, e.Got)
}

func (e *SetError) Unwrap() error { return e.Err }

// isRefusal tells a change that the kernel refused from a journal that cannot be
// written.
func isRefusal(err error) bool {
	var refused *SetError
	return errors.As(err, &refused)
}

// Set puts a value in force. When the object has it already nothing is written
// and nothing is left to undo. The error is a *SetError when the kernel
// refused, or took the value and made another of it.
func (j *Journal) Set(name Kind, object, value string) error { return j.SetAs(name, object, value, "") }

// SetAs is Set with a label for the messages of an undo.
func (j *Journal) SetAs(name Kind, object, value, label string) error {
	k, e, err := j.entry(name, object, value, label)
	if err != nil {
		return err
	}
	if e.Old, err = k.read(j.kernel, object); err != nil {
		return &SetError{Kind: name, Object: object, Value: value, Err: err}
	}
	if k.equal(e.Old, value) {
		return nil
	}
	if err := j.append(e); err != nil {
		return err
	}
	if err := k.write(j.kernel, object, value); err != nil {
		return &SetError{Kind: name, Object: object, Value: value, Old: e.Old, Err: err}
	}
	got, err := k.read(j.kernel, object)
	if err != nil {
		return &SetError{Kind: name, Object: object, Value: value, Old: e.Old, Err: err}
	}
	if !k.equal(got, value) {
		return &SetError{Kind: name, Object: object, Value: value, Old: e.Old, Got: got}
	}
	return nil
}

// Remember puts a value into the journal that something else is about to
// overwrite: a side effect of the kernel's. becomes is what comes of it.
func (j *Journal) Remember(name Kind, object, becomes, label string) error {
	e, err := j.remembered(name, object, becomes, label)
	if err != nil {
		return err
	}
	return j.append(e)
}

// remembered makes the entry of Remember.
func (j *Journal) remembered(name Kind, object, becomes, label string) (Entry, error) {
	k, e, err := j.entry(name, object, becomes, label)
	if err != nil {
		return e, err
	}
	if e.Old, err = k.read(j.kernel, object); err != nil {
		return e, &SetError{Kind: name, Object: object, Value: becomes, Err: err}
	}
	return e, nil
}

// rememberTask is Remember for the CPUs of a thread that was there at a time, in
// clock ticks since boot.
func (j *Journal) rememberTask(name Kind, t task, becomes string, since uint64) error {
	e, err := j.remembered(name, taskObject(t.tid, t.start), becomes, t.name)
	if err != nil {
		return err
	}
	e.Since = since
	return j.append(e)
}

// Adopt puts an object into the journal that has its value because of a change of
// ours, but was not there, or another one, when that was made. old is what it is
// to have after the undo.
func (j *Journal) Adopt(name Kind, object, old, label string) error {
	k, e, err := j.entry(name, object, old, label)
	if err != nil {
		return err
	}
	e.Old = old
	if e.New, err = k.read(j.kernel, object); err != nil {
		return &SetError{Kind: name, Object: object, Value: old, Err: err}
	}
	return j.append(e)
}

// entry checks a change before anything is touched.
func (j *Journal) entry(name Kind, object, value, label string) (kind, Entry, error) {
	e := Entry{Kind: name, Object: object, Label: label, New: value, Boot: j.boot}
	if err := validEntry(e); err != nil {
		return kind{}, e, err
	}
	k, _ := kindOf(name)
	if k.identify != nil {
		id, err := k.identify(j.kernel, object)
		if err != nil {
			return kind{}, e, &SetError{Kind: name, Object: object, Value: value, Err: err}
		}
		e.Identity = id
	}
	return k, e, nil
}

// append puts an entry on disk before its change is made.
func (j *Journal) append(e Entry) error {
	line, err := e.line()
	if err != nil {
		return err
	}
	at := j.end()
	if _, err := j.file.WriteAt(line, at); err != nil {
		return j.cannotWrite(err, at)
	}
	if err := syncFile(j.file); err != nil {
		return j.cannotWrite(err, at)
	}
	j.entries = append(j.entries, e)
	j.ends = append(j.ends, at+int64(len(line)))
	return nil
}

// cannotWrite takes back what a failed append may have left.
func (j *Journal) cannotWrite(err error, at int64) error {
	return errors.Join(fmt.Errorf("cannot write the journal %s, so nothing more is changed: %w", j.file.Name(), err), j.file.Truncate(at))
}

// syncFile syncs a file; file systems that have nothing to sync say EINVAL.
func syncFile(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

func (j *Journal) end() int64 {
	if len(j.ends) == 0 {
		return 0
	}
	return j.ends[len(j.ends)-1]
}

// has tells whether a value that was set is still to be undone.
func (j *Journal) has(name Kind, object, value string) bool {
	return slices.ContainsFunc(j.entries, func(e Entry) bool { return e.Kind == name && e.Object == object && e.New == value })
}

// Mark is a place in the journal that UndoTo goes back to.
func (j *Journal) Mark() int { return len(j.entries) }

// UndoTo undoes every change made since the mark, the last one first, and
// tries all of them whatever fails. Entries whose undo failed stay in the
// journal.
func (j *Journal) UndoTo(mark int) Undone {
	if mark >= len(j.entries) {
		return Undone{}
	}
	u := undoAll(j.kernel, j.entries[mark:])
	if u.Err != nil {
		// Those that were undone are found in their old state by the next
		// replay, which passes over them.
		return u
	}
	j.entries, j.ends = j.entries[:mark], j.ends[:mark]
	if err := j.file.Truncate(j.end()); err != nil {
		u.Err = fmt.Errorf("cannot shorten the journal %s: %w", j.file.Name(), err)
	}
	return u
}

// Undone is what a replay of the journal did.
type Undone struct {
	Restored int      // objects that have their old value again, but for the guard's
	Left     []string // what is no longer ours to undo, and why
	Err      error    // of every entry that could not be undone
}

// undoTries is how often an entry is tried: what is refused once (EBUSY, while a
// driver or another cgroup is on its way out) may be had a moment later, when
// the others are undone.
const undoTries = 3

// undoAll replays entries backwards. Processes inside cgroups of ours are
// ended before anything else: a real-time task that keeps its CPU busy can
// make the undo of the rest hang.
func undoAll(k kernel, entries []Entry) Undone {
	var u Undone
	var errs []error
	for i := len(entries) - 1; i >= 0; i-- {
		if e := entries[i]; e.Kind == KindCgroup {
			// Its own undo tries again, and tells what is wrong.
			_ = killCgroup(k, e.Object)
		}
	}
	for range undoTries {
		errs, u.Left = errs[:0], nil
		// All of them again, not only those that failed: what is undone late
		// may change what was undone before it, as a cpuset that goes away
		// changes masks. Who has the old value is passed over.
		for i := len(entries) - 1; i >= 0; i-- {
			if err := u.undo(k, entries[:i], entries[i]); err != nil {
				errs = append(errs, err)
			}
		}
		if err := u.heirs(k, entries); err != nil {
			errs = append(errs, err)
		}
		if len(errs) == 0 {
			break
		}
	}
	u.Err = errors.Join(errs...)
	return u
}

// undo undoes one entry when it is still ours to undo. Entries before it may be
// about the same object: their old values are no surprise.
func (u *Undone) undo(k kernel, before []Entry, e Entry) error {
	kd, ok := kindOf(e.Kind)
	if !ok {
		return fmt.Errorf("cannot undo %s: kind %q is not known", e.Object, e.Kind)
	}
	if kd.read == nil {
		return nil
	}
	if gone, err := replaced(k, kd, e); gone || err != nil {
		return err
	}
	current, err := kd.read(k, e.Object)
	switch {
	case isGone(err):
		return nil
	case err != nil:
		return e.cannot(err)
	case kd.lags && kd.equal(current, e.Old):
	case kd.equal(current, e.Old) || slices.ContainsFunc(before, func(b Entry) bool { return b.Object == e.Object && kd.equal(current, b.Old) }):
		return nil
	case !kd.isOurs(current, e.New):
		u.Left = append(u.Left, fmt.Sprintf("%s is %q: somebody else changed it since it was set to %q, so it is left (before: %q)", e.name(), current, e.New, e.Old))
		return nil
	}
	return u.put(k, kd, e)
}

// put puts the old value back and looks whether it is in force.
func (u *Undone) put(k kernel, kd kind, e Entry) error {
	var err error
	if kd.undo != nil {
		err = kd.undo(k, e)
	} else {
		err = kd.write(k, e.Object, e.Old)
	}
	if errors.Is(err, errLeft) {
		return nil
	}
	got, rerr := kd.read(k, e.Object)
	if isGone(rerr) {
		return nil
	}
	// A write that finds nothing there where a read does is a refusal.
	if err = cmp.Or(err, rerr); err != nil {
		return e.cannot(err)
	}
	if !kd.equal(got, e.Old) {
		return e.cannot(fmt.Errorf("it reads %q after the write", got))
	}
	if e.Kind != KindShelter {
		u.Restored++
	}
	return nil
}

// replaced tells whether the name now stands for another object.
func replaced(k kernel, kd kind, e Entry) (bool, error) {
	if kd.identify == nil || e.Identity == "" {
		return false, nil
	}
	id, err := kd.identify(k, e.Object)
	if isGone(err) {
		return true, nil
	}
	if err != nil {
		return false, e.cannot(err)
	}
	return id != e.Identity, nil
}

func (e Entry) cannot(err error) error {
	return fmt.Errorf("cannot set %s back to %q: %w", e.name(), e.Old, err)
}

// name is how messages call the object.
func (e Entry) name() string {
	if e.Label == "" {
		return e.Object
	}
	return e.Object + " (" + e.Label + ")"
}

// replay undoes the journal in a file, of a session that has gone. Entries of
// another boot mean nothing now.
func replay(k kernel, r io.Reader) (Undone, []error) {
	entries, faults := parseJournal(r)
	boot, err := k.bootID()
	if err != nil {
		return Undone{Err: fmt.Errorf("cannot tell this boot: %w", err)}, faults
	}
	var ours []Entry
	old := 0
	for _, e := range entries {
		if e.Boot != boot {
			old++
			continue
		}
		ours = append(ours, e)
	}
	u := undoAll(k, ours)
	if old > 0 {
		u.Left = append(u.Left, fmt.Sprintf("dropped %s of another boot: what it did ended with it", counted(old, "change")))
	}
	return u, faults
}

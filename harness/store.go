package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// store is a result folder that is being written. Its promise: a record that
// append has returned from survives the end of this process, and the folder is
// consistent at every moment, whatever ends the process. Against the end of
// the machine it is held by sync, which waits for the disk and is therefore
// called between runs only.
type store struct {
	dir      string
	records  *os.File // append only; its flock is the folder's lock
	manifest *os.File
	statesAt int64 // offset of the first state's letter in the manifest

	size     int64 // bytes of records, whole lines only
	reserved int64 // bytes that the file system has set aside for records
	largest  int64 // longest record so far
	dirty    bool  // something was written since the last sync

	encoder lineEncoder
	// What goes to the disk goes through these two, so that tests can have a
	// full one and see when it is waited for.
	write func([]byte) (int, error)
	flush func() error
}

// Disk space is set aside ahead of the records, so that a full disk is met
// before a run and not when its record is to be written.
const (
	reserveStep  = 1 << 20   // bytes at a time
	reserveLeft  = 256 << 10 // when so many are left, or four records
	reserveLeast = 16 << 10  // what there must be to go on, or four records
)

// LockedError says that another process works on a result folder.
type LockedError struct{ Dir string }

// Error says what to wait for.
func (e *LockedError) Error() string {
	return fmt.Sprintf("cannot use result folder %q: another goset-bench is running in it (wait until it has ended)", e.Dir)
}

// createStore makes a result folder: experiment.toml, an empty records.jsonl,
// and last the manifest, which says that the folder is whole.
func createStore(dir string, m *Manifest) (*store, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("cannot make result folder %q: %v", dir, err)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read result folder %q: %v", dir, err)
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("cannot write result folder %q: it is not empty (%s)", dir, wayOn(dir))
	}
	s := &store{dir: dir}
	if err := s.openRecords(os.O_CREATE | os.O_EXCL); err != nil {
		return nil, err
	}
	err = s.replace(ExperimentFile, []byte(m.Text))
	if err == nil {
		err = s.writeManifest(m)
	}
	if err != nil {
		return nil, errors.Join(err, s.close(), s.discard())
	}
	return s, nil
}

// wayOn says what can be done about a folder that is not empty. One without a
// manifest was ended before its first run, or is no result folder: there is
// nothing to resume.
func wayOn(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); err != nil {
		return fmt.Sprintf("name another folder, or remove it: it has no %s, so no run has started there", ManifestFile)
	}
	return "name another folder, or go on with: goset-bench resume " + dir
}

// discard removes what createStore made before it failed, so that the folder
// is empty again and can be used once the cause is gone.
func (s *store) discard() error {
	var errs []error
	for _, name := range []string{ManifestFile, ExperimentFile, RecordsFile} {
		if err := os.Remove(filepath.Join(s.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openStore opens a result folder for more records and locks it.
func openStore(dir string) (*store, error) {
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot resume %q: it has no %s, so no run has started there (remove the folder and run the experiment again)", dir, ManifestFile)
	}
	s := &store{dir: dir}
	if err := s.openRecords(0); err != nil {
		return nil, err
	}
	return s, nil
}

// openRecords opens and locks records.jsonl. The lock goes with the process,
// however it ends.
func (s *store) openRecords(flags int) error {
	path := filepath.Join(s.dir, RecordsFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return &LockedError{s.dir} // made since the folder was seen empty
	}
	if err != nil {
		return fmt.Errorf("cannot write result folder %q: %v", s.dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = lockError(s.dir, err)
		return errors.Join(err, f.Close())
	}
	s.records, s.write = f, f.Write
	s.flush = func() error { return errors.Join(s.records.Sync(), s.manifest.Sync()) }
	return nil
}

func lockError(dir string, err error) error {
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &LockedError{dir}
	}
	return fmt.Errorf("cannot lock result folder %q: %v", dir, err)
}

// replace writes a file so that its old or its new text is there at every
// moment, and on disk when it returns.
func (s *store) replace(name string, text []byte) error {
	path := filepath.Join(s.dir, name)
	f, err := os.CreateTemp(s.dir, "."+name+".*")
	if err != nil {
		return fmt.Errorf("cannot write %q: %v", path, err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot write %q: %v", path, err), os.Remove(f.Name()))
	}
	return s.syncFolder()
}

// syncFolder makes new names durable.
func (s *store) syncFolder() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return fmt.Errorf("cannot sync result folder %q: %v", s.dir, err)
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	// Some file systems have no such thing for folders.
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("cannot sync result folder %q: %v", s.dir, err)
	}
	return nil
}

// writeManifest writes the manifest anew and keeps it open for setState.
func (s *store) writeManifest(m *Manifest) error {
	text, at, err := m.encode()
	if err != nil {
		return err
	}
	if err := s.replace(ManifestFile, text); err != nil {
		return err
	}
	path := filepath.Join(s.dir, ManifestFile)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("cannot write %q: %v", path, err)
	}
	if s.manifest != nil {
		err = s.manifest.Close()
	}
	s.manifest, s.statesAt = f, at
	return err
}

// setState writes a run's letter in its place: one byte, so that the file is
// valid JSON before and after.
func (s *store) setState(run int, state byte) error {
	if _, err := s.manifest.WriteAt([]byte{state}, s.statesAt+int64(run)); err != nil {
		return fmt.Errorf("cannot write the state of run %d: %v", run, err)
	}
	s.dirty = true
	return nil
}

// reserve sets disk space aside for the next record. A file system that
// cannot is not an error: then a full disk is met by append.
func (s *store) reserve() error {
	if s.reserved-s.size >= max(reserveLeft, 4*s.largest) {
		return nil
	}
	need := max(reserveLeast, 4*s.largest)
	err := allocate(s.records, s.size, max(reserveStep, 4*need))
	if err == nil {
		s.reserved = s.size + max(reserveStep, 4*need)
		return nil
	}
	// A nearly full disk may still hold what is to come.
	if err = allocate(s.records, s.size, need); err != nil {
		return fmt.Errorf("cannot set %d bytes aside for records in %q: %w (make space, then: goset-bench resume %s)", need, s.dir, err, s.dir)
	}
	return nil
}

// append writes one record as one line by one write. When the line cannot be
// written whole, what was written of it is cut off again.
func (s *store) append(r *Record) error {
	line, err := s.encoder.encode(r)
	if err != nil {
		return err
	}
	n, err := s.write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = fmt.Errorf("cannot write the record of run %d to %q: %w (the run will be repeated; make space, then: goset-bench resume %s)",
			r.Run, s.records.Name(), err, s.dir)
		return errors.Join(err, s.records.Truncate(s.size))
	}
	s.size += int64(n)
	s.largest = max(s.largest, int64(n))
	s.dirty = true
	return nil
}

// present says whether the folder is still there. Whoever removes it while the
// experiment runs takes the records along: they would go on to a file that has
// no name, until the last run.
func (s *store) present() error {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(s.records.Fd()), &st); err != nil {
		return fmt.Errorf("cannot look at the records in %q: %v", s.dir, err)
	}
	if st.Nlink == 0 {
		return fmt.Errorf("cannot go on: %q was removed while the experiment ran, and its records with it (run the experiment again)", s.records.Name())
	}
	return nil
}

// sync waits until everything written is on disk.
func (s *store) sync() error {
	if !s.dirty {
		return nil
	}
	if err := s.flush(); err != nil {
		return fmt.Errorf("cannot sync result folder %q: %w", s.dir, err)
	}
	s.dirty = false
	return nil
}

// close gives back the space set aside, syncs and unlocks.
func (s *store) close() error {
	var errs []error
	// Even to the size that it has: it gives back what was set aside, also by
	// an attempt that failed half way. A folder that was only looked at has
	// nothing to give back.
	if s.manifest != nil {
		errs = append(errs, s.records.Truncate(s.size), s.sync(), s.manifest.Close())
	}
	errs = append(errs, s.records.Close())
	return errors.Join(errs...)
}

// keepOutput writes what a failed or void run wrote to OUTPUT.out and
// OUTPUT.err and gives OUTPUT, relative to the folder; "" when the run wrote
// nothing.
func (s *store) keepOutput(run, attempt int, res *Result) (string, error) {
	if res.Stdout.Total == 0 && res.Stderr.Total == 0 {
		return "", nil
	}
	if err := os.MkdirAll(filepath.Join(s.dir, OutputFolder), 0o777); err != nil {
		return "", fmt.Errorf("cannot keep the output of run %d: %v", run, err)
	}
	name := filepath.Join(OutputFolder, fmt.Sprintf("run-%06d-%d", run, attempt))
	for _, f := range []struct {
		ext    string
		stream *Stream
	}{{".out", &res.Stdout}, {".err", &res.Stderr}} {
		if f.stream.Total == 0 {
			continue
		}
		path := filepath.Join(s.dir, name+f.ext)
		if err := writeStream(path, f.stream); err != nil {
			// Half an output would be taken for the whole.
			return "", errors.Join(fmt.Errorf("cannot keep the output of run %d: %w", run, err), os.Remove(path))
		}
	}
	return name, nil
}

// writeStream writes a stream as far as it was kept, and says in its place
// what is missing.
func writeStream(path string, s *Stream) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(s.Head)
	if err == nil && s.Cut() {
		tail := s.Tail
		if beyond := s.Total - int64(len(s.Head)); int64(len(tail)) > beyond {
			tail = tail[int64(len(tail))-beyond:]
		}
		missing := s.Total - int64(len(s.Head)) - int64(len(tail))
		if missing > 0 {
			_, err = fmt.Fprintf(f, "\n[goset-bench: %d bytes not kept: the limit is %d of %d]\n", missing, len(s.Head), s.Total)
		}
		if err == nil {
			_, err = f.Write(tail)
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

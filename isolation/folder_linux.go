package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"goset/internal/lazy"
)

// DefaultState is where journals lie. /run ends with the boot, as what they
// undo does.
const DefaultState = "/run/goset"

// folder is where journals lie, open. Everything in it is reached through the
// descriptor, by names that this package makes up, and without following
// links.
type folder struct {
	fd   int
	path string
}

// journalName is what journals are called: the process whose changes they
// hold, and when it was started.
var journalName = lazy.Regexp(`^journal-([1-9][0-9]{0,9})-([0-9]{1,20})$`)

// openFolder opens the folder, with make also where it is not there. Its owner
// and that of every folder above it is root or this user, and nobody else can
// write there: else somebody else could put a journal in its place.
func openFolder(path string, make bool) (*folder, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// Links on the way there are resolved first; the walk then accepts none.
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return nil, fmt.Errorf("cannot use state folder %q: %w", path, err)
	}
	fd, err := walk(filepath.Join(dir, filepath.Base(abs)), make)
	if err != nil {
		return nil, fmt.Errorf("cannot use state folder %q: %w", path, err)
	}
	return &folder{fd, abs}, nil
}

// stateFault says why no journal can be kept in a folder, which need not be there
// yet; nil: nothing is known against it.
func stateFault(path string) error {
	at := path
	f, err := openFolder(path, false)
	switch {
	case err == nil:
		f.close()
	case errors.Is(err, fs.ErrNotExist):
		at = filepath.Dir(path)
	default:
		return err
	}
	if err := unix.Faccessat(unix.AT_FDCWD, at, unix.W_OK, 0); err != nil {
		return fmt.Errorf("cannot use state folder %q: %w", path, err)
	}
	return nil
}

// walk opens a folder from the root on, element by element.
func walk(path string, make bool) (int, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open("/", flags|unix.O_RDONLY, 0)
	if err != nil {
		return -1, err
	}
	names := strings.Split(strings.Trim(path, "/"), "/")
	for i, name := range names {
		next, err := unix.Openat(at, name, flags|unix.O_RDONLY, 0)
		if errors.Is(err, unix.ENOENT) && make && i == len(names)-1 {
			if err = unix.Mkdirat(at, name, 0o755); err == nil || errors.Is(err, unix.EEXIST) {
				next, err = unix.Openat(at, name, flags|unix.O_RDONLY, 0)
			}
		}
		unix.Close(at)
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: "/" + filepath.Join(names[:i+1]...), Err: err}
		}
		if err := trusted(next, i == len(names)-1); err != nil {
			unix.Close(next)
			return -1, fmt.Errorf("/%s: %w", filepath.Join(names[:i+1]...), err)
		}
		at = next
	}
	return at, nil
}

// trusted refuses a folder in which somebody else could exchange files. Above
// the last one a sticky folder (/tmp) will do.
func trusted(fd int, last bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d, who could exchange what is in it", st.Uid)
	}
	if st.Mode&0o022 != 0 && (last || st.Mode&unix.S_ISVTX == 0) {
		return fmt.Errorf("others than its owner may write in it (mode %#o)", st.Mode&0o7777)
	}
	return nil
}

func (f *folder) close() { unix.Close(f.fd) }

// journals lists the names of the journals in it.
func (f *folder) journals() ([]string, error) {
	// A descriptor of its own: the place in the folder belongs to it.
	fd, err := unix.Openat(f.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot list state folder %q: %w", f.path, err)
	}
	dir := os.NewFile(uintptr(fd), f.path)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("cannot list state folder %q: %w", f.path, err)
	}
	var found []string
	for _, name := range names {
		if journalName().MatchString(name) {
			found = append(found, name)
		}
	}
	return found, nil
}

// create makes and locks the journal of this process.
func (f *folder) create(name string) (*os.File, error) {
	fd, err := unix.Openat(f.fd, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make journal %s: %w", filepath.Join(f.path, name), err)
	}
	file := os.NewFile(uintptr(fd), filepath.Join(f.path, name))
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot lock journal %s: %w", file.Name(), err)
	}
	// The name has to outlive a crash as the entries do.
	if err := unix.Fsync(f.fd); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, errors.Join(fmt.Errorf("cannot sync state folder %q: %w", f.path, err), f.remove(file))
	}
	return file, nil
}

// open opens a journal, which has to be a plain file of this user's that
// nobody else can write and that has no second name.
func (f *folder) open(name string) (*os.File, error) {
	path := filepath.Join(f.path, name)
	if !journalName().MatchString(name) {
		return nil, fmt.Errorf("cannot open journal %q: that is no name of one", name)
	}
	fd, err := unix.Openat(f.fd, name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open journal %s: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot open journal %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 || st.Nlink > 1 {
		file.Close()
		return nil, fmt.Errorf("cannot trust journal %s: it is no plain file of this user's alone (mode %#o, user %d, %s)", path, st.Mode, st.Uid, counted(int(st.Nlink), "name"))
	}
	return file, nil
}

// remove removes a journal and lets go of it. Who waits for its lock finds it
// without a name.
func (f *folder) remove(file *os.File) error {
	err := unix.Unlinkat(f.fd, filepath.Base(file.Name()), 0)
	if errors.Is(err, unix.ENOENT) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("cannot remove journal %s: %w", file.Name(), err)
	}
	return errors.Join(err, file.Close())
}

// removed tells a journal that has been replayed and removed by somebody else.
func removed(file *os.File) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return false, err
	}
	return st.Nlink == 0, nil
}

// writerOf tells from a journal's name whose changes it holds.
func writerOf(name string) (pid int, start uint64) {
	m := journalName().FindStringSubmatch(name)
	if m == nil {
		return 0, 0
	}
	pid, _ = strconv.Atoi(m[1])
	start, _ = strconv.ParseUint(m[2], 10, 64)
	return pid, start
}

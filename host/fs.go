package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"goset/cpulist"
)

// FS is the root under which /proc and /sys are read: "/" (and "") for this
// machine, a folder for another machine's files.
type FS string

// Local is this machine.
const Local FS = "/"

// The bounds on what is read of one file: far above what any kernel prints,
// and small enough that a wrong file does not take the memory. The largest
// text that is read is /proc/interrupts: 8192 CPUs with 2000 rows make 180 MB.
const (
	maxSmallFile = 4 << 20
	maxBigFile   = 512 << 20
)

// Path is where the kernel's file /elem[0]/elem[1]/... lies under this root.
func (f FS) Path(elem ...string) string {
	return filepath.Join(append([]string{f.root()}, elem...)...)
}

func (f FS) root() string {
	if f == "" {
		return string(Local)
	}
	return string(f)
}

// IsLocal reports whether the root is this machine's own.
func (f FS) IsLocal() bool { return f == "" || filepath.Clean(string(f)) == string(Local) }

// open opens a kernel file for reading. Under another root a link that leads
// out of it is refused: it would show this machine's file as that one's.
func (f FS) open(elem ...string) (*os.File, error) {
	if f.IsLocal() {
		return os.Open(f.Path(elem...))
	}
	return os.OpenInRoot(f.root(), filepath.Join(elem...))
}

// read reads a whole kernel file. It does not ask for the size first: files of
// /proc say 0 and those of /sys say 4096.
func (f FS) read(elem ...string) ([]byte, error) {
	return f.readBounded(maxSmallFile, elem...)
}

func (f FS) readBounded(bound int64, elem ...string) ([]byte, error) {
	text, err := f.readUpTo(bound+1, elem)
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > bound {
		return nil, fmt.Errorf("cannot read %s: it is longer than %d bytes", f.Path(elem...), bound)
	}
	return text, nil
}

// readUpTo reads the first n bytes of a file.
func (f FS) readUpTo(n int64, elem []string) ([]byte, error) {
	if f.IsLocal() {
		return readLocal(f.Path(elem...), n)
	}
	file, err := f.open(elem...)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, n))
}

// text reads a one-line file without its line end; NULs are what dumps have
// there, and a device tree always.
func (f FS) text(elem ...string) (string, error) {
	text, err := f.read(elem...)
	return string(bytes.Trim(text, " \t\r\n\x00")), err
}

// number reads a file that holds one decimal number. An empty one holds none:
// no kernel prints it so, and it is what copies have of a file that could not be
// read.
func (f FS) number(elem ...string) (int64, error) {
	text, err := f.text(elem...)
	if err != nil {
		return 0, err
	}
	if text == "" {
		return 0, f.empty(elem)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read %s: %q is not a number", f.Path(elem...), text)
	}
	return n, nil
}

// cpus reads a file that holds a CPU list.
func (f FS) cpus(elem ...string) (cpulist.Set, error) {
	text, err := f.read(elem...)
	if err != nil {
		return cpulist.Set{}, err
	}
	return f.inFile(cpulist.Parse, text, elem)
}

// empty is the error of a file in which nothing stands: its value is absent.
func (f FS) empty(elem []string) error {
	return &fs.PathError{Op: "read", Path: f.Path(elem...), Err: fs.ErrNotExist}
}

// cpuMask reads a file that holds a CPU mask; an empty file holds none, as the
// empty mask is zeros.
func (f FS) cpuMask(elem ...string) (cpulist.Set, error) {
	text, err := f.read(elem...)
	if err != nil {
		return cpulist.Set{}, err
	}
	if len(bytes.Trim(text, " \t\r\n\x00")) == 0 {
		return cpulist.Set{}, f.empty(elem)
	}
	return f.inFile(cpulist.ParseMask, text, elem)
}

func (f FS) inFile(parse func(string) (cpulist.Set, error), text []byte, elem []string) (cpulist.Set, error) {
	set, err := parse(string(text))
	if err != nil {
		return cpulist.Set{}, fmt.Errorf("cannot read %s: %v", f.Path(elem...), err)
	}
	return set, nil
}

// numbered lists the entries of a folder named prefix and a number, as
// cpu0, cpu1: the numbers in ascending order. A folder that is absent has none.
func (f FS) numbered(prefix string, elem ...string) (cpulist.Set, error) {
	dir, err := f.open(elem...)
	if absent(err) {
		return cpulist.Set{}, nil
	}
	if err != nil {
		return cpulist.Set{}, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return cpulist.Set{}, err
	}
	var found []int
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, prefix)
		n, err := strconv.Atoi(digits)
		if ok && err == nil && n >= 0 && n <= cpulist.MaxCPU && strconv.Itoa(n) == digits {
			found = append(found, n)
		}
	}
	return cpulist.Of(found...), nil
}

// absent reports whether the kernel simply does not have a file: the one
// failure that is an absent value and no error. ENODEV and EOPNOTSUPP are how
// drivers say the same of a file that does exist.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNoDevice(err)
}

// optional turns an absent file into a nil value and keeps other errors.
func optional[T any](value T, err error) (*T, error) {
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &value, nil
}

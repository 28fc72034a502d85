package isolation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"goset/cpulist"
	"goset/host"
)

// maxKernelFile bounds what is read of one kernel file.
const maxKernelFile = 4 << 20

// machine is the kernel itself, or with a root that is not "/" a tree of files
// that looks like it.
type machine struct{ root host.FS }

// The magic numbers of the file systems whose files are the kernel's.
// (uapi/linux/magic.h)
var kernelFilesystems = map[int64]string{
	unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs", unix.CGROUP_SUPER_MAGIC: "cgroup", unix.CGROUP2_SUPER_MAGIC: "cgroup2",
}

// open opens a kernel file. Its last element may be no link, and on the
// machine itself it has to lie on a file system of the kernel's: whatever a
// journal says, root writes to nothing else.
func (m machine) open(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(m.root.Path(path), flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if !m.root.IsLocal() {
		return file, nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &st); err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot find out where %s lies: %w", path, err)
	}
	if kernelFilesystems[int64(st.Type)] == "" {
		file.Close()
		return nil, fmt.Errorf("cannot use %s: it is no file of the kernel's", path)
	}
	return file, nil
}

func (m machine) readFile(path string) (string, error) {
	file, err := m.open(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKernelFile+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxKernelFile {
		return "", fmt.Errorf("cannot read %s: it is longer than %d bytes", path, maxKernelFile)
	}
	return strings.TrimRight(string(text), "\n"), nil
}

func (m machine) readPart(path string, size int) (string, error) {
	file, err := m.open(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer file.Close()
	buf := make([]byte, size)
	n, err := file.Read(buf)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return string(buf[:n]), err
}

// writeFile writes the value and a line end: a write of no bytes never reaches
// the kernel, so an empty value could not be written without it.
func (m machine) writeFile(path, value string) error {
	flags := os.O_WRONLY
	if !m.root.IsLocal() {
		flags |= os.O_TRUNC // what a write does to a kernel file
	}
	file, err := m.open(path, flags)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value + "\n")
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

func (m machine) mkdir(path string) error { return os.Mkdir(m.root.Path(path), 0o755) }

func (m machine) rmdir(path string) error {
	if !m.root.IsLocal() {
		// The files of a cgroup go with it; those of a tree have to be told.
		return os.RemoveAll(m.root.Path(path))
	}
	return unix.Rmdir(m.root.Path(path))
}

func (m machine) entries(path string) ([]string, error) {
	dir, err := os.Open(m.root.Path(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// writable asks the kernel, which answers for its superuser, too, when the mount is
// read-only (fs/open.c: do_faccessat).
func (m machine) writable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, m.root.Path(path), unix.W_OK, 0); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

func (m machine) affinity(tid int) (cpulist.Set, error) {
	mask, err := affinity(tid)
	if err != nil {
		return cpulist.Set{}, err
	}
	return setOf(mask), nil
}

func (m machine) setAffinity(tid int, cpus cpulist.Set) error {
	return setAffinity(tid, maskOf(cpus))
}

func (m machine) signal(pid int, start uint64, sig syscall.Signal) error {
	// The descriptor is taken before the process is looked at, so that the
	// signal cannot reach another one that gets the same number.
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if err == nil {
		defer unix.Close(fd)
	}
	now, serr := startOf(m, pid)
	if serr != nil || now != start {
		return unix.ESRCH
	}
	if err != nil {
		return unix.Kill(pid, sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

func (m machine) bootID() (string, error) { return m.readFile("/proc/sys/kernel/random/boot_id") }

func (m machine) ticks() (uint64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("cannot read the time since boot: %w", err)
	}
	return uint64(now.Nano() / int64(host.Tick)), nil
}

func (m machine) self() (int, error) { return os.Getpid(), nil }

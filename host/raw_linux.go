package host

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// Files of procfs and sysfs are read here with raw system calls while a task
// runs: package os asks four more calls per file, and a call that the Go
// scheduler knows of makes it look for work on other threads, which together
// took twice the time of the reading itself. Nothing here blocks: these files
// are made from memory.

// openRaw opens a file; name ends with a NUL.
func openRaw(name []byte) (fd int, err error) {
	at := -100 // AT_FDCWD
	r, _, e := syscall.RawSyscall6(syscall.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&name[0])), syscall.O_RDONLY|syscall.O_CLOEXEC, 0, 0, 0)
	if e != 0 {
		return -1, e
	}
	return int(r), nil
}

func closeRaw(fd int) {
	// A file that was only read loses nothing.
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0)
}

// preadRaw reads at an offset; 0 is the end.
func preadRaw(fd int, buf []byte, at int64) (int, error) {
	for {
		n, _, e := syscall.RawSyscall6(syscall.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), uintptr(at), 0, 0)
		switch e {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, e
		}
	}
}

// numbersRaw lists the names of a folder that are numbers, from its start.
func numbersRaw(fd int, buf []byte, to []int) ([]int, error) {
	if _, _, e := syscall.RawSyscall(syscall.SYS_LSEEK, uintptr(fd), 0, 0); e != 0 {
		return to, e
	}
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		if e == syscall.EINTR {
			continue
		}
		if e != 0 {
			return to, e
		}
		if n == 0 {
			return to, nil
		}
		to = entries(buf[:n], to)
	}
}

// entries reads struct linux_dirent64: inode and offset of 8 bytes, the length
// of the record, a type, and the name up to a NUL.
func entries(buf []byte, to []int) []int {
	const name = 19
	for len(buf) > name {
		size := int(binary.NativeEndian.Uint16(buf[16:]))
		if size <= name || size > len(buf) {
			return to
		}
		text := buf[name:size]
		for i, c := range text {
			if c == 0 {
				text = text[:i]
				break
			}
		}
		if n, ok := parseCount(text); ok && n < 1<<31 {
			to = append(to, int(n))
		}
		buf = buf[size:]
	}
	return to
}

package host

import (
	"errors"
	"io"
	"os"
	"slices"
)

// hotFile is a kernel file that is held open and read again and again, without
// allocations once its buffer has the size of the text.
type hotFile struct {
	file *os.File
	fd   int // of this machine's file; -1: another machine's
	buf  []byte
}

// openHot opens such a file; nil without an error when there is none.
func (f FS) openHot(size int, name string) (*hotFile, error) {
	file, err := f.open(name)
	if Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h := &hotFile{file: file, fd: -1, buf: make([]byte, size)}
	if f.IsLocal() {
		h.fd = int(file.Fd())
	}
	return h, nil
}

// read reads the whole file anew; the text is valid until the next read.
func (h *hotFile) read() ([]byte, error) {
	for n := 0; ; {
		got, err := h.pread(h.buf[n:], int64(n))
		if err != nil {
			return nil, err
		}
		if got == 0 {
			return h.buf[:n], nil
		}
		if n += got; n == len(h.buf) {
			if n > maxBigFile {
				return nil, errors.New("it is too long")
			}
			h.buf = slices.Grow(h.buf, n)[:2*n]
		}
	}
}

func (h *hotFile) pread(buf []byte, at int64) (int, error) {
	if h.fd >= 0 {
		return preadRaw(h.fd, buf, at)
	}
	n, err := h.file.ReadAt(buf, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (h *hotFile) close() error {
	if h == nil {
		return nil
	}
	return h.file.Close()
}

// readSmall reads the start of a file into buf, of a thread that may have ended;
// nil when there is none. name ends with a NUL.
func (f FS) readSmall(name, buf []byte) []byte {
	if f.IsLocal() {
		fd, err := openRaw(name)
		if err != nil {
			return nil
		}
		defer closeRaw(fd)
		// What does not come in one piece is longer than anything read here.
		n, err := preadRaw(fd, buf, 0)
		if err != nil {
			return nil
		}
		return buf[:n]
	}
	file, err := f.open(string(name[1 : len(name)-1]))
	if err != nil {
		return nil
	}
	defer file.Close()
	n, err := io.ReadFull(file, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return buf[:n]
}

// listNumbers lists the names of a folder that are numbers, as readSmall reads.
func (f FS) listNumbers(name, buf []byte, to []int) []int {
	if f.IsLocal() {
		fd, err := openRaw(name)
		if err != nil {
			return to
		}
		defer closeRaw(fd)
		to, err = numbersRaw(fd, buf, to)
		if err != nil {
			return to // it ended meanwhile
		}
		return to
	}
	dir, err := f.open(string(name[1 : len(name)-1]))
	if err != nil {
		return to
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return to
	}
	return append(to, numbers(names)...)
}

//go:build !linux

package host

import (
	"io"
	"os"
)

// readLocal reads the first n bytes of a file.
func readLocal(path string, n int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, n))
}

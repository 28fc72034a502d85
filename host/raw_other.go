//go:build !linux

package host

// Nothing is polled on other systems.

func openRaw([]byte) (int, error) { return -1, ErrUnsupported }

func closeRaw(int) {}

func preadRaw(int, []byte, int64) (int, error) { return 0, ErrUnsupported }

func numbersRaw(_ int, _ []byte, to []int) ([]int, error) { return to, ErrUnsupported }

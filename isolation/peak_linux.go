package isolation

import "os"

// DropPeak makes the kernel forget how much memory this process once used. A
// child's ru_maxrss starts at its parent's peak, so a parent that was large for
// a moment would hide what every later child uses. Kernels without
// CONFIG_PROC_PAGE_MONITOR refuse.
func DropPeak() error {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

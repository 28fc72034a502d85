package workloads

import "golang.org/x/sys/cpu"

// vectorPaths asks the CPU and, since the wide registers must be saved on a
// context switch, the operating system.
func vectorPaths() []string {
	var paths []string
	if cpu.X86.HasAVX512F {
		paths = append(paths, PathAVX512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		paths = append(paths, PathAVX2)
	}
	return paths
}

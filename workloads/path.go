package workloads

import "strings"

// The paths of a vectorized kernel.
const (
	PathAuto     = "auto" // the first of Paths
	PathAVX512   = "avx512"
	PathAVX2     = "avx2" // with FMA
	PathPortable = "portable"
)

// Paths returns the paths that this machine can run, best first; the last is
// always PathPortable.
func Paths() []string { return append(vectorPaths(), PathPortable) }

// ResolvePath turns PathAuto into the best path and holds any other one to
// what this machine can run; the error is a *ParamError.
func ResolvePath(kernel, want string) (string, error) {
	paths := Paths()
	for _, p := range paths {
		if want == PathAuto || want == p {
			return p, nil
		}
	}
	rule := "must be auto or what this machine can run: " + strings.Join(paths, ", ")
	return "", &ParamError{Kernel: kernel, Param: "path", Rule: rule, Value: want}
}

// The paths as a word of a child's arguments.
const (
	CodePortable = iota
	CodeAVX2
	CodeAVX512
)

// PathCode is the word of a path that [ResolvePath] gave.
func PathCode(path string) uint64 {
	switch path {
	case PathAVX512:
		return CodeAVX512
	case PathAVX2:
		return CodeAVX2
	}
	return CodePortable
}

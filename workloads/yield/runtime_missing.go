//go:build !runtimeyield

package yield

// runtimeYield is nil: this toolchain has no such function.
var runtimeYield func()

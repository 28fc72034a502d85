//go:build runtimeyield

package yield

import "runtime"

// runtimeYield is the proposed function of the runtime. No released toolchain
// has it: the tag is for one that was built with it.
var runtimeYield = runtime.Yield

package harness

import (
	"regexp"
	"sync"
)

// lazyRegexp compiles an expression when it is first used. Compiled at start,
// the package's expressions cost a bundled kernel's process a millisecond in
// which Go's monitor thread wakes up next to what is to be measured.
func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

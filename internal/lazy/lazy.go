// Package lazy holds values that are made when they are first used.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression when it is first used. Compiled at start, the
// expressions of all packages cost a bundled kernel's process a millisecond in
// which Go's monitor thread wakes up next to what is to be measured.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

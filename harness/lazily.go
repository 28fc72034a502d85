package harness

import (
	"regexp"
	"sync"
)

// lazily compiles a pattern when it is first needed: compiling all of them at
// the start took 1.2 ms of every process, more than running `true` does.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

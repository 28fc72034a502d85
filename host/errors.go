package host

import "errors"

// ErrUnsupported is what reading gives on systems that are not Linux.
var ErrUnsupported = errors.New("only Linux has this")

// Package cli is what the commands of the project have in common: how flags
// are written, what a version looks like, and what was probably meant.
package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/agnivade/levenshtein"
	"golang.org/x/term"
)

// OneDash lets every long flag be written with one dash, as Go's own tools
// do: pflag would read -runs as a cluster of one-letter flags. Words after
// "--" are the command's that is run and stay as they are.
func OneDash(args []string) []string {
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if len(arg) > 2 && arg[0] == '-' && letter(arg[1]) && arg[2] != '=' && !digit(arg[2]) {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

// Nearest is "" or a hint that names the candidate closest to word: with three
// letters wrong at most, and less than half of them.
func Nearest(word string, candidates []string) string {
	best, at := "", min(4, len(word)/2+1)
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(c)); d < at && d < len(c) {
			best, at = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// Version is the module's version as the toolchain stamped it, with the
// revision where the build knew it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown " + runtime.Version()
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			v += " " + s.Value[:12]
		}
	}
	return v + " " + runtime.Version()
}

// Terminal reports whether w is one.
func Terminal(w io.Writer) bool {
	f, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// Width is the columns of the terminal that w is; 0: it is none, or does not say.
func Width(w io.Writer) int {
	if f, isFile := w.(*os.File); isFile && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// Color decides whether w gets colour: as want says; "auto" is colour on a
// terminal unless NO_COLOR is set.
func Color(want string, w io.Writer) (bool, error) {
	switch want {
	case "auto":
		return Terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
	case "always":
		return true, nil
	case "never":
		return false, nil
	}
	return false, fmt.Errorf("cannot use color = %q: want auto, always or never", want)
}

// CheckedWriter keeps the first error of its writer: the command tree drops
// those of its help texts, and a list that no disk took is not done.
type CheckedWriter struct {
	io.Writer
	Err error
}

// Write writes on, whatever failed before.
func (c *CheckedWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if c.Err == nil {
		c.Err = err
	}
	return n, err
}

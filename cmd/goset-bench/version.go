package main

import (
	"runtime"
	"runtime/debug"

	"github.com/agnivade/levenshtein"
)

// version is the module's version as the toolchain stamped it, with the
// revision where the build knew it.
func version() string {
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

func distance(a, b string) int { return levenshtein.ComputeDistance(a, b) }

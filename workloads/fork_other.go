//go:build !linux || !(amd64 || arm64)

package workloads

// forkable is whether children without a Go runtime can be had here.
const forkable = false

type hostChild struct{}

func (g *gate) passShared() {}

func measureForked(m Measurement) (*Result, error) { return measureInProcess(m) }

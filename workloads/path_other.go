//go:build !amd64

package workloads

func vectorPaths() []string { return nil }

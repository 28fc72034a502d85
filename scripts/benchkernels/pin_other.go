//go:build !linux

package main

import (
	"errors"
	"os"
	"os/exec"
)

var errLinux = errors.New("needs Linux: nothing can be pinned here")

func chooseCPU(int) (int, error)             { return 0, errLinux }
func startPinned(*exec.Cmd, int) error       { return errLinux }
func contextSwitches(*os.ProcessState) int64 { return 0 }

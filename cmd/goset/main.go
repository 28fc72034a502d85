// Command goset runs one command on the quietest CPUs of a Linux machine and
// reports what the operating system did to it.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

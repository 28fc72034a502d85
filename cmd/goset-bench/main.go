// Command goset-bench runs declared experiments: workloads under modes of
// isolation, in randomized blocks, with a table that says how sure it is.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

package isolation

import "fmt"

// counted is a number of things: "1 change", "2 changes".
func counted(n int, noun string) string { return several(n, noun, noun+"s") }

// several is counted for nouns that take no s.
func several(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

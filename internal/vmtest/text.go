package vmtest

import "strconv"

// itoa is for the numbers in shell lines.
func itoa(n int) string { return strconv.Itoa(n) }

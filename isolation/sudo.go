package isolation

import "strconv"

// SudoCaller is the user who started this process through sudo, as a number;
// "" where that is not known, or was root. Children are run as that user by
// default: root is not theirs to have. getenv is os.Getenv, euid os.Geteuid().
func SudoCaller(getenv func(string) string, euid int) string {
	if euid != 0 {
		return ""
	}
	id, err := strconv.ParseUint(getenv("SUDO_UID"), 10, 32)
	if err != nil || id == 0 || id == 1<<32-1 {
		return ""
	}
	return strconv.FormatUint(id, 10)
}

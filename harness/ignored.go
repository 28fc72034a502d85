package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ignoreAll is the .gitignore of a folder whose files are no repository's,
// itself among them.
const ignoreAll = "# Made by goset-bench: results are no part of the repository that they are run in.\n*\n"

// makeIgnored makes a folder with a .gitignore in it. One that is there is its
// owner's, and stays as it is. There is no CACHEDIR.TAG: results cannot be made
// again, and backups are to have them.
func makeIgnored(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		if err = os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignoreAll), 0o666); err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot make folder %q for results: %v", dir, err)
	}
	return nil
}

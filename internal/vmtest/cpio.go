package vmtest

import (
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
)

// The types of a file in an archive, as in its mode word.
const (
	modeDir     = 0o040000
	modeRegular = 0o100000
	modeLink    = 0o120000
)

// archive is an initramfs in the making: a cpio archive of the "newc" kind
// (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	entries map[string]entry
}

type entry struct {
	mode uint32
	data []byte
}

func newArchive() *archive { return &archive{map[string]entry{}} }

// file adds a regular file and the folders that lead to it.
func (a *archive) file(name string, perm uint32, data []byte) { a.add(name, modeRegular|perm, data) }

// link adds a symbolic link.
func (a *archive) link(name, target string) { a.add(name, modeLink|0o777, []byte(target)) }

// dir adds a folder.
func (a *archive) dir(name string) { a.add(name, modeDir|0o755, nil) }

func (a *archive) add(name string, mode uint32, data []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := a.entries[dir]; !ok {
			a.entries[dir] = entry{mode: modeDir | 0o755}
		}
	}
	a.entries[name] = entry{mode, data}
}

// write sends the archive; a folder comes before what is in it, as the kernel
// wants it.
func (a *archive) write(w io.Writer) error {
	names := make([]string, 0, len(a.entries))
	for name := range a.entries {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		if err := writeEntry(w, i+1, name, a.entries[name]); err != nil {
			return err
		}
	}
	return writeEntry(w, 0, "TRAILER!!!", entry{})
}

// writeEntry writes one header, name and body; name and body end on a multiple
// of four bytes.
func writeEntry(w io.Writer, inode int, name string, e entry) error {
	const magic, headerSize = "070701", 110
	links := 1
	fields := []int{inode, int(e.mode), 0, 0, links, 0, len(e.data), 0, 0, 0, 0, len(name) + 1, 0}
	header := magic
	for _, f := range fields {
		header += fmt.Sprintf("%08X", f)
	}
	named := header + name + "\x00" + strings.Repeat("\x00", pad(headerSize+len(name)+1))
	if _, err := io.WriteString(w, named); err != nil {
		return err
	}
	if _, err := w.Write(e.data); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.Repeat("\x00", pad(len(e.data))))
	return err
}

func pad(n int) int { return (4 - n%4) % 4 }

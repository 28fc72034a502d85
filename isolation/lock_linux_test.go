package isolation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockedBy: the holder is named without the lock being touched.
func TestLockedBy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := LockedBy(path); !os.IsNotExist(err) {
		t.Errorf("a lock that is not there: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if who, err := LockedBy(path); who != "" || err != nil {
		t.Errorf("a free lock is held by %q, %v", who, err)
	}
	lock, err := lockMachine(context.Background(), path, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	who, err := LockedBy(path)
	if !strings.HasPrefix(who, fmt.Sprintf("process %d (", os.Getpid())) || err != nil {
		t.Errorf("held by %q, %v", who, err)
	}
	if err := lock.unlock(); err != nil {
		t.Fatal(err)
	}
	if who, err := LockedBy(path); who != "" || err != nil {
		t.Errorf("freed, it is held by %q, %v", who, err)
	}
}

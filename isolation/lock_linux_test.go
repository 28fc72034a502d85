package isolation

import (
	"context"
	"errors"
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
	lock, err := lockMachine(context.Background(), path, lockAlone, 0, nil)
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

// TestVisit: visits go side by side, and no session beside one.
func TestVisit(t *testing.T) {
	o := testOptions(t)
	visit := func() *Visit {
		t.Helper()
		v, err := NewVisit(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	one, other := visit(), visit()
	refused := func(err error) {
		t.Helper()
		if locked, ok := errors.AsType[*LockedError](err); !ok || locked.Holder.PID != os.Getpid() {
			t.Errorf("error %v", err)
		}
	}
	_, err := Open(t.Context(), o)
	refused(err)
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	_, err = Open(t.Context(), o)
	refused(err)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewVisit(t.Context(), o)
	refused(err)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	o.Lock = filepath.Join(t.TempDir(), "nowhere")
	if _, err := NewVisit(t.Context(), o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no lock: %v", err)
	}
}

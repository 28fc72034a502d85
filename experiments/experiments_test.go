package experiments

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestNamesAndRead(t *testing.T) {
	want := []string{"published", "quickstart", "sweep-flags", "sweep-n", "three-conditions", "three-conditions-container", "yield"}
	if got := Names(); !reflect.DeepEqual(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	for _, name := range Names() {
		if text, err := Read(name); err != nil || !bytes.Contains(text, []byte("title = ")) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := Read("none"); err == nil || text != nil || !strings.Contains(err.Error(), `"none"`) || !strings.Contains(err.Error(), "quickstart") {
		t.Errorf("%q, %v", text, err)
	}
}

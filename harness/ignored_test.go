package harness

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMakeIgnored(t *testing.T) {
	for _, tt := range []struct {
		name  string
		there []string // files of the folder before; nil: no folder
		want  string   // of .gitignore; "": none
	}{
		{"no folder", nil, ignoreAll},
		{"an empty folder", []string{}, ""},
		{"a folder with results", []string{"x"}, ""},
		{"a folder with its own", []string{".gitignore"}, ".gitignore"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "results")
			if tt.there != nil {
				if err := os.Mkdir(dir, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range tt.there {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			// Twice: the second start finds what the first one made.
			for range 2 {
				if err := makeIgnored(dir); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
			if tt.want == "" != os.IsNotExist(err) || string(got) != tt.want {
				t.Errorf(".gitignore is %q (%v), want %q", got, err, tt.want)
			}
		})
	}
	if err := makeIgnored(filepath.Join(t.TempDir(), "no", "results")); err == nil {
		t.Error("a folder was made in none")
	}
}

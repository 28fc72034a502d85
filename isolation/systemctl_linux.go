package isolation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// unitPatience bounds a call of systemctl: a unit's stop alone may take 90 s,
// and what hangs longer than this is reported rather than waited for.
const unitPatience = 20 * time.Second

func (m machine) systemctl(args ...string) (string, error) {
	if !m.root.IsLocal() {
		return "", fmt.Errorf("cannot run systemctl below %s: %w", m.root, errors.ErrUnsupported)
	}
	// Not from PATH: this runs as root, also from a guard that has the
	// environment of whoever started goset.
	for _, path := range []string{"/usr/bin/systemctl", "/bin/systemctl"} {
		if _, err := os.Stat(path); err == nil {
			return runSystemctl(path, args)
		}
	}
	return "", fmt.Errorf("cannot find systemctl: %w", os.ErrNotExist)
}

func runSystemctl(path string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), unitPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"--no-ask-password", "--no-pager"}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("cannot %q: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return text, nil
}

package procplugin

import (
	"time"

	"github.com/bb-kernel/bb/pluginsdk"
)

// OpenImpatient is Open with short waits.
func OpenImpatient(dir string) (*pluginsdk.Plugin, error) {
	const short = 3 * time.Second // a busy machine starts a program slowly
	return open(dir, Options{}, waits{initialize: short, pingEvery: short / 30, pingTimeout: short / 2, write: short / 2})
}

package host

import (
	"testing"

	"github.com/matryer/is"
)

func TestWindowsPaths(t *testing.T) {
	for path, fine := range map[string]bool{
		`C:\work\a.txt`:        true,
		`C:/work/a.txt`:        true,
		`sub\a`:                true,
		`..\a`:                 true,
		`.\a`:                  true,
		`common\lpt`:           true,
		`C:a`:                  false, // the drive's current folder
		`\a`:                   false, // the current drive
		`\\server\share\a`:     false,
		`\\?\C:\a`:             false,
		`\\.\pipe\x`:           false,
		`a:stream`:             false,
		`C:\a:stream`:          false,
		`C:\a.`:                false, // the same file as C:\a
		`C:\a \b`:              false,
		`C:\nul`:               false,
		`C:\sub\CON.txt`:       false,
		`com1`:                 false,
		`LPT9.log`:             false,
		`lpt` + "\u00b2" + `.`: false,
		`conin$`:               false,
		`a?b`:                  false,
	} {
		t.Run(path, func(t *testing.T) {
			is.New(t).Equal(checkWindows(path) == nil, fine)
		})
	}
}

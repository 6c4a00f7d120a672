package program

import (
	"strings"
	"testing"
	"time"
)

// Whatever a config file holds, reading it ends with settings or with an error that says something.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"listen":"127.0.0.1:0"}`, `{"tls":{"cert":"c","key":"k"},"hosts":["a"]}`, `{"tls":null}`, `{"listne":1}`, `[`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s settings
		given, err := decode(raw, &s)
		switch {
		case err != nil && strings.TrimSpace(err.Error()) == "":
			t.Fatal("an error without words")
		case err == nil && s.LogLevel == "":
			t.Fatal("a default is missing")
		case err != nil && given != nil:
			t.Fatal("keys of a file that was refused")
		}
	})
}

// Every command line is read or refused, and each word of it is accounted for.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"--listen a:1", "token create x --scope=read", "-- --x", "-h", "--", "-", "--=", "--listen"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		flags, err := parse(args)
		if err == nil && len(flags.words) > len(args) {
			t.Fatalf("%d words of %d arguments", len(flags.words), len(args))
		}
	})
}

func FuzzExpiry(f *testing.F) {
	for _, seed := range []string{"2027-01-31", "2027-01-31T00:00:00Z", "720h", "P30D", `"`, "-1h"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if at, err := expiry(text, now); err != nil && !at.IsZero() {
			t.Fatal("a time with an error")
		}
	})
}

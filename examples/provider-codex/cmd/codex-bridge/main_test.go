package main

import "testing"

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		code int
	}{
		{"help", []string{"--help"}, 0},
		{"unknown", []string{"--nonsense"}, 2},
		{"set-without-value", []string{"--set", "NAME"}, 2},
		{"reserved-name", []string{"--set", "BB_X=1"}, 2},
		{"no-program", []string{"--", ""}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if code := run(test.args); code != test.code {
				t.Errorf("it exits with %d, not %d", code, test.code)
			}
		})
	}
}

package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/word"
)

// flags are the words of a command line; nil is a flag that was not given.
type flags struct {
	listen, dataDir, config, logLevel, logFormat *string
	scope, expires                               *string // of token create

	insecure, noExamples, development, printConfig, version, help bool

	words []string // what is no flag
}

// UsageError says what is wrong with a command line.
type UsageError struct{ Problem string }

// Error returns the problem and where to read more.
func (e *UsageError) Error() string { return e.Problem + "; `bb-server --help` shows what there is" }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// parse reads a command line: --x v, --x=v, and -- before words that begin with a dash. A flag is given once.
func parse(args []string) (*flags, error) {
	f := &flags{}
	values := map[string]**string{
		"listen": &f.listen, "data-dir": &f.dataDir, "config": &f.config, "log-level": &f.logLevel, "log-format": &f.logFormat, "scope": &f.scope, "expires": &f.expires,
	}
	switches := map[string]*bool{
		"insecure": &f.insecure, "no-builtin-examples": &f.noExamples, "development": &f.development, "print-config": &f.printConfig, "version": &f.version, "help": &f.help,
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			f.words = append(f.words, args...)
			return f, nil
		case arg == "-h":
			f.help = true
			continue
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			f.words = append(f.words, arg)
			continue
		}
		name, value, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if on := switches[name]; on != nil && strings.HasPrefix(arg, "--") {
			if inline {
				return nil, usage("--%s takes no value", name)
			}
			*on = true
			continue
		}
		target := values[name]
		switch {
		case target == nil || !strings.HasPrefix(arg, "--"):
			return nil, unknownFlag(name, switches, values)
		case *target != nil:
			return nil, usage("--%s is given twice", name)
		case !inline && len(args) == 0:
			return nil, usage("--%s needs a value", name)
		case !inline:
			value, args = args[0], args[1:]
		}
		*target = &value
	}
	return f, nil
}

func unknownFlag(name string, switches map[string]*bool, values map[string]**string) error {
	var names []string
	for n := range switches {
		names = append(names, n)
	}
	for n := range values {
		names = append(names, n)
	}
	slices.Sort(names)
	if slices.Contains(names, name) {
		return usage("-%s is --%s", name, name)
	}
	if near := word.Nearest(name, names); len(near) > 0 {
		return usage("there is no flag --%s; did you mean --%s?", name, near[0])
	}
	return usage("there is no flag --%s", name)
}

package kernelcontract

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	servicePart = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	methodPart  = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	codeName    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	toolChars   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	wordName    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
)

// Kebab returns a camel-case name as a command-line word. It splits where a lower-case letter meets a
// capital, and before the last capital of a run when at least two lower-case letters follow it: hostGreet becomes
// host-greet, parseHTTPRequest parse-http-request, getURLv2 get-urlv2.
func Kebab(name string) string { return splitCamel(name, '-') }

// ToolName returns the default name of a method's tool: plugin, service and method in snake case.
func ToolName(pluginID, service, method string) string {
	return strings.ReplaceAll(pluginID+"_"+service+"_", "-", "_") + splitCamel(method, '_')
}

func splitCamel(name string, sep rune) string {
	rs := []rune(name)
	var b strings.Builder
	for i, r := range rs {
		if i > 0 && unicode.IsUpper(r) {
			lowerBefore := unicode.IsLower(rs[i-1])
			runEnds := unicode.IsUpper(rs[i-1]) && i+2 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsLower(rs[i+2])
			if lowerBefore || runEnds {
				b.WriteRune(sep)
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// SplitRef cuts plugin/service.method into its parts; ok is false when it is not a ref.
func SplitRef(ref string) (pluginID, service, method string, ok bool) {
	pluginID, rest, ok1 := strings.Cut(ref, "/")
	service, method, ok2 := strings.Cut(rest, ".")
	ok = ok1 && ok2 && servicePart.MatchString(pluginID) && servicePart.MatchString(service) && methodPart.MatchString(method)
	return pluginID, service, method, ok
}

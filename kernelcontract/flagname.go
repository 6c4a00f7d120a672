package kernelcontract

import "slices"

// reservedFlags are the long names that every word keeps for itself.
var reservedFlags = []string{"input", "json", "server", "help", "version", "no-color", "yes", "host", "self", "since", "timeout", "quiet", "token", "insecure", "output"}

// ReservedFlags lists the long names that a field cannot take, in their documented order.
func ReservedFlags() []string { return slices.Clone(reservedFlags) }

// FlagName returns the long name of a field's flag without dashes: the declared one, else the field in kebab case. A
// reserved name becomes field-<name>.
func FlagName(field string, f Flag) string {
	name := f.Name
	if name == "" {
		name = Kebab(field)
	}
	if slices.Contains(reservedFlags, name) {
		name = "field-" + name
	}
	return name
}

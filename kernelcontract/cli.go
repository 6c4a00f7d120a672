package kernelcontract

// CLI shapes the command-line word of a method; the zero value gives `bb <group> <method>` with one flag a field
// (docs/spec/cli.md).
type CLI struct {
	Name    string   // the word; "": the method in kebab case
	Aliases []string // further words
	Group   []string // at most two levels; nil: the service's, empty but not nil: the top level
	// Args are the positional fields in order; "text..." makes the last one variadic.
	Args      []string
	Flags     map[string]Flag // by field
	FlagAlias *FlagAlias
	Hidden    bool // kept out of `bb --help` and the skill
	Offline   bool // a second handler runs it without a server
}

// Flag shapes the flag of one field; the zero value derives all from the schema.
type Flag struct {
	Name        string   `json:"name,omitempty"`        // long name without dashes; "": the field in kebab case
	Short       string   `json:"short,omitempty"`       // one letter
	Aliases     []string `json:"aliases,omitempty"`     // further long names
	Hidden      bool     `json:"hidden,omitempty"`      // kept out of help
	Placeholder string   `json:"placeholder,omitempty"` // the value's name in usage
	Description string   `json:"description,omitempty"` // replaces the schema's
	File        bool     `json:"file,omitempty"`        // @path reads the value from a file
	Stdin       bool     `json:"stdin,omitempty"`       // - reads the value from standard input
	Env         string   `json:"env,omitempty"`         // variable that gives the value when the flag is absent
	Format      string   `json:"format,omitempty"`      // placeholder shape: path, date-time, duration
}

// FlagAlias makes `bb <Group> <Name> --<Flag>` run a method, whatever method owns that word.
type FlagAlias struct {
	Group []string `json:"group"`
	Name  string   `json:"name"`
	Flag  string   `json:"flag"`
}

// Surfaces is a set of surfaces.
type Surfaces uint8

// The surfaces that are on unless hidden. Tools are opted into with Tool instead.
const (
	OnHTTP Surfaces = 1 << iota
	OnSDK
	OnCLI
)

// Exposure says on which surfaces a method appears.
type Exposure struct {
	HTTP bool `json:"http"`
	SDK  bool `json:"sdk"`
	CLI  bool `json:"cli"`
	Tool bool `json:"tool"`
}

// Any reports whether the method appears anywhere.
func (e Exposure) Any() bool { return e.HTTP || e.SDK || e.CLI || e.Tool }

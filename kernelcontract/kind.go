package kernelcontract

// Kind is the kind of a method.
type Kind string

// The kinds of methods.
const (
	KindQuery    Kind = "query"    // reads, safe to repeat, GET
	KindMutation Kind = "mutation" // changes something, POST
	KindStream   Kind = "stream"   // yields items, GET with server-sent events
	KindCustom   Kind = "custom"   // raw HTTP, for the kernel only
)

// Target is where a method runs.
type Target string

// The targets.
const (
	OnServer Target = "server"
	OnHost   Target = "host" // answers ServiceUnavailable until a host runs it
)

// None is the type of no input, or no output.
type None = struct{}

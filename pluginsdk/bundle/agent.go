package bundle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

// Agent is a bundle. Only Name is required.
type Agent struct {
	Name        string // for people, at most 64 bytes
	Description string
	Version     string // for people; the host knows versions by their content
	Model       Model
	Prompt      Prompt
	// Requires are ids of plugins that the host must have; their tools join those of the bundle.
	Requires []string
	// Capabilities lists what the agent can do. It runs once with an empty environment, to read the metadata: routes that
	// it lists only in some environments do not answer in others.
	Capabilities func(env Env) []Capability
	// OnTurnEnd and OnSessionCreated run after the hooks of the capabilities. Their errors are logged.
	OnTurnEnd        func(ctx context.Context, c *SessionContext) error
	OnSessionCreated func(ctx context.Context, c *SessionContext) error
}

// Model names the model that the agent wants. The operator decides which providers there are and what they may be asked.
type Model struct{ Provider, ModelID string }

// Prompt is how the agent is told what it is: Text alone when it is set, else a heading from AgentName; the prompts of the
// capabilities follow.
type Prompt struct{ AgentName, Text string }

// Env are the values that the operator has set for the agent. They are no secrets.
type Env struct{ values map[string]string }

// NewEnv returns an environment with the values, for tests and for runners.
func NewEnv(values map[string]string) Env { return Env{values} }

// Get returns the value of a name, and whether it is set.
func (e Env) Get(name string) (string, bool) {
	v, ok := e.values[name]
	return v, ok
}

// Must returns the value of a name. Without it it panics: the bundle is then refused, with the capability and the name.
func (e Env) Must(name string) string {
	v, ok := e.values[name]
	if !ok {
		panic(fmt.Sprintf("the environment has no %s: the operator sets it with `bb bundle env`", name))
	}
	return v
}

// Capability adds routes, actions, tools and hooks under one id. Functions that are nil are absent. They run one at a time in an instance, and
// an instance serves one agent; what is kept in variables is gone without notice: use KV.
type Capability struct {
	ID          string // ^[a-z][a-z0-9-]*[a-z0-9]$, 2 to 64 bytes
	Name        string
	Description string

	// HTTP lists the routes. It is a function so that a panic while the metadata is read names the capability.
	HTTP  func() []Route
	Tools []Tool
	// OnAction answers what a user interface asks for.
	OnAction func(ctx context.Context, c *ActionContext, action string, data json.RawMessage) error
	// Prompt adds to what the model is told at the start of a turn.
	Prompt func(ctx context.Context, c *PromptContext) (string, error)
	// AfterTurn runs after each turn, OnConnect when a client has connected.
	AfterTurn func(ctx context.Context, c *TurnContext) error
	OnConnect func(ctx context.Context, c *TurnContext) error
	// Dispose runs when the bundle is disabled or replaced. There is no session.
	Dispose func(ctx context.Context, c *DisposeContext) error
}

// Route is one HTTP route.
type Route struct {
	Method string // GET, which answers HEAD too, POST, PUT or DELETE
	Path   string // such as /skills/:name, at most 256 bytes
	Handle func(ctx context.Context, c *HTTPContext, r *Request) (*Response, error)
}

// Tool is a function that the agent's model may call.
type Tool struct {
	Name        string // ^[a-zA-Z0-9_-]{1,64}$
	Description string // what the model reads
	// Input is the JSON Schema of an object, at most 16 KiB; the host checks inputs with it. nil: no members.
	Input json.RawMessage
	// Run answers with a text for the model.
	Run func(ctx context.Context, c *ToolContext, input json.RawMessage) (string, error)
}

// noInput is the schema of a tool without members.
const noInput = `{"type":"object","properties":{},"additionalProperties":false}`

// Check returns every problem of the agent, joined; nil when there is none. A *MetadataExtractionError says that a function
// failed in the empty environment.
func (a *Agent) Check() error {
	_, err := a.Metadata()
	return err
}

// Metadata returns the metadata of the agent as the empty environment shows it, without a timestamp. The error has every
// problem.
func (a *Agent) Metadata() (metadata.Metadata, error) {
	l := list(a, Env{})
	if len(l.problems) > 0 {
		return metadata.Metadata{}, &DefinitionError{Problems: l.problems}
	}
	if err := l.metadata.Check(); err != nil {
		return metadata.Metadata{}, &DefinitionError{Problems: flatten(err)}
	}
	return l.metadata, nil
}

package protocol

import "encoding/json"

// ProviderDeclaration describes a provider before any of its code runs. On the wire and in a manifest every field is
// present and null says that there is none; in a Go literal the zero value stands for null, [] or false.
// Check reports everything that is wrong with one.
type ProviderDeclaration struct {
	ID              string                   `json:"id" rule:"pattern=id"` // ^[a-z][a-z0-9-]*$
	DisplayName     string                   `json:"displayName" rule:"nonblank"`
	Family          string                   `json:"family" rule:"null"`   // groups providers of one vendor
	Icon            string                   `json:"icon" rule:"nonempty"` // a glyph name, or <pluginId>/<name>
	Strings         ProviderStrings          `json:"strings"`              // what a person reads about the provider
	Capabilities    Capabilities             `json:"capabilities"`         // the ceiling of what a bridge may report
	PermissionModes []PermissionMode         `json:"permissionModes" rule:"min=1,unique"`
	UserQuestions   bool                     `json:"userQuestions"` // the agent asks questions
	ReasoningLevels []Choice                 `json:"reasoningLevels" rule:"unique=id"`
	ServiceTiers    []Choice                 `json:"serviceTiers" rule:"unique=id"`
	Actions         []Action                 `json:"actions" rule:"unique"`
	Maintenance     Maintenance              `json:"maintenance"`
	Models          ModelSource              `json:"models"`
	Skills          SkillSupport             `json:"skills"`
	ExtensionKinds  map[string]ExtensionKind `json:"extensionKinds" rule:"keys=extension"`
	Env             EnvAccess                `json:"env"`
	Visibility      Visibility               `json:"visibility"`
	BridgeOptions   JSONObject               `json:"bridgeOptions"`
	Extra           Extra                    `json:"-"`
}

// JSONObject is any JSON object; nil is {}.
type JSONObject map[string]json.RawMessage

// ProviderStrings are the texts that surfaces show about a provider.
type ProviderStrings struct {
	SignInHint   string `json:"signInHint"`
	ExpiredHint  string `json:"expiredHint"`
	InstallURL   string `json:"installUrl" rule:"null"`
	BrandPrefix  string `json:"brandPrefix" rule:"null"`
	PlanModeCopy string `json:"planModeCopy" rule:"null"`
	Extra        Extra  `json:"-"`
}

// Choice is a reasoning level or a service tier that a person can pick.
type Choice struct {
	ID          string  `json:"id" rule:"nonempty"`
	Label       string  `json:"label" rule:"nonempty"`
	Description *string `json:"description"`
	Extra       Extra   `json:"-"`
}

// Maintenance says which sessionless methods a bridge answers.
type Maintenance struct {
	Health       bool  `json:"health"`       // provider/health
	Usage        bool  `json:"usage"`        // provider/usage
	Installation bool  `json:"installation"` // provider/installation/status and run
	Extra        Extra `json:"-"`
}

// ModelSource says where a provider's models come from.
type ModelSource struct {
	Catalog  Catalog     `json:"catalog"`
	Fallback []ModelDecl `json:"fallback" rule:"unique=id"` // shown when the catalog cannot be read
	Scope    ModelScope  `json:"scope"`
	Extra    Extra       `json:"-"`
}

// SkillSupport says how skills reach an agent and where they are found.
type SkillSupport struct {
	Configure bool            `json:"configure"` // the bridge answers skills/configure
	Discover  bool            `json:"discover"`  // the bridge answers skills/discover
	Roots     []SkillScanRoot `json:"roots"`
	Extra     Extra           `json:"-"`
}

// ExtensionKind holds the JSON Schemas of an extension kind's payloads; at least one of them is not null.
type ExtensionKind struct {
	Item  json.RawMessage `json:"item" rule:"null"`
	State json.RawMessage `json:"state" rule:"null"`
	Extra Extra           `json:"-"`
}

// EnvAccess names the variables of core's environment that reach the agent. Names that begin with BB_ are refused.
type EnvAccess struct {
	Passthrough []string `json:"passthrough" rule:"unique"`
	Extra       Extra    `json:"-"`
}

// Visibility says when a provider is listed.
type Visibility string

// The values of Visibility.
const (
	VisibleAlways    Visibility = "always"
	VisibleInstalled Visibility = "installed" // only when its program is found
)

func (Visibility) values() []string { return []string{"always", "installed"} }

// Catalog says who knows a provider's models.
type Catalog string

// The values of Catalog.
const (
	CatalogBridge Catalog = "bridge" // model/list
	CatalogStatic Catalog = "static" // the declaration's fallback list
)

func (Catalog) values() []string { return []string{"bridge", "static"} }

// ModelScope says what a model list depends on.
type ModelScope string

// The values of ModelScope.
const (
	ModelsPerHost      ModelScope = "host"
	ModelsPerWorkspace ModelScope = "workspace"
)

func (ModelScope) values() []string { return []string{"host", "workspace"} }

// Action is something that a turn can ask of an agent instead of giving it input.
type Action string

// The values of Action.
const (
	ActionCompact Action = "compact"
	ActionPlan    Action = "plan"
	ActionGoal    Action = "goal"
)

func (Action) values() []string { return []string{"compact", "plan", "goal"} }

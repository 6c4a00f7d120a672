package protocol

// Presentation is how an item is shown now. Label is a verb phrase for the current status: a bridge sends "Running
// tests" with item.open and "Ran tests" with item.close. Title, Detail, Suppress and Tint are left out when zero; they
// are the only optional fields of the grammar.
type Presentation struct {
	Label    string `json:"label" rule:"nonempty"`
	Icon     string `json:"icon" rule:"nonempty"`
	Title    string `json:"title" rule:"optional"`
	Detail   string `json:"detail" rule:"optional"`
	Suppress bool   `json:"suppress" rule:"optional"`
	Tint     Tint   `json:"tint" rule:"optional"`
}

// Tint colours a row.
type Tint string

// The values of Tint; "" leaves it out.
const (
	TintNeutral Tint = "neutral"
	TintInfo    Tint = "info"
	TintSuccess Tint = "success"
	TintWarning Tint = "warning"
	TintDanger  Tint = "danger"
)

func (Tint) values() []string { return []string{"neutral", "info", "success", "warning", "danger"} }

// RenderIntent says how the content of a command or tool is best shown.
type RenderIntent string

// The values of RenderIntent.
const (
	IntentGeneric  RenderIntent = "generic"
	IntentTerminal RenderIntent = "terminal"
	IntentDiff     RenderIntent = "diff"
	IntentSearch   RenderIntent = "search"
	IntentRead     RenderIntent = "read"
	IntentList     RenderIntent = "list"
	IntentWeb      RenderIntent = "web"
	IntentImage    RenderIntent = "image"
)

func (RenderIntent) values() []string {
	return []string{"generic", "terminal", "diff", "search", "read", "list", "web", "image"}
}

// ApprovalState says that an item waits for an approval or was denied; "" (null) is neither.
type ApprovalState string

// The values of ApprovalState.
const (
	ApprovalWaiting ApprovalState = "waiting"
	ApprovalDenied  ApprovalState = "denied"
)

func (ApprovalState) values() []string { return []string{"waiting", "denied"} }

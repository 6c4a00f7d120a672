package kernelcontract

// MaxInstructions bounds a tool's instructions, in bytes: they ride in every session's prompt.
const MaxInstructions = 4096

// Tool makes a method an agent tool (docs/spec/tools.md).
type Tool struct {
	Name         string       // [a-zA-Z0-9_-]+; "": plugin_service_method in snake case
	Description  string       // "": summary and description
	Instructions string       // added to the session's instructions while the tool is active, at most MaxInstructions
	Presentation Presentation // required: labels, icon, intent
}

// Presentation is how a timeline shows a call of the tool. All but Suppress are required.
type Presentation struct {
	Pending   string `json:"pending"`   // label while it runs
	Completed string `json:"completed"` // label afterwards
	Icon      string `json:"icon"`
	Intent    string `json:"intent"`
	Suppress  bool   `json:"suppress"` // keep it out of the timeline
}

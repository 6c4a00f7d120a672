package kernelapi

import "github.com/bb-kernel/bb/kernelcontract"

// Chapter is a fragment of the guide that a plugin contributes.
type Chapter struct {
	PluginID string `json:"pluginId"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Text     string `json:"text"` // Markdown
}

// ListChapters returns the guide: the chapters of every plugin in composition order.
var ListChapters = &kernelcontract.Query[kernelcontract.None, []Chapter]{
	Ref: "kernel/guide.chapters", Summary: "Return the guide's chapters",
	Hide: kernelcontract.OnCLI,
}

// SkillInput says what the reader of the skill has at hand.
type SkillInput struct {
	ActiveTools []string `json:"activeTools,omitempty" description:"Names of the tools that the session has"`
}

// GetSkill returns what an agent reads to know bb: the chapters, then the index of commands.
var GetSkill = &kernelcontract.Query[SkillInput, string]{
	Ref: "kernel/guide.skill", Summary: "Return the skill text for agents",
	Hide: kernelcontract.OnCLI,
}

// Guide explains the server to people and agents. `bb guide` prints it; its methods have no words of their own.
var Guide = &kernelcontract.Service{
	ID: "kernel/guide", Summary: "Explain the server",
	Methods: []kernelcontract.Method{ListChapters, GetSkill},
}

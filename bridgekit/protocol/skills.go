package protocol

// SkillRoot is a staged directory of skills, each a SKILL.md, that a bridge converts to its agent's own form.
type SkillRoot struct {
	ID    string `json:"id" rule:"nonempty"`
	Path  string `json:"path" rule:"nonempty"`
	Label string `json:"label"`
	Extra Extra  `json:"-"`
}

// SkillScanRoot is where core looks for skills. ~, $CODEX_HOME and $OPENCODE_CONFIG_DIR in Path are expanded on the host.
type SkillScanRoot struct {
	Scope       SkillScope  `json:"scope"`
	Path        string      `json:"path" rule:"nonempty"`
	Format      SkillFormat `json:"format"`
	WalkParents bool        `json:"walkParents"`
	Recursive   bool        `json:"recursive"`
	Label       *string     `json:"label"`
	Extra       Extra       `json:"-"`
}

// SkillScope is whose skills they are.
type SkillScope string

// The values of SkillScope.
const (
	SkillUser    SkillScope = "user"
	SkillProject SkillScope = "project"
)

func (SkillScope) values() []string { return []string{"user", "project"} }

// SkillFormat is how skills are laid out.
type SkillFormat string

// The values of SkillFormat.
const (
	SkillMD          SkillFormat = "skill-md"
	SkillClaude      SkillFormat = "claude-plugin"
	SkillCodexPlugin SkillFormat = "codex-plugin-cache"
)

func (SkillFormat) values() []string {
	return []string{"skill-md", "claude-plugin", "codex-plugin-cache"}
}

// DiscoveredSkill is a skill that a bridge found by code.
type DiscoveredSkill struct {
	Name        string     `json:"name" rule:"nonempty"`
	Description string     `json:"description"`
	Path        string     `json:"path" rule:"nonempty"`
	Scope       SkillScope `json:"scope"`
	Source      string     `json:"source"`
	Extra       Extra      `json:"-"`
}

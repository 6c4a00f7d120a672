package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check returns every problem of m, joined; nil when there is none. The host checks a bundle's metadata with it, whatever
// the program that built the bundle has checked.
func (m Metadata) Check() error {
	c := checker{}
	c.text("name", m.Name, MaxName, true)
	c.text("version", m.Version, MaxName, false)
	c.text("description", m.Description, MaxText, false)
	if (m.DeclaredModel.Provider == "") != (m.DeclaredModel.ModelID == "") {
		c.add("model: it needs a provider and a model id, or neither")
	}
	c.text("model provider", m.DeclaredModel.Provider, maxModelPart, false)
	c.text("model id", m.DeclaredModel.ModelID, maxModelPart, false)
	c.count("capabilities", len(m.CapabilityIDs), MaxCapabilities)
	c.unique("capability", m.CapabilityIDs)
	for _, id := range m.CapabilityIDs {
		if err := CheckCapabilityID(id); err != nil {
			c.add("capability %q: %w", id, err)
		}
	}
	c.count("required plugins", len(m.RequiredCapabilities), MaxRequires)
	c.unique("required plugin", m.RequiredCapabilities)
	for _, id := range m.RequiredCapabilities {
		if len(id) > maxPluginID || !lowerKebab(id) {
			c.add("required plugin %q: a plugin's id is lower case letters, digits and dashes and begins with a letter", id)
		}
	}
	c.hooks(m)
	c.routes(m)
	c.actions(m)
	c.tools(m)
	return errors.Join(c.problems...)
}

// CheckCapabilityID says what is wrong with an id of a capability, nil for nothing.
func CheckCapabilityID(id string) error {
	if len(id) < minCapabilityID || len(id) > maxCapabilityID || !lowerKebab(id) || strings.HasSuffix(id, "-") {
		return fmt.Errorf("an id has %d to %d lower case letters, digits and dashes, from a letter to a letter or digit", minCapabilityID, maxCapabilityID)
	}
	return nil
}

func lowerKebab(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// CheckToolName says what is wrong with the name of a tool, nil for nothing.
func CheckToolName(name string) error {
	if len(name) > 64 || !word(name, "_-") {
		return errors.New("a name has 1 to 64 letters, digits, _ and -")
	}
	return nil
}

// CheckToolInput says what is wrong with a tool's schema, nil for nothing.
func CheckToolInput(schema json.RawMessage) error {
	if len(schema) > MaxToolInput {
		return fmt.Errorf("its schema has %d bytes, over %d", len(schema), MaxToolInput)
	}
	var root struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("its schema is not a JSON object: %w", err)
	}
	if root.Type != "object" {
		return errors.New(`its schema needs "type": "object"`)
	}
	return nil
}

type checker struct{ problems []error }

func (c *checker) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

func (c *checker) text(what, s string, most int, required bool) {
	switch {
	case s == "" && required:
		c.add("%s: it is empty", what)
	case len(s) > most:
		c.add("%s: it has %d bytes, over %d", what, len(s), most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }):
		c.add("%s: it has control characters or is not UTF-8", what)
	}
}

func (c *checker) count(what string, n, most int) {
	if n > most {
		c.add("it has %d %s, over %d", n, what, most)
	}
}

func (c *checker) unique(what string, ids []string) {
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			c.add("%s %q is there twice", what, id)
		}
		seen[id] = true
	}
}

// owner checks that what belongs to a capability of the bundle.
func (c *checker) owner(m Metadata, what, id string) {
	if !slices.Contains(m.CapabilityIDs, id) {
		c.add("%s belongs to the capability %q, which the bundle has not", what, id)
	}
}

func (c *checker) hooks(m Metadata) {
	for hook, ids := range m.LifecycleHooks {
		agents := hook == TurnEnd || hook == SessionCreated
		if !agents && !slices.Contains([]Hook{Prompt, AfterTurn, OnConnect, Dispose}, hook) {
			c.add("there is no hook %q", hook)
			continue
		}
		c.unique("hook "+string(hook)+" of", ids)
		for _, id := range ids {
			if agents && id != AgentItself {
				c.add("the hook %s is the agent's, not that of the capability %q", hook, id)
			}
			if !agents {
				c.owner(m, "the hook "+string(hook), id)
			}
		}
	}
}

func (c *checker) routes(m Metadata) {
	c.count("routes", len(m.Surfaces.HTTPRoutes), MaxRoutes)
	shapes := map[string]Route{}
	for _, r := range m.Surfaces.HTTPRoutes {
		what := fmt.Sprintf("route %s %s", r.Method, r.Path)
		c.owner(m, what, r.CapabilityID)
		if !slices.Contains(Methods(), r.Method) {
			c.add("%s: the method must be one of %s", what, strings.Join(Methods(), ", "))
		}
		p, err := ParsePattern(r.Path)
		if err != nil {
			c.add("%s: %w", what, err)
			continue
		}
		if other, twice := shapes[r.Method+p.Shape()]; twice {
			c.add("%s: it is the same as %s of the capability %s", what, other.Path, other.CapabilityID)
		}
		shapes[r.Method+p.Shape()] = r
	}
}

func (c *checker) actions(m Metadata) {
	c.unique("the capability with actions", m.Surfaces.ActionCapabilityIDs)
	for _, id := range m.Surfaces.ActionCapabilityIDs {
		c.owner(m, "an action", id)
		if slices.Contains(ReservedActionIDs(), id) {
			c.add("capability %q: actions of this id belong to the host", id)
		}
	}
}

func (c *checker) tools(m Metadata) {
	c.count("tools", len(m.Surfaces.Tools), MaxTools)
	seen := map[string]bool{}
	for _, t := range m.Surfaces.Tools {
		what := fmt.Sprintf("tool %q", t.Name)
		c.owner(m, what, t.CapabilityID)
		if err := CheckToolName(t.Name); err != nil {
			c.add("%s: %w", what, err)
		}
		if err := CheckToolInput(t.Input); err != nil {
			c.add("%s: %w", what, err)
		}
		c.text(what+" description", t.Description, MaxText, false)
		if seen[t.Name] {
			c.add("%s is there twice", what)
		}
		seen[t.Name] = true
	}
}

// Package extension checks the payloads of extension items and states against the JSON Schemas that providers declare
// for them (docs/spec/bridges-protocol.md, extension kinds).
package extension

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Kinds holds the extension kinds that are declared. It is safe for concurrent use. A nil Kinds declares nothing.
type Kinds struct {
	items  map[string]*kind
	states map[string]*kind
}

// kind is the schema of one payload.
type kind struct {
	source string // without white space, to compare
	schema *jsonschema.Schema
}

// ErrUndeclared is the error, wrapped, for a kind that no declaration has.
var ErrUndeclared = errors.New("extension kind is not declared")

// New compiles the JSON Schemas of the declarations' extension kinds, draft 2020-12 unless a schema says another. Two
// declarations may share a kind when its schemas are the same. A schema that refers to another document is refused:
// nothing is ever loaded. The error lists every problem.
func New(declarations ...protocol.ProviderDeclaration) (*Kinds, error) {
	k := &Kinds{map[string]*kind{}, map[string]*kind{}}
	var problems []error
	for _, d := range declarations {
		for _, name := range slices.Sorted(maps.Keys(d.ExtensionKinds)) {
			declared := d.ExtensionKinds[name]
			if !protocol.IsExtensionKind(name) {
				problems = append(problems, fmt.Errorf("provider %s: extension kind %q must be named <pluginId>/<name>", d.ID, name))
				continue
			}
			if isNull(declared.Item) && isNull(declared.State) {
				problems = append(problems, fmt.Errorf("provider %s: extension kind %s needs a schema for item or state", d.ID, name))
			}
			for _, half := range []struct {
				what   string
				source json.RawMessage
				into   map[string]*kind
			}{{"item", declared.Item, k.items}, {"state", declared.State, k.states}} {
				if err := add(half.into, name, half.source); err != nil {
					problems = append(problems, fmt.Errorf("provider %s: extension kind %s: schema of %s: %w", d.ID, name, half.what, err))
				}
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return k, nil
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

func add(into map[string]*kind, name string, source json.RawMessage) error {
	if isNull(source) {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, source); err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	if known, ok := into[name]; ok {
		if known.source != compact.String() {
			return errors.New("differs from the one that another declaration has for the same kind")
		}
		return nil
	}
	schema, err := compile(source)
	if err != nil {
		return err
	}
	into[name] = &kind{compact.String(), schema}
	return nil
}

// compile compiles a schema that stands alone.
func compile(source []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	const address = "bb:extension"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuse{})
	if err := c.AddResource(address, document); err != nil {
		return nil, err
	}
	return c.Compile(address)
}

// refuse loads nothing: a schema must not make the host read files or addresses.
type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("refers to %s; a schema must be whole in itself", url)
}

// HasItem tells whether items of the kind are declared.
func (k *Kinds) HasItem(name string) bool { return k != nil && k.items[name] != nil }

// HasState tells whether a state of the kind is declared.
func (k *Kinds) HasState(name string) bool { return k != nil && k.states[name] != nil }

// CheckItem checks the payload of an item of the kind. The error is ErrUndeclared, wrapped, or names every place where
// the payload breaks the schema.
func (k *Kinds) CheckItem(name string, payload json.RawMessage) error {
	if !k.HasItem(name) {
		return fmt.Errorf("item of kind %q: %w", name, ErrUndeclared)
	}
	return k.items[name].check("item", name, payload)
}

// CheckState checks the payload of a state of the kind, as CheckItem does for an item.
func (k *Kinds) CheckState(name string, payload json.RawMessage) error {
	if !k.HasState(name) {
		return fmt.Errorf("state of kind %q: %w", name, ErrUndeclared)
	}
	return k.states[name].check("state", name, payload)
}

func (k *kind) check(what, name string, payload json.RawMessage) error {
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("%s of kind %s: is not JSON: %w", what, name, err)
	}
	err = k.schema.Validate(value)
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return fmt.Errorf("%s of kind %s: %w", what, name, err)
	}
	return fmt.Errorf("%s of kind %s: %s", what, name, strings.Join(places(failed), "; "))
}

// maxPlaces is how many places of a payload one error names: enough to fix it, and bounded whatever the payload is.
const maxPlaces = 20

// places returns what is wrong and where, sorted, since the library reports in random order.
func places(failed *jsonschema.ValidationError) []string {
	var list []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		place := "payload"
		if len(e.InstanceLocation) > 0 {
			place += "/" + strings.Join(e.InstanceLocation, "/")
		}
		list = append(list, place+": "+message(e))
	}
	walk(failed)
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - maxPlaces; more > 0 {
		list = append(list[:maxPlaces], fmt.Sprintf("and %d more", more))
	}
	return list
}

func message(e *jsonschema.ValidationError) string {
	text := e.Error()
	if after, ok := strings.CutPrefix(text, "at '"); ok { // the place, which the caller has
		if _, what, ok := strings.Cut(after, "': "); ok {
			text = what
		}
	}
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

package notesapi

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// Shapes is an input with one field of every shape that a definition can have. It is the torture test of flags, query
// strings, tools and docs: Apply and Read answer it as they understood it.
type Shapes struct {
	Title    string `json:"title" minLength:"1" description:"A required positional"`
	Subtitle string `json:"subtitle,omitempty" description:"An optional positional"`
	Parts    []Part `json:"parts,omitempty" description:"A variadic positional of structured items"`

	SomeName string                   `json:"someName,omitempty" description:"A string"`
	Note     *string                  `json:"note" default:"null" description:"A string that may be null"`
	Quiet    string                   `json:"quiet,omitempty" description:"A field with a reserved name"`
	When     *time.Time               `json:"when,omitempty" description:"A time"`
	Pause    *kernelcontract.Duration `json:"pause" default:"PT30S" description:"A duration"`
	Path     string                   `json:"path,omitempty" description:"A path"`
	Pin      string                   `json:"pin,omitempty" pattern:"^[0-9]{4}$" description:"A hidden field, also read from NOTES_PIN"`
	Color    string                   `json:"color,omitempty" default:"red" enum:"red,green,blue" description:"An enum"`
	Level    Level                    `json:"level,omitempty" default:"\"low\"" description:"A union of constants"`

	Count   int64   `json:"count,omitempty" minimum:"0" description:"A big integer"`
	Small   int8    `json:"small,omitempty" description:"A narrow integer"`
	Huge    uint64  `json:"huge,omitempty" description:"An unsigned integer"`
	Ratio   float64 `json:"ratio,omitempty" exclusiveMinimum:"-1" maximum:"1" description:"A number"`
	Maximum *int    `json:"maximum" default:"null" description:"An integer that may be null"`

	Enabled *bool `json:"enabled" default:"true" description:"A boolean that is true unless told otherwise"`
	Strict  *bool `json:"strict" default:"null" description:"A boolean that may be null"`
	Loud    bool  `json:"loud,omitempty" description:"A boolean"`

	Labels  []string `json:"labels,omitempty" uniqueItems:"true" description:"An array of strings"`
	Numbers []int    `json:"numbers,omitempty" maxItems:"8" description:"An array of integers"`
	Levels  []Level  `json:"levels,omitempty" description:"An array of constants"`

	Point   *Point                       `json:"point,omitempty" description:"An object"`
	Points  []Point                      `json:"points,omitempty" description:"An array of objects"`
	Shape   *kernelcontract.Union[Shape] `json:"shape,omitempty" description:"A union told apart by kind"`
	Amount  *Amount                      `json:"amount,omitempty" description:"A string or an integer"`
	Vars    map[string]string            `json:"vars,omitempty" description:"A map of strings"`
	Weights map[string]float64           `json:"weights,omitempty" description:"A map of numbers"`
	Data    []byte                       `json:"data,omitempty" description:"Bytes"`
	Extra   json.RawMessage              `json:"extra,omitempty" description:"Any JSON"`
	Tree    *Tree                        `json:"tree,omitempty" description:"A recursive type"`

	ThreadID      string `json:"threadId,omitempty" description:"The thread"`
	ProjectID     string `json:"projectId,omitempty" description:"The project"`
	EnvironmentID string `json:"environmentId,omitempty" description:"The environment"`
	HostID        string `json:"hostId,omitempty" description:"The host"`
	CWD           string `json:"cwd,omitempty" description:"The working directory"`
}

// Point is an object.
type Point struct {
	X int     `json:"x"`
	Y int     `json:"y"`
	Z float64 `json:"z,omitempty"`
}

// Tree is a recursive type.
type Tree struct {
	Name     string `json:"name"`
	Children []Tree `json:"children,omitempty"`
}

// Shape lists the variants of a union.
type Shape struct {
	Circle *Circle `variant:"circle"`
	Square *Square `variant:"square"`
}

// Discriminator is the property that tells the variants apart.
func (Shape) Discriminator() string { return "kind" }

// Circle is a variant of Shape.
type Circle struct {
	Radius float64 `json:"radius" minimum:"0"`
}

// Square is a variant of Shape.
type Square struct {
	Side float64 `json:"side" minimum:"0"`
}

// Level is one of three constants.
type Level string

// The levels.
const (
	Low    Level = "low"
	Medium Level = "medium"
	High   Level = "high"
)

// JSONSchemaBytes returns the schema: a union of constants.
func (Level) JSONSchemaBytes() ([]byte, error) {
	return []byte(`{"oneOf":[{"const":"low"},{"const":"medium"},{"const":"high"}]}`), nil
}

// Amount is a string or an integer.
type Amount struct {
	Text    string
	Integer int64
	IsText  bool
}

// JSONSchemaOneOf lists what an Amount may be.
func (Amount) JSONSchemaOneOf() []any { return []any{"", int64(0)} }

// MarshalJSON writes the string or the integer.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.IsText {
		return json.Marshal(a.Text)
	}
	return json.Marshal(a.Integer)
}

// UnmarshalJSON reads a string or an integer.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	*a = Amount{}
	if len(raw) > 0 && raw[0] == '"' {
		a.IsText = true
		return json.Unmarshal(raw, &a.Text)
	}
	return json.Unmarshal(raw, &a.Integer)
}

// Part is a plain text, or a text with a language.
type Part struct {
	Text     string
	Language string // "": a plain text
}

// partObject is a Part with a language, on the wire.
type partObject struct {
	Text     string `json:"text"`
	Language string `json:"language" minLength:"1"`
}

// JSONSchemaOneOf lists what a Part may be.
func (Part) JSONSchemaOneOf() []any { return []any{"", partObject{}} }

// MarshalJSON writes a string or an object.
func (p Part) MarshalJSON() ([]byte, error) {
	if p.Language == "" {
		return json.Marshal(p.Text)
	}
	return json.Marshal(partObject(p))
}

// UnmarshalJSON reads a string or an object.
func (p *Part) UnmarshalJSON(raw []byte) error {
	*p = Part{}
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &p.Text)
	}
	var o partObject
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	if o.Language == "" {
		return errors.New("a part that is an object needs a language")
	}
	*p = Part(o)
	return nil
}

var shapesCLI = kernelcontract.CLI{
	Args: []string{"title", "subtitle", "parts..."},
	Flags: map[string]kernelcontract.Flag{
		"path":   {Format: "path"},
		"pin":    {Hidden: true, Env: "NOTES_PIN"},
		"color":  {Short: "c", Aliases: []string{"colour"}},
		"loud":   {Short: "l"},
		"labels": {Name: "label", Placeholder: "text"},
		"data":   {File: true, Stdin: true},
		"shape":  {Description: "A circle or a square as JSON"},
	},
}

var shapesAmbient = map[string]kernelcontract.ContextKey{
	"threadId": kernelcontract.ThreadID, "projectId": kernelcontract.ProjectID, "environmentId": kernelcontract.EnvironmentID,
	"hostId": kernelcontract.HostID, "cwd": kernelcontract.CWD,
}

// Apply answers its input as it was understood. It is a mutation, so that the input travels in a body.
var Apply = &kernelcontract.Mutation[Shapes, Shapes]{
	Ref: "notes-fixture/settings.apply", Summary: "Take a value of every shape and answer it as understood",
	CLI: shapesCLI, Ambient: shapesAmbient, Tool: tool("Applying settings", "Applied settings"),
	Examples: []kernelcontract.Example[Shapes]{
		{Input: Shapes{Title: "first", Color: "green", Labels: []string{"a", "b"}, Vars: map[string]string{"k": "v"}}, Note: "words for most shapes"},
		{Input: Shapes{Title: "second", Point: &Point{X: 1, Y: 2}, Amount: &Amount{Integer: 9007199254740993}}, Note: "JSON where words end"},
	},
}

// Read answers its input as it was understood. It is a query, so that the input travels in the query string.
var Read = &kernelcontract.Query[Shapes, Shapes]{
	Ref: "notes-fixture/settings.read", Summary: "Read a value of every shape and answer it as understood",
	CLI: shapesCLI, Ambient: shapesAmbient, Tool: tool("Reading settings", "Read settings"),
}

// Settings has one field of every shape.
var Settings = &kernelcontract.Service{
	ID: "notes-fixture/settings", Summary: "Settings of every shape",
	Methods: []kernelcontract.Method{Apply, Read},
}

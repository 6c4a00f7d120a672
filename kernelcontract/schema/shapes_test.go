package schema_test

import (
	"encoding/json"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// everyShape has a field of every form that a member can take.
type everyShape struct {
	_ struct{} `title:"Every shape" description:"One field of each form."`

	Text      string              `json:"text" description:"A string" minLength:"1" maxLength:"20" pattern:"^[a-z]"`
	Choice    string              `json:"choice" enum:"a,b,c"`
	Colour    colour              `json:"colour,omitempty" default:"red"`
	Fixed     string              `json:"fixed" const:"yes"`
	Whole     int                 `json:"whole" minimum:"1" multipleOf:"2"`
	Tiny      int8                `json:"tiny"`
	Wide      uint64              `json:"wide" default:"18446744073709551615"`
	Picked    int                 `json:"picked" enum:"1,2,3"`
	Real      float64             `json:"real" exclusiveMinimum:"0" exclusiveMaximum:"1.5"`
	Single    float32             `json:"single"`
	Exact     json.Number         `json:"exact"`
	Flag      bool                `json:"flag"`
	Loud      *bool               `json:"loud,omitempty" default:"true"`
	Maybe     *string             `json:"maybe"`
	MaybeNot  *int                `json:"maybeNot,omitempty"`
	NullFirst *int                `json:"nullFirst" default:"null"`
	Known     schema.Null[int]    `json:"known"`
	KnownEnum schema.Null[colour] `json:"knownEnum,omitzero"`
	List      []string            `json:"list" minItems:"1" maxItems:"9" uniqueItems:"true"`
	Colours   []colour            `json:"colours,omitempty"`
	Pair      [2]int16            `json:"pair"`
	Table     map[string]int32    `json:"table" minProperties:"1" maxProperties:"3"`
	Holes     map[string]*point   `json:"holes"`
	Data      []byte              `json:"data"`
	At        time.Time           `json:"at"`
	Took      schema.Duration     `json:"took,omitempty" default:"PT1M30S"`
	Mail      string              `json:"mail" format:"email" title:"Address"`
	Free      any                 `json:"free"`
	Raw       json.RawMessage     `json:"raw,omitempty"`
	Point     point               `json:"point" description:"Where"`
	Origin    *point              `json:"origin,omitempty"`
	Inline    struct {
		Deep once `json:"deep"`
	} `json:"inline"`
	Tree    tree                 `json:"tree"`
	Shape   schema.Union[shape]  `json:"shape"`
	NoShape *schema.Union[shape] `json:"noShape"`
	File    schema.Bytes         `json:"file"`
	Level   level                `json:"level"`
	Scalar  scalar               `json:"scalar"`
	Nested  nestedMap            `json:"nested,omitempty"`
	common
}

type common struct {
	ID   string `json:"id" format:"uuid"`
	Note string `json:"note,omitempty"`
}

type colour string

func (colour) Enum() []any { return []any{"red", "green"} }

type point struct {
	X int `json:"x"`
	Y int `json:"y,omitempty" default:"7"`
}

type once struct {
	Only bool `json:"only"`
}

type tree struct {
	Name string `json:"name"`
	Kids []tree `json:"kids,omitempty"`
}

// nestedMap is recursive without a struct.
type nestedMap map[string]nestedMap

type shape struct {
	_      struct{} `description:"A figure"`
	Circle *circle  `variant:"circle" description:"Round"`
	Square *square  `variant:"square"`
	Group  *group   `variant:"group"`
}

func (shape) Discriminator() string { return "kind" }

type circle struct {
	Radius float64 `json:"radius" minimum:"0"`
}

type square struct {
	Side int `json:"side"`
}

type group struct {
	Of []schema.Union[shape] `json:"of"`
}

// level encodes itself as text.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte("level"), nil }

func (l *level) UnmarshalText([]byte) error { return nil }

// scalar is a mixed union that states its schema by examples of its branches.
type scalar struct{ v any }

func (scalar) JSONSchemaOneOf() []any { return []any{"", 0, []string{}} }

func (s scalar) MarshalJSON() ([]byte, error) { return json.Marshal(s.v) }

func (s *scalar) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &s.v) }

// percent states its own schema.
type percent struct{}

func (percent) JSONSchemaBytes() ([]byte, error) {
	return []byte(`{"type":"string","pattern":"^[0-9]+%$"}`), nil
}

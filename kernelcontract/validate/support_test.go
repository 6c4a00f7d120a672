package validate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// everyShape has a field of every form that a member can take; all are optional, so that a test gives what it is about.
type everyShape struct {
	Text    string                `json:"text,omitempty" minLength:"2" maxLength:"4"`
	Lower   string                `json:"lower,omitempty" pattern:"^[a-z]*$"`
	Choice  string                `json:"choice,omitempty" enum:"red,green,blue"`
	Fixed   string                `json:"fixed,omitempty" const:"yes"`
	Whole   int                   `json:"whole,omitempty"`
	Bounded int                   `json:"bounded,omitempty" minimum:"1" maximum:"10" multipleOf:"2"`
	Tiny    int8                  `json:"tiny,omitempty"`
	Wide    uint64                `json:"wide,omitempty"`
	Picked  int                   `json:"picked,omitempty" enum:"1,2,3"`
	Real    float64               `json:"real,omitempty"`
	Ratio   float64               `json:"ratio,omitempty" exclusiveMinimum:"0" exclusiveMaximum:"1"`
	Step    float64               `json:"step,omitempty" multipleOf:"0.1"`
	Single  float32               `json:"single,omitempty"`
	Flag    bool                  `json:"flag,omitempty"`
	Maybe   *string               `json:"maybe,omitempty"`
	Known   schema.Null[int8]     `json:"known,omitempty"`
	List    []string              `json:"list,omitempty" minItems:"1" maxItems:"3"`
	Unique  []any                 `json:"unique,omitempty" uniqueItems:"true"`
	Pair    [2]int                `json:"pair,omitempty"`
	Table   map[string]int8       `json:"table,omitempty" maxProperties:"2"`
	Data    []byte                `json:"data,omitempty"`
	At      time.Time             `json:"at,omitempty"`
	Took    schema.Duration       `json:"took,omitempty"`
	Mail    string                `json:"mail,omitempty" format:"email"`
	Free    any                   `json:"free,omitempty"`
	Point   *point                `json:"point,omitempty"`
	Tree    *tree                 `json:"tree,omitempty"`
	Shape   *schema.Union[shape]  `json:"shape,omitempty"`
	Shapes  []schema.Union[shape] `json:"shapes,omitempty"`
	Mixed   *mixed                `json:"mixed,omitempty"`
}

type point struct {
	X int `json:"x"`
	Y int `json:"y,omitempty" default:"7"`
}

type tree struct {
	Name string `json:"name"`
	Kids []tree `json:"kids,omitempty"`
}

type shape struct {
	Circle *circle `variant:"circle"`
	Square *square `variant:"square"`
	Group  *group  `variant:"group"`
}

func (shape) Discriminator() string { return "kind" }

type circle struct {
	Radius float64 `json:"radius" minimum:"0"`
	Unit   string  `json:"unit,omitempty" default:"cm"`
}

type square struct {
	Side int `json:"side"`
}

type group struct {
	Of []schema.Union[shape] `json:"of"`
}

// mixed is a string, an integer, or one of two kinds of object.
type mixed struct{ v any }

func (mixed) JSONSchemaOneOf() []any { return []any{"", 0, point{}, mixedOther{}} }

func (m mixed) MarshalJSON() ([]byte, error) { return json.Marshal(m.v) }

func (m *mixed) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &m.v) }

type mixedOther struct {
	Z int `json:"z"`
}

// ofSchema compiles a schema that is written as JSON.
func ofSchema(t testing.TB, text string) *validate.Validator {
	t.Helper()
	var s schema.Schema
	if err := s.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	v, err := validate.Compile(&s)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// lines writes issues as "a.b[1] code: message".
func lines(issues []schema.Issue) []string {
	var all []string
	for _, i := range issues {
		var path strings.Builder
		for _, e := range i.Path {
			switch e := e.(type) {
			case int:
				fmt.Fprintf(&path, "[%d]", e)
			case string:
				if path.Len() > 0 {
					path.WriteByte('.')
				}
				path.WriteString(e)
			default:
				panic(fmt.Sprintf("a path holds a %T", e))
			}
		}
		all = append(all, path.String()+" "+string(i.Code)+": "+i.Message)
	}
	return all
}

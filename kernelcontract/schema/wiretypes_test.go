package schema_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/schema"
)

func TestNull(t *testing.T) {
	is := is.New(t)
	type holder struct {
		A schema.Null[int] `json:"a"`
		B schema.Null[int] `json:"b,omitzero"`
	}
	text, err := json.Marshal(holder{})
	is.NoErr(err)
	is.Equal(string(text), `{"a":null}`)
	text, err = json.Marshal(holder{A: schema.NullOf(0), B: schema.NullOf(1)})
	is.NoErr(err)
	is.Equal(string(text), `{"a":0,"b":1}`)
	h := holder{A: schema.NullOf(5)}
	is.NoErr(json.Unmarshal([]byte(`{"a":null,"b":7}`), &h))
	is.Equal(h, holder{B: schema.NullOf(7)})
	is.True(json.Unmarshal([]byte(`{"a":"x"}`), &h) != nil)
}

func TestDurationText(t *testing.T) {
	tests := []struct {
		text string
		d    time.Duration
		out  string // when it is written in another way than it was read
	}{
		{"PT0S", 0, ""},
		{"PT1M30S", 90 * time.Second, ""},
		{"PT1.5S", 1500 * time.Millisecond, ""},
		{"PT0.000000001S", 1, ""},
		{"PT36H", 36 * time.Hour, ""},
		{"P1D", 24 * time.Hour, "PT24H"},
		{"P1DT1H", 25 * time.Hour, "PT25H"},
		{"P2W", 14 * 24 * time.Hour, "PT336H"},
		{"-PT1S", -time.Second, ""},
		{"PT90S", 90 * time.Second, "PT1M30S"},
		{"PT1.50S", 1500 * time.Millisecond, "PT1.5S"},
		{"PT00H01M", time.Minute, "PT1M"},
		{"-PT0S", 0, "PT0S"},
		{"PT2562047H47M16.854775807S", math.MaxInt64, ""},
		{"-PT2562047H47M16.854775808S", math.MinInt64, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			is := is.New(t)
			d, err := schema.ParseDuration(tt.text)
			is.NoErr(err)
			is.Equal(time.Duration(d), tt.d)
			want := tt.out
			if want == "" {
				want = tt.text
			}
			is.Equal(d.String(), want)
			raw, err := json.Marshal(d)
			is.NoErr(err)
			var back schema.Duration
			is.NoErr(json.Unmarshal(raw, &back))
			is.Equal(back, d)
		})
	}
}

func TestDurationRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                            "must begin with P",
		"90s":                         "must begin with P",
		"P":                           "holds no number",
		"PT":                          "T must stand once",
		"P1":                          "a number and its unit",
		"P1Y":                         "no exact length",
		"P1M":                         "no exact length",
		"PT1D":                        "unknown unit",
		"P1H":                         "unknown unit",
		"P1DT":                        "T must stand once",
		"PT1HT1M":                     "T must stand once",
		"PT1M1H":                      "in order",
		"PT1S1S":                      "in order",
		"P1W1D":                       "weeks stand alone",
		"P1WT1H":                      "weeks stand alone",
		"PT1.5M":                      "only seconds",
		"PT1.S":                       "a number and its unit",
		"PT.5S":                       "a number and its unit",
		"PT1,5S":                      "unknown unit",
		"PT0.0000000001S":             "nine decimals",
		"PT-1S":                       "a number and its unit",
		"--PT1S":                      "must begin with P",
		"+PT1S":                       "must begin with P",
		"pt1s":                        "must begin with P",
		"PT2562047H47M16.854775808S":  "too long",
		"-PT2562047H47M16.854775809S": "too long",
		"PT2562048H":                  "too long",
		"PT99999999999999999999S":     "a number and its unit",
		"PT1S ":                       "a number and its unit",
		strings.Repeat("P", 200):      "a number and its unit",
	} {
		t.Run(text, func(t *testing.T) {
			is := is.New(t)
			_, err := schema.ParseDuration(text)
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), why)) // why it is refused
			is.True(strings.Contains(err.Error(), "PT1M30S"))
			is.True(len(err.Error()) < 250) // a long value is not repeated whole
		})
	}
	is := is.New(t)
	var d schema.Duration
	is.True(json.Unmarshal([]byte(`90`), &d) != nil)
	is.True(json.Unmarshal([]byte(`"90"`), &d) != nil)
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"PT1M30S", "-P1DT1.5S", "P2W", "PT", "P1Y", "PT2562047H47M16.854775807S"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := schema.ParseDuration(s)
		if err != nil {
			return
		}
		back, err := schema.ParseDuration(d.String())
		if err != nil || back != d {
			t.Fatalf("%q is %d, written %q, read %d, %v", s, d, d.String(), back, err)
		}
	})
}

func TestUnionOnTheWire(t *testing.T) {
	is := is.New(t)
	u := schema.Union[shape]{Value: shape{Circle: &circle{Radius: 2}}}
	text, err := json.Marshal(u)
	is.NoErr(err)
	is.Equal(string(text), `{"kind":"circle","radius":2}`) // the discriminator comes first
	var back schema.Union[shape]
	is.NoErr(json.Unmarshal([]byte(`{"radius":2,"kind":"circle"}`), &back))
	is.Equal(back, u)
	is.NoErr(json.Unmarshal([]byte(`{"kind":"group","of":[{"kind":"square","side":9007199254740993}]}`), &back))
	is.Equal(back.Value.Group.Of[0].Value.Square.Side, 9007199254740993)

	var empty schema.Union[choices]
	is.NoErr(json.Unmarshal([]byte(`{"type":"none"}`), &empty))
	text, err = json.Marshal(empty)
	is.NoErr(err)
	is.Equal(string(text), `{"type":"none"}`) // a variant without fields
}

type choices struct {
	None *struct{} `variant:"none"`
}

func (choices) Discriminator() string { return "type" }

func TestUnionRefused(t *testing.T) {
	for text, why := range map[string]string{
		`{"radius":1}`:                            "kind is missing",
		`{"kind":"cube"}`:                         `kind is "cube", must be one of circle, square, group`,
		`{"kind":1}`:                              "kind must be a string",
		`{"kind":null}`:                           "kind must be a string",
		`{"kind":"circle","radius":1,"side":2}`:   `unknown field "side"`,
		`{"kind":"circle","kind":"square"}`:       `"kind" is given twice`,
		`{"kind":"circle","radius":1,"radius":2}`: `"radius" is given twice`,
		`{"Kind":"circle","radius":1}`:            "kind is missing",
		`[]`:                                      "must be an object",
		`null`:                                    "null is not one of its variants",
		`{"kind":"group","of":[{"kind":"a"}]}`:    `kind is "a"`,
		`{"kind":"` + strings.Repeat("x", 1000) + `"}`: "…",
	} {
		t.Run(why, func(t *testing.T) {
			is := is.New(t)
			var u schema.Union[shape]
			err := json.Unmarshal([]byte(text), &u)
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), why))
			is.Equal(u, schema.Union[shape]{}) // nothing half read
		})
	}
	is := is.New(t)
	_, err := json.Marshal(schema.Union[shape]{})
	is.True(strings.Contains(err.Error(), "set exactly one variant, not 0"))
	_, err = json.Marshal(schema.Union[shape]{Value: shape{Circle: &circle{}, Square: &square{}}})
	is.True(strings.Contains(err.Error(), "not 2 (circle, square)"))
}

func FuzzUnion(f *testing.F) {
	f.Add([]byte(`{"kind":"circle","radius":1}`))
	f.Add([]byte(`{"kind":"group","of":[{"kind":"square","side":1}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var u schema.Union[shape]
		if json.Unmarshal(raw, &u) != nil {
			return
		}
		text, err := schema.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var back schema.Union[shape]
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

func TestBytes(t *testing.T) {
	is := is.New(t)
	b := schema.Bytes{MIMEType: "image/png", Data: []byte{0, 1, 255}}
	text, err := json.Marshal(b)
	is.NoErr(err)
	is.Equal(string(text), `{"kind":"bytes","mimeType":"image/png","base64":"AAH/"}`)
	var back schema.Bytes
	is.NoErr(json.Unmarshal(text, &back))
	is.Equal(back, b)
	for _, bad := range []string{
		`{"kind":"bytes","mimeType":"a/b"}`,
		`{"kind":"bytes","base64":""}`,
		`{"kind":"text","mimeType":"a/b","base64":""}`,
		`{"kind":"bytes","mimeType":"a/b","base64":"","x":1}`,
		`{"kind":"bytes","mimeType":"a/b","base64":"AAF"}`,
		`{"kind":"bytes","mimeType":"a/b","base64":"AAF="}`,
	} {
		is.True(json.Unmarshal([]byte(bad), &back) != nil) // refused: bad
	}
}

func TestIssueOnTheWire(t *testing.T) {
	is := is.New(t)
	i := schema.Issue{Path: []any{"list", 3, "name"}, Code: schema.IssueTooSmall, Message: "must be at least 1, got 0"}
	text, err := json.Marshal(i)
	is.NoErr(err)
	is.Equal(string(text), `{"path":["list",3,"name"],"code":"too_small","message":"must be at least 1, got 0"}`)
	var back schema.Issue
	is.NoErr(json.Unmarshal(text, &back))
	is.Equal(back, i) // an index is an int again
	text, err = json.Marshal(schema.Issue{Code: schema.IssueInvalidJSON})
	is.NoErr(err)
	is.Equal(string(text), `{"path":[],"code":"invalid_json","message":""}`)
	is.True(json.Unmarshal([]byte(`{"path":1}`), &back) != nil)
}

func TestIssueCodesAreClosed(t *testing.T) {
	is.New(t).Equal([]schema.IssueCode{
		schema.IssueUnrecognizedKey, schema.IssueRequired, schema.IssueInvalidType, schema.IssueInvalidValue, schema.IssueTooSmall,
		schema.IssueTooBig, schema.IssueInvalidFormat, schema.IssueDuplicateKey, schema.IssueInvalidJSON, schema.IssueInvalidUnion,
	}, []schema.IssueCode{
		"unrecognized_key", "required", "invalid_type", "invalid_value", "too_small",
		"too_big", "invalid_format", "duplicate_key", "invalid_json", "invalid_union",
	})
}

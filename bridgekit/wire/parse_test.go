package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/matryer/is"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]wire.Message{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`:          {Kind: wire.RequestKind, ID: "1", Method: "m", Params: json.RawMessage(`{"a":1}`)},
		`{"jsonrpc":"2.0","id":1,"method":""}`:                            {Kind: wire.RequestKind, ID: "1"},
		`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`:             {Kind: wire.RequestKind, ID: "1", Method: "m", Params: json.RawMessage(`null`)},
		`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`:              {Kind: wire.RequestKind, ID: "1", Method: "m", Params: json.RawMessage(`[1]`)},
		`{"jsonrpc":"2.0","method":"m"}`:                                  {Kind: wire.NotificationKind, Method: "m"},
		` { "params" : { } , "method" : "a\u002fb", "jsonrpc" : "2.0" } `: {Kind: wire.NotificationKind, Method: "a/b", Params: json.RawMessage(`{ }`)},
		`{"jsonrpc":"2.\u0030","m\u0065thod":"m","Method":7,"extra":{}}`:  {Kind: wire.NotificationKind, Method: "m"},
		`{"jsonrpc":"2.0","x":1,"x":2,"method":"m"}`:                      {Kind: wire.NotificationKind, Method: "m"},
		`{"jsonrpc":"2.0","id":"a","result":null}`:                        {Kind: wire.ResponseKind, ID: `"a"`, Result: json.RawMessage(`null`)},
		`{"jsonrpc":"2.0","id":"a","result":[1,{"b":2}]}`:                 {Kind: wire.ResponseKind, ID: `"a"`, Result: json.RawMessage(`[1,{"b":2}]`)},
		`{"jsonrpc":"2.0","id":"a","error":{"code":-32007,"message":"M","data":{"x":1}}}`: {Kind: wire.ResponseKind, ID: `"a"`,
			Error: &wire.Error{Code: -32007, Message: "M", Data: json.RawMessage(`{"x":1}`)}},
		`{"jsonrpc":"2.0","id":"a","error":{"message":"M"}}`: {Kind: wire.ResponseKind, ID: `"a"`,
			Error: &wire.Error{Code: wire.CodeInternal, Message: "the error of the response is no JSON-RPC error", Data: json.RawMessage(`{"message":"M"}`)}},
		`{"jsonrpc":"2.0","id":"a","error":null}`: {Kind: wire.ResponseKind, ID: `"a"`,
			Error: &wire.Error{Code: wire.CodeInternal, Message: "the error of the response is no JSON-RPC error", Data: json.RawMessage(`null`)}},
	} {
		t.Run(line, func(t *testing.T) {
			is := is.New(t)
			got, err := wire.Parse([]byte(line))
			is.NoErr(err)
			is.Equal(got, want)
		})
	}
}

func TestParseDrops(t *testing.T) {
	deep := `{"jsonrpc":"2.0","method":"m","params":{"a":` + strings.Repeat("[", wire.MaxDepth) + strings.Repeat("]", wire.MaxDepth) + `}}`
	for _, test := range []struct {
		reason wire.Reason
		name   string
		line   string
	}{
		{wire.InvalidUTF8, "invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"},
		{wire.InvalidUTF8, "a surrogate as UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xed\xa0\x80\"}"},
		{wire.InvalidJSON, "empty", ""},
		{wire.InvalidJSON, "white space", " \t\r "},
		{wire.InvalidJSON, "a banner", "Welcome to the agent"},
		{wire.InvalidJSON, "a colored log", "\x1b[31merror\x1b[0m"},
		{wire.InvalidJSON, "half an object", `{"jsonrpc":"2.0","method":"m"`},
		{wire.InvalidJSON, "a trailing comma", `{"jsonrpc":"2.0","method":"m",}`},
		{wire.InvalidJSON, "single quotes", `{'jsonrpc':'2.0'}`},
		{wire.InvalidJSON, "a control character in a string", "{\"jsonrpc\":\"2.0\",\"method\":\"a\tb\"}"},
		{wire.InvalidJSON, "a bad escape", `{"jsonrpc":"2.0","method":"\x"}`},
		{wire.InvalidJSON, "a bad number", `{"jsonrpc":"2.0","id":01,"method":"m"}`},
		{wire.InvalidJSON, "a bad word", `{"jsonrpc":"2.0","method":"m","params":nul}`},
		{wire.InvalidJSON, "NaN", `{"jsonrpc":"2.0","method":"m","params":{"a":NaN}}`},
		{wire.InvalidJSON, "too deep", deep},
		{wire.InvalidJSON, "junk behind the object", `{"jsonrpc":"2.0","method":"m"} junk`},
		{wire.InvalidJSON, "two numbers", `1 2`},
		{wire.SecondValue, "two objects on a line", `{"jsonrpc":"2.0","method":"m"}{"jsonrpc":"2.0","method":"m"}`},
		{wire.NotAnObject, "null", `null`},
		{wire.NotAnObject, "a string", `"text"`},
		{wire.NotAnObject, "a number", `-1.5e3`},
		{wire.NotAnObject, "a bool", `true`},
		{wire.Batch, "a batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`},
		{wire.Batch, "an empty batch", `[]`},
		{wire.RepeatedMember, "a method twice", `{"jsonrpc":"2.0","method":"m","method":"n"}`},
		{wire.RepeatedMember, "an id twice", `{"jsonrpc":"2.0","id":1,"method":"m","i\u0064":1}`},
		{wire.WrongVersion, "no version", `{"method":"m"}`},
		{wire.WrongVersion, "another version", `{"jsonrpc":"1.0","method":"m"}`},
		{wire.WrongVersion, "a number as version", `{"jsonrpc":2.0,"method":"m"}`},
		{wire.WrongVersion, "an empty object", `{}`},
		{wire.WrongMethod, "a number as method", `{"jsonrpc":"2.0","id":1,"method":7}`},
		{wire.WrongMethod, "null as method", `{"jsonrpc":"2.0","id":1,"method":null}`},
		{wire.NoKind, "neither method nor result", `{"jsonrpc":"2.0","id":1}`},
		{wire.TwoKinds, "method and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`},
		{wire.TwoKinds, "method and error", `{"jsonrpc":"2.0","id":1,"method":"m","error":{}}`},
		{wire.TwoKinds, "result and error", `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}`},
		{wire.WrongParams, "a notification with an array", `{"jsonrpc":"2.0","method":"m","params":[1]}`},
		{wire.WrongParams, "a notification with null", `{"jsonrpc":"2.0","method":"m","params":null}`},
		{wire.MissingID, "a response with null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
		{wire.MissingID, "a response without an id", `{"jsonrpc":"2.0","result":1}`},
		{wire.WrongID, "a response with a bool", `{"jsonrpc":"2.0","id":true,"result":1}`},
	} {
		t.Run(fmt.Sprint(test.reason, "/", test.name), func(t *testing.T) {
			is := is.New(t)
			_, err := wire.Parse([]byte(test.line))
			var dropped *wire.DroppedError
			is.True(errors.As(err, &dropped))
			is.Equal(dropped.Reason, test.reason)
			is.Equal(dropped.Length, int64(len(test.line)))
			is.True(len(dropped.Start) <= 128*3)
			is.True(strings.Contains(err.Error(), string(test.reason)))
		})
	}
}

func TestIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		`0`: true, `-1`: true, `-0`: true, `7`: true, `9007199254740993`: true, `123456789012345678901234567890`: true,
		`""`: true, `"a"`: true, `"7"`: true, `"\u0041\n"`: true, `"äöü"`: true,
		`1.5`: false, `1e3`: false, `1E3`: false, `1.0`: false, `null`: false, `true`: false, `{}`: false, `[1]`: false,
	} {
		t.Run(id, func(t *testing.T) {
			is := is.New(t)
			m, err := wire.Parse([]byte(`{"jsonrpc":"2.0","method":"m","id":` + id + `}`))
			if ok {
				is.NoErr(err)
				is.Equal(string(m.ID), id)
				return
			}
			var dropped *wire.DroppedError
			is.True(errors.As(err, &dropped))
			is.Equal(dropped.Reason, wire.WrongID)
			is.Equal(dropped.Method, "m")
		})
	}
}

func TestDepth(t *testing.T) {
	is := is.New(t)
	line := func(depth int) []byte { // the envelope is the first level
		return []byte(`{"jsonrpc":"2.0","id":"a","result":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
	}
	is.True(json.Valid(line(wire.MaxDepth)))
	_, err := wire.Parse(line(wire.MaxDepth))
	is.NoErr(err)
	is.True(!json.Valid(line(wire.MaxDepth + 1)))
	_, err = wire.Parse(line(wire.MaxDepth + 1))
	is.True(err != nil)
}

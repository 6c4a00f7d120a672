package openapi_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
)

func TestParameters(t *testing.T) {
	d := document(t, catalog(t, shelf()))
	const nodeRef = `{"$ref":"#/components/schemas/demo.shelf.find.input.node"}`
	for i, c := range []struct{ rule, member, want string }{
		{"a required string with its examples", "", `{"description":"What to look for","examples":{"example1":{"summary":"finds it","value":"\u003ca\u003e \u0026 b"}},"in":"query","name":"text","required":true,"schema":{"description":"What to look for","type":"string"}}`},
		{"an optional integer", "required", ""},
		{"a repeated parameter", "schema", `{"items":{"type":"string"},"type":"array"}`},
		{"an object as JSON text", "content", `{"application/json":{"examples":{"example1":{"summary":"finds it","value":{"kids":[],"label":""}}},"schema":` + nodeRef + `}}`},
		{"a list of JSON texts", "schema", `{"items":{"contentMediaType":"application/json","contentSchema":` + nodeRef + `,"type":"string"},"type":"array"}`},
		{"lists in a list as JSON texts", "schema", ""},
		{"a union as JSON text", "schema", ""},
		{"a nullable string", "schema", `{"type":["string","null"]}`},
		{"the whole input", "content", `{"application/json":{"schema":{"$ref":"#/components/schemas/demo.shelf.find.input"}}}`},
		{"who calls", "$ref", `"#/components/parameters/Client"`},
		{"where the caller is", "$ref", `"#/components/parameters/Context"`},
		{"how to render", "$ref", `"#/components/parameters/Render"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			path := []any{"paths", at1 + "find", "get", "parameters", i}
			is.True(at(t, d, path...) != "")
			if c.rule == "lists in a list as JSON texts" {
				is.True(strings.Contains(at(t, d, append(path, "schema", "items")...), `"contentMediaType":"application/json"`))
				return
			}
			if c.rule == "a union as JSON text" {
				is.True(at(t, d, append(path, "content", "application/json", "schema")...) != "")
			}
			if c.member != "" {
				path = append(path, c.member)
			}
			is.Equal(at(t, d, path...), c.want)
		})
	}
}

func TestTransportParameters(t *testing.T) {
	d := document(t, catalog(t, shelf()))
	for _, c := range []struct {
		method string
		want   []string
	}{
		{"photo", []string{"Raw", "Client", "Context", "Render"}},
		{"follow", []string{"Since", "LastEventID", "Client", "Context", "Render"}},
		{"drop", []string{"Client", "Context", "Render"}},
	} {
		t.Run(c.method, func(t *testing.T) {
			is := is.New(t)
			verb := "get"
			if c.method == "drop" {
				verb = "post"
			}
			var got []string
			list := d["paths"].(map[string]any)[at1+c.method].(map[string]any)[verb].(map[string]any)["parameters"].([]any)
			for _, p := range list {
				if r, ok := p.(map[string]any)["$ref"].(string); ok {
					got = append(got, strings.TrimPrefix(r, "#/components/parameters/"))
				}
			}
			is.Equal(got, c.want)
		})
	}
}

func TestRequestBody(t *testing.T) {
	is := is.New(t)
	d := document(t, catalog(t, shelf()))
	is.Equal(at(t, d, "paths", at1+"drop", "post", "requestBody"),
		`{"content":{"application/json":{"examples":{"example1":{"value":{"name":"cup"}}},"schema":{"$ref":"#/components/schemas/demo.shelf.drop.input"}}},"required":true}`)
	is.Equal(at(t, d, "paths", at1+"shake", "post", "requestBody", "required"), "false") // an empty body will do
	is.Equal(at(t, d, "paths", at1+"find", "get", "requestBody"), "")
}

func TestSuccess(t *testing.T) {
	is := is.New(t)
	d := document(t, catalog(t, shelf()))
	ok := func(method, verb string, more ...any) string {
		return at(t, d, append([]any{"paths", at1 + method, verb, "responses", "200"}, more...)...)
	}
	is.Equal(ok("find", "get", "content", "application/json", "schema"),
		`{"properties":{"ok":{"const":true,"type":"boolean"},"result":{"$ref":"#/components/schemas/demo.shelf.find.output"}},"required":["ok","result"],"type":"object"}`)
	is.Equal(ok("find", "get", "content", "text/plain"), "") // a client has one type
	is.Equal(ok("find", "get", "content", "*/*"), "")
	is.Equal(ok("photo", "get", "content", "*/*"), "{}") // bytes
	is.Equal(ok("follow", "get", "content", "text/event-stream", "schema", "contentSchema"), `{"$ref":"#/components/schemas/demo.shelf.follow.output"}`)
	is.Equal(ok("follow", "get", "content", "application/json"), "")
	for _, name := range []string{"Bb-Call-Id", "Bb-Generation", "Bb-Deadline", "Bb-Server-Id"} {
		is.True(ok("find", "get", "headers", name) != "")
		is.True(ok("follow", "get", "headers", name) != "")
	}
}

// Every code of the error table is in the answer of its status, for every method.
func TestFailures(t *testing.T) {
	is := is.New(t)
	d := document(t, catalog(t, shelf()))
	for _, row := range kernelcontract.Table() {
		status := strconv.Itoa(row.HTTPStatus)
		shared := at(t, d, "components", "responses", "Failure"+status)
		is.True(strings.Contains(shared, `"`+string(row.Code)+`"`))
		is.True(strings.Contains(shared, row.Description))
		for method, verb := range map[string]string{"find": "get", "follow": "get", "drop": "post", "photo": "get"} {
			is.True(at(t, d, "paths", at1+method, verb, "responses", status) != "")
		}
	}
	is.Equal(at(t, d, "paths", at1+"find", "get", "responses", "409"), `{"$ref":"#/components/responses/Failure409"}`)
	// A code of the plugin's own stands beside those of the kernel.
	own := []any{"paths", at1 + "drop", "post", "responses", "409"}
	is.Equal(at(t, d, append(slices.Clone(own), "content", "application/json", "schema", "allOf", 1, "properties", "error", "properties", "code", "enum")...), `["conflict","taken"]`)
	is.True(strings.Contains(at(t, d, append(slices.Clone(own), "description")...), "`taken`: Somebody uses it."))
	// What only a body meets.
	for _, status := range []string{"413", "415"} {
		is.True(at(t, d, "paths", at1+"drop", "post", "responses", status) != "")
		is.Equal(at(t, d, "paths", at1+"find", "get", "responses", status), "")
	}
	is.True(at(t, d, "components", "responses", "Failure503", "headers", "Retry-After") != "")
	is.True(at(t, d, "components", "responses", "Failure401", "headers", "WWW-Authenticate") != "")
	is.Equal(at(t, d, "components", "responses", "Failure404", "headers", "Retry-After"), "")
}

func TestExtensions(t *testing.T) {
	d := document(t, catalog(t, shelf()))
	for _, c := range []struct{ rule, method, verb, name, want string }{
		{"kind", "follow", "get", "x-bb-kind", `"stream"`},
		{"deadline of a query", "find", "get", "x-bb-deadline-ms", "30000"},
		{"deadline of a mutation", "shake", "post", "x-bb-deadline-ms", "60000"},
		{"deadline of its own", "drop", "post", "x-bb-deadline-ms", "90000"},
		{"destructive", "drop", "post", "x-bb-destructive", "true"},
		{"not destructive", "shake", "post", "x-bb-destructive", ""},
		{"resumable", "follow", "get", "x-bb-resumable", "true"},
		{"host", "shake", "post", "x-bb-target", `"host"`},
		{"local", "drop", "post", "x-bb-local", "true"},
		{"actors", "drop", "post", "x-bb-actors", `["user"]`},
		{"every actor", "find", "get", "x-bb-actors", ""},
		{"ambient", "find", "get", "x-bb-ambient", `{"text":"cwd"}`},
		{"auth", "find", "get", "x-bb-auth", `"operator"`},
		{"no token", "photo", "get", "security", "[]"},
		{"token as everywhere", "find", "get", "security", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is.New(t).Equal(at(t, d, "paths", at1+c.method, c.verb, c.name), c.want)
		})
	}
}

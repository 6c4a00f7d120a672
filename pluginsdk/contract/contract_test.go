package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/contract"
)

// document returns a contract with changes of its method, or of the whole.
func document(method, whole string) string {
	return fmt.Sprintf(`{"format": 1, "id": "demo", "version": "1", "services": [{"id": "demo/demo", "summary": "S", "methods": [{
		"method": "get", "kind": "query", "summary": "Get", "input": {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false},
		"output": {"type": "string"}%s}]}]%s}`, method, whole)
}

func TestDecode(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`"w",`, contract.MaxRun+1), ",")
	for name, c := range map[string]struct{ raw, want string }{
		"right":                       {document("", ""), ""},
		"everything":                  {document(`, "expose": {"cli": false}, "cli": {"args": ["a"], "group": []}, "blocking": {"maxMs": 5}, "target": "host", "auth": "none", "local": true, "actors": ["user"]`, `, "run": ["./x", "y"], "guide": "guide", "skills": "a/b", "config": [{"key": "k", "summary": "s"}]`), ""},
		"not JSON":                    {"{", "is not JSON"},
		"no format":                   {`{}`, "has format 0"},
		"other format":                {`{"format": 2, "more": true}`, "has format 2 and this program reads 1"},
		"unknown member":              {document("", `, "more": 1`), `unknown field "more"`},
		"unknown member of a method":  {document(`, "more": 1`, ""), `unknown field "more"`},
		"bytes behind":                {document("", "") + "{}", "after top-level value"},
		"too large":                   {strings.Repeat(" ", contract.MaxSize+1), "at most"},
		"id":                          {strings.Replace(document("", ""), `"id": "demo"`, `"id": "../x"`, 1), "id:"},
		"id of the kernel":            {strings.Replace(document("", ""), `"id": "demo"`, `"id": "kernel"`, 1), "not be kernel"},
		"no version":                  {strings.Replace(document("", ""), `"version": "1"`, `"version": ""`, 1), "version: is required"},
		"program outside":             {document("", `, "run": ["../x"]`), "leads out of the plugin's folder"},
		"absolute program":            {document("", `, "run": ["/bin/sh"]`), "leads out of the plugin's folder"},
		"file outside":                {document("", `, "run": ["python3", "./../x"]`), "leads out of the plugin's folder"},
		"empty program":               {document("", `, "run": [""]`), "is empty"},
		"backslashes":                 {document("", `, "run": ["bin\\x"]`), "backslash"},
		"many words":                  {document("", `, "run": [`+many+`]`), "at most 64"},
		"guide outside":               {document("", `, "guide": "../g"`), "guide:"},
		"skills outside":              {document("", `, "skills": "/s"`), "skills:"},
		"kind":                        {document(`, "kind": "custom"`, ""), `Kind: "custom" is not query`},
		"destructive query":           {document(`, "destructive": true`, ""), "only a mutation can destroy"},
		"resumable query":             {document(`, "resumable": true`, ""), "only a stream can be resumed"},
		"budget of a stream":          {document(`, "kind": "stream", "blocking": {"maxMs": 1}`, ""), "a stream has no budget"},
		"no input":                    {document(`, "input": null`, ""), "Input: is required"},
		"no output":                   {document(`, "output": null`, ""), "Output: is required"},
		"input that is open":          {document(`, "input": {"type": "object"}`, ""), `"additionalProperties": false`},
		"input that is no object":     {document(`, "input": {"type": "string"}`, ""), `"additionalProperties": false`},
		"name of a property":          {document(`, "input": {"type": "object", "properties": {"A": {"type": "string"}}, "additionalProperties": false}`, ""), "input.A: is not a valid name"},
		"keyword outside the subset":  {document(`, "output": {"type": "string", "if": {}}`, ""), "if"},
		"target":                      {document(`, "target": "moon"`, ""), "is not server or host"},
		"positional that is no field": {document(`, "cli": {"args": ["b"]}`, ""), `the input has no field "b"`},
		"service of another plugin":   {strings.Replace(document("", ""), `"demo/demo"`, `"Demo"`, 1), "is not plugin/service"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			got, err := contract.Decode([]byte(c.raw))
			if c.want == "" {
				is.NoErr(err)
				again, err := got.Encode()
				is.NoErr(err)
				back, err := contract.Decode(again)
				is.NoErr(err)
				twice, err := back.Encode()
				is.NoErr(err)
				is.Equal(string(twice), string(again))
				return
			}
			is.True(err != nil)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
		})
	}
	t.Run("a foreign format is typed", func(t *testing.T) {
		var f *contract.FormatError
		_, err := contract.Decode([]byte(`{"format": 9}`))
		is.New(t).True(errors.As(err, &f))
	})
	t.Run("all problems at once", func(t *testing.T) {
		_, err := contract.Decode([]byte(document(`, "destructive": true, "summary": ""`, `, "run": ["../x"], "guide": "/"`)))
		is.New(t).Equal(len(strings.Split(err.Error(), "\n")), 4)
	})
	t.Run("at most so many methods", func(t *testing.T) {
		is := is.New(t)
		var c contract.Contract
		is.NoErr(json.Unmarshal([]byte(document("", "")), &c))
		one := c.Services[0].Methods[0]
		for i := range contract.MaxMethods {
			m := one
			m.Method = fmt.Sprintf("m%d", i)
			c.Services[0].Methods = append(c.Services[0].Methods, m)
		}
		is.True(strings.Contains(c.Check().Error(), "501 methods, at most 500"))
	})
}

func TestCommand(t *testing.T) {
	is := is.New(t)
	dir := filepath.FromSlash("/p/demo")
	command := func(system string, run ...string) string {
		c := contract.Contract{ID: "demo", Run: run}
		return strings.Join(c.Command(dir, system), " ")
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	is.Equal(command("linux"), in("demo"))
	is.Equal(command("windows"), in("demo")+".exe")
	is.Equal(command("linux", "bin/x", "-v", "./data"), in("bin/x")+" -v "+in("data"))
	is.Equal(command("windows", "./x.bat"), in("x.bat"))
	is.Equal(command("windows", "python3", "./x.py"), "python3 "+in("x.py"))
}

func TestSurfacesAreWithheld(t *testing.T) {
	is := is.New(t)
	c, err := contract.Decode([]byte(document(`, "expose": {"http": false, "cli": false, "sdk": true}`, "")))
	is.NoErr(err)
	def, err := c.Define(nil)[0].Def()
	is.NoErr(err)
	is.Equal(def.Methods[0].Expose, kernelcontract.Exposure{SDK: true})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(document("", "")))
	f.Add([]byte(document(`, "cli": {"flags": {"a": {"short": "a"}}}`, `, "run": ["./x"]`)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := contract.Decode(raw)
		if err != nil {
			return
		}
		for _, w := range c.Command("/root/of/it", "linux")[:1] {
			if strings.Contains(w, "/") && !strings.HasPrefix(w, "/root/of/it/") && w != "/root/of/it" {
				t.Fatalf("%q leads out", w)
			}
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := contract.Decode(again); err != nil && len(again) <= contract.MaxSize {
			t.Fatalf("%s: %v", again, err)
		}
	})
}

package openapi

import (
	"encoding/json"
	"strconv"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// OperationID returns the operationId of a method: plugin_service_method. Since no name has an underscore, no two methods
// share one.
func OperationID(pluginID, service, method string) string {
	return pluginID + "_" + service + "_" + method
}

// SchemaName returns the name of the component that is a method's input or output: plugin.service.method.input or …output.
func SchemaName(pluginID, service, method, side string) string {
	return pluginID + "." + service + "." + method + "." + side
}

func (b *builder) operation(d *docs.MethodDoc, tag string) (object, error) {
	op := object{
		{"operationId", OperationID(d.PluginID, d.Service, d.Method)},
		{"tags", []string{tag}},
		{"summary", d.Summary},
	}
	if d.Description != "" {
		op = op.with("description", d.Description)
	}
	in, out := d.Input, d.Output
	if in == nil {
		in = &schema.Schema{Type: schema.Object, Strict: true}
	}
	if out == nil {
		out = &schema.Schema{}
	}
	inName := SchemaName(d.PluginID, d.Service, d.Method, "input")
	outName := SchemaName(d.PluginID, d.Service, d.Method, "output")
	part := partOf(inName)
	if d.Kind == kernelcontract.KindMutation || len(in.Properties) > 0 { // else nothing would refer to it
		if err := b.component(inName, in); err != nil {
			return nil, err
		}
	}
	if err := b.component(outName, out); err != nil {
		return nil, err
	}
	parameters := []object{}
	if d.Kind != kernelcontract.KindMutation {
		var err error
		if parameters, err = queryParameters(d, in, inName, part); err != nil {
			return nil, err
		}
	}
	parameters = append(parameters, transportParameters(d, out)...)
	op = op.with("parameters", parameters)
	if d.Kind == kernelcontract.KindMutation {
		op = op.with("requestBody", requestBody(d, in, inName))
	}
	op = op.with("responses", responses(d, out, outName))
	if d.Auth == kernelcontract.AuthNone {
		op = op.with("security", []object{})
	}
	return append(op, extensions(d)...), nil
}

// extensions are what OpenAPI has no word for.
func extensions(d *docs.MethodDoc) object {
	wait := kernelcontract.QueryWait.Milliseconds()
	if d.Kind == kernelcontract.KindMutation {
		wait = kernelcontract.MutationWait.Milliseconds()
	}
	if d.Blocking != nil {
		wait = d.Blocking.MaxMs
	}
	e := object{{"x-bb-kind", d.Kind}, {"x-bb-deadline-ms", wait}}
	if d.Destructive {
		e = e.with("x-bb-destructive", true)
	}
	if d.Resumable {
		e = e.with("x-bb-resumable", true)
	}
	if d.Target == kernelcontract.OnHost {
		e = e.with("x-bb-target", d.Target)
	}
	if d.Local {
		e = e.with("x-bb-local", true)
	}
	if d.Auth != "" {
		e = e.with("x-bb-auth", d.Auth)
	}
	if d.Actors != nil {
		e = e.with("x-bb-actors", d.Actors)
	}
	if len(d.Ambient) > 0 {
		e = e.with("x-bb-ambient", d.Ambient)
	}
	return e
}

// saidAsJSON reports whether a parameter carries a value of s as JSON text, as package route has it.
func saidAsJSON(s *schema.Schema) bool {
	return len(s.OneOf) > 0 || s.Type == schema.Any || s.Type == schema.Object
}

// queryParameters are those of the fields, and the one for the whole input.
func queryParameters(d *docs.MethodDoc, in *schema.Schema, inName string, part partFunc) ([]object, error) {
	out := []object{}
	for _, p := range in.Properties {
		resolved := in.Resolve(p.Schema)
		if resolved == nil {
			resolved = &schema.Schema{}
		}
		raw, err := part(p.Schema)
		if err != nil {
			return nil, err
		}
		o := object{{"name", p.Name}, {"in", "query"}}
		if resolved.Description != "" {
			o = o.with("description", resolved.Description)
		}
		if p.Required {
			o = o.with("required", true)
		}
		shown := parameterExamples(d, p.Name)
		if saidAsJSON(resolved) {
			media := object{{"schema", raw}}
			if len(shown) > 0 {
				media = media.with("examples", shown)
			}
			out = append(out, o.with("content", object{{"application/json", media}}))
			continue
		}
		if resolved.Type == schema.Array {
			item := &schema.Schema{}
			if resolved.Items != nil {
				if s := in.Resolve(resolved.Items); s != nil {
					item = s
				}
			}
			if saidAsJSON(item) || item.Type == schema.Array {
				if raw, err = listOfJSON(resolved, part); err != nil {
					return nil, err
				}
				shown = nil // they are not what the parameter holds
			}
		}
		o = o.with("schema", raw)
		if len(shown) > 0 {
			o = o.with("examples", shown)
		}
		out = append(out, o)
	}
	if len(in.Properties) > 0 {
		out = append(out, object{
			{"name", route.InputParam}, {"in", "query"},
			{"description", "The whole input, alone, for what the other parameters cannot say, such as an empty list; required ones are then in here."},
			{"content", object{{"application/json", object{{"schema", ref("schemas", inName)}}}}},
		})
	}
	return out, nil
}

// listOfJSON is the schema of a repeated parameter whose values are JSON texts.
func listOfJSON(list *schema.Schema, part partFunc) (json.RawMessage, error) {
	items := object{{"type", "string"}, {"contentMediaType", "application/json"}}
	if list.Items != nil {
		raw, err := part(list.Items)
		if err != nil {
			return nil, err
		}
		items = items.with("contentSchema", raw)
	}
	o := object{{"type", "array"}, {"items", items}}
	if list.MinItems != nil {
		o = o.with("minItems", *list.MinItems)
	}
	if list.MaxItems != nil {
		o = o.with("maxItems", *list.MaxItems)
	}
	return jsontext.Marshal(o)
}

// exampleName names the example with that index.
func exampleName(i int) string { return "example" + strconv.Itoa(i+1) }

// parameterExamples are the values that the method's examples have for a field.
func parameterExamples(d *docs.MethodDoc, field string) object {
	var out object
	for i, e := range d.Examples {
		members, err := jsontext.Members(e.Input)
		if err != nil {
			continue // the manifest's reader has refused what is no object
		}
		if at := jsontext.Find(members, field); at >= 0 {
			out = append(out, member{exampleName(i), example(e, members[at].Raw)})
		}
	}
	return out
}

func example(e kernelcontract.ExampleDef, value json.RawMessage) object {
	o := object{}
	if e.Note != "" {
		o = o.with("summary", e.Note)
	}
	return o.with("value", value)
}

func requestBody(d *docs.MethodDoc, in *schema.Schema, inName string) object {
	media := object{{"schema", ref("schemas", inName)}}
	var shown object
	for i, e := range d.Examples {
		shown = append(shown, member{exampleName(i), example(e, e.Input)})
	}
	if len(shown) > 0 {
		media = media.with("examples", shown)
	}
	required := false
	for _, p := range in.Properties {
		required = required || p.Required
	}
	return object{{"required", required}, {"content", object{{"application/json", media}}}}
}

// transportParameters are the parameters that belong to HTTP.
func transportParameters(d *docs.MethodDoc, out *schema.Schema) []object {
	var p []object
	switch {
	case d.Kind == kernelcontract.KindStream && d.Resumable:
		p = append(p, ref("parameters", "Since"), ref("parameters", "LastEventID"))
	case d.Kind != kernelcontract.KindStream && out.IsBytes():
		p = append(p, ref("parameters", "Raw"))
	}
	return append(p, ref("parameters", "Client"), ref("parameters", "Context"), ref("parameters", "Render"))
}

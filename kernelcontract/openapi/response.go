package openapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/docs"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// responses are the success and every failure of a method, by status.
func responses(d *docs.MethodDoc, out *schema.Schema, outName string) object {
	r := object{{"200", success(d, out, outName)}}
	declared := map[int][]declaredError{}
	for _, code := range slices.Sorted(maps.Keys(d.Errors)) {
		row, ok := d.Errors[code].Like.Row()
		if !ok {
			continue // definitions are checked
		}
		declared[row.HTTPStatus] = append(declared[row.HTTPStatus], declaredError{code, d.Errors[code]})
	}
	for _, status := range failureStatuses(d.Kind) {
		text := strconv.Itoa(status)
		if more := declared[status]; len(more) > 0 {
			r = r.with(text, failure(status, more))
		} else {
			r = r.with(text, ref("responses", responseName(status)))
		}
	}
	return r
}

// declaredError is a code of a plugin's own.
type declaredError struct {
	code kernelcontract.Code
	def  kernelcontract.ErrorDef
}

func success(d *docs.MethodDoc, out *schema.Schema, outName string) object {
	if d.Kind == kernelcontract.KindStream {
		return object{
			{"description", "Server-sent events: `item` with a value, `error` with a failure, and `end`."},
			{"headers", answerHeaders()},
			{"content", object{{"text/event-stream", object{{"schema", object{
				{"type", "string"},
				{"description", "The data of each `item` event is a value of the schema of the content, as JSON."},
				{"contentMediaType", "text/event-stream"},
				{"contentSchema", ref("schemas", outName)},
			}}}}}},
		}
	}
	content := object{
		{"application/json", object{{"schema", object{
			{"type", "object"},
			{"properties", object{{"ok", object{{"type", "boolean"}, {"const", true}}}, {"result", ref("schemas", outName)}}},
			{"required", []string{"ok", "result"}},
		}}}},
	}
	description := "The result."
	if out.IsBytes() {
		description = "The result; the bytes themselves when they are asked for."
		content = content.with("*/*", object{})
	}
	return object{{"description", description}, {"headers", answerHeaders()}, {"content", content}}
}

// rowsByStatus are the lines of the error table by status, with the narrower refusals of an input.
func rowsByStatus() map[int][]kernelcontract.Row {
	byStatus := map[int][]kernelcontract.Row{}
	for _, row := range kernelcontract.Table() {
		byStatus[row.HTTPStatus] = append(byStatus[row.HTTPStatus], row)
	}
	for _, narrower := range bodyRefusals {
		row := (&kernelcontract.Error{Code: kernelcontract.InvalidInput, Refusal: narrower.refusal}).Row()
		row.Description = narrower.description
		byStatus[row.HTTPStatus] = append(byStatus[row.HTTPStatus], row)
	}
	return byStatus
}

// bodyRefusals are what only a request with a body meets.
var bodyRefusals = [...]struct {
	refusal     kernelcontract.Refusal
	description string
}{
	{kernelcontract.TooLarge, "The body is over its limit."},
	{kernelcontract.NotJSON, "The body is not JSON."},
}

// failureStatuses lists the statuses of the failures of a kind, ascending. A handler may answer every code of the kernel.
func failureStatuses(k kernelcontract.Kind) []int {
	byStatus := rowsByStatus()
	if k != kernelcontract.KindMutation {
		for _, narrower := range bodyRefusals {
			delete(byStatus, (&kernelcontract.Error{Code: kernelcontract.InvalidInput, Refusal: narrower.refusal}).Row().HTTPStatus)
		}
	}
	return slices.Sorted(maps.Keys(byStatus))
}

func responseName(status int) string { return failureSchema + strconv.Itoa(status) }

// sharedResponses are the failures with the kernel's codes alone.
func sharedResponses() object {
	var out object
	for _, status := range failureStatuses(kernelcontract.KindMutation) {
		out = out.with(responseName(status), failure(status, nil))
	}
	return out
}

// failure is the response of a status: its kernel codes and those that a method declares.
func failure(status int, declared []declaredError) object {
	var codes []kernelcontract.Code
	var lines []string
	line := func(code kernelcontract.Code, description string) {
		codes = append(codes, code)
		lines = append(lines, strings.TrimSuffix("`"+string(code)+"`: "+description, ": "))
	}
	for _, row := range rowsByStatus()[status] {
		line(row.Code, row.Description)
	}
	for _, d := range declared {
		line(d.code, d.def.Description)
	}
	headers := answerHeaders()
	if is(kernelcontract.Unauthenticated, status) {
		headers = headers.with("WWW-Authenticate", ref("headers", "WWWAuthenticate"))
	}
	if is(kernelcontract.ServiceUnavailable, status) {
		headers = headers.with("Retry-After", ref("headers", "RetryAfter"))
	}
	return object{
		{"description", strings.Join(lines, "\n")},
		{"headers", headers},
		{"content", object{
			{"application/json", object{{"schema", object{{"allOf", []object{
				ref("schemas", failureSchema),
				{{"type", "object"}, {"properties", object{{"error", object{
					{"type", "object"}, {"properties", object{{"code", object{{"type", "string"}, {"enum", codes}}}}},
				}}}}},
			}}}}}},
		}},
	}
}

// is reports whether a status is that of a code.
func is(code kernelcontract.Code, status int) bool {
	row, _ := code.Row()
	return row.HTTPStatus == status
}

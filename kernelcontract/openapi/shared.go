package openapi

import (
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/header"
	"github.com/bb-kernel/bb/kernelcontract/route"
	"github.com/bb-kernel/bb/kernelcontract/schema"
)

// sharedParameters are those that many operations refer to.
func sharedParameters() object {
	text := object{{"type", "string"}}
	context := object{}
	for _, k := range []kernelcontract.ContextKey{kernelcontract.ThreadID, kernelcontract.ProjectID, kernelcontract.EnvironmentID, kernelcontract.HostID, kernelcontract.CWD} {
		context = context.with(string(k), object{{"type", "string"}, {"minLength", 1}})
	}
	cursor := object{{"type", "string"}, {"maxLength", kernelcontract.MaxCursor}}
	return object{
		{"Client", object{{"name", header.Client}, {"in", "header"}, {"description", "What calls: `kind/surface`, then optionally `; version=v`."}, {"schema", text}}},
		{"Context", object{
			{"name", header.Context}, {"in", "header"}, {"description", "Where the caller is: a JSON object in ASCII. It fills the fields that `x-bb-ambient` lists."},
			{"content", object{{"application/json", object{{"schema", object{{"type", "object"}, {"properties", context}, {"additionalProperties", false}}}}}}},
		}},
		{"Render", object{{"name", header.Render}, {"in", "header"}, {"description", "Asks for text to read: `text`, then optionally `; width=80; color=1; tty=1`. The answer is then `text/plain`, which is not among the responses, so that clients have one type for each."}, {"schema", text}}},
		{"LastEventID", object{{"name", header.LastEventID}, {"in", "header"}, {"description", "The cursor to go on after; it wins over `" + route.SinceParam + "`."}, {"schema", cursor}}},
		{"Since", object{{"name", route.SinceParam}, {"in", "query"}, {"description", "The cursor to go on after."}, {"schema", cursor}}},
		{"Raw", object{{"name", route.RawParam}, {"in", "query"}, {"description", "`1` asks for the bytes themselves, as an `Accept` that names their type does."}, {"schema", object{{"type", "string"}, {"enum", []string{"1", "0", "true", "false"}}}}}},
	}
}

// sharedHeaders are those of every answer, and those of some failures.
func sharedHeaders() object {
	text := object{{"type", "string"}}
	return object{
		{"CallID", object{{"description", "The id of the call; it sorts by time."}, {"schema", text}}},
		{"Generation", object{{"description", "The generation of the catalog; it grows across restarts."}, {"schema", object{{"type", "integer"}, {"minimum", 0}}}}},
		{"Deadline", object{{"description", "When the call times out."}, {"schema", object{{"type", "string"}, {"format", "date-time"}}}}},
		{"ServerID", object{{"description", "The server's id; it belongs to the data directory."}, {"schema", text}}},
		{"RetryAfter", object{{"description", "Seconds to wait before another try."}, {"schema", object{{"type", "integer"}, {"minimum", 0}}}}},
		{"WWWAuthenticate", object{{"description", "How to show who calls."}, {"schema", text}}},
	}
}

// answerHeaders refers to the headers of every answer.
func answerHeaders() object {
	return object{
		{header.CallID, ref("headers", "CallID")},
		{header.Generation, ref("headers", "Generation")},
		{header.Deadline, ref("headers", "Deadline")},
		{header.ServerID, ref("headers", "ServerID")},
	}
}

// Names of the schemas of failures. No method's schema has a name without dots.
const (
	failureSchema = "Failure"
	issueSchema   = "Issue"
)

// issueCodes lists the codes of issues; the set is closed.
var issueCodes = [...]schema.IssueCode{
	schema.IssueUnrecognizedKey, schema.IssueRequired, schema.IssueInvalidType, schema.IssueInvalidValue, schema.IssueTooSmall, schema.IssueTooBig,
	schema.IssueInvalidFormat, schema.IssueDuplicateKey, schema.IssueInvalidJSON, schema.IssueInvalidUnion,
}

// sharedSchemas are those of failures.
func sharedSchemas() object {
	text := object{{"type", "string"}}
	return object{
		{failureSchema, object{
			{"type", "object"},
			{"properties", object{
				{"ok", object{{"type", "boolean"}, {"const", false}}},
				{"error", object{
					{"type", "object"},
					{"properties", object{
						{"code", text},
						{"message", text},
						{"issues", object{{"type", "array"}, {"items", ref("schemas", issueSchema)}}},
						{"details", object{{"type", "object"}, {"additionalProperties", true}}},
						{"retryable", object{{"type", "boolean"}}},
					}},
					{"required", []string{"code", "message", "retryable"}},
				}},
			}},
			{"required", []string{"ok", "error"}},
		}},
		{issueSchema, object{
			{"type", "object"},
			{"properties", object{
				{"path", object{{"type", "array"}, {"items", object{{"type", []string{"string", "integer"}}}}}},
				{"code", object{{"type", "string"}, {"enum", issueCodes}}},
				{"message", text},
			}},
			{"required", []string{"path", "code", "message"}},
		}},
	}
}

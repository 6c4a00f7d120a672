// Package fakemodel is a model server for tests that drive real coding agents without a network, a login or a model: one
// http.Handler that speaks OpenAI Responses, OpenAI chat completions and Anthropic Messages, streamed and whole.
//
//	model := fakemodel.New(fakemodel.Options{APIKey: "secret"})
//	url := model.Start(t) // OpenAI clients want url + "/v1" as their base, Anthropic clients url itself
//
// What it answers is decided by the last message of the user, a script with one word a line:
//
//	SAY text        says the text
//	THINK text      thinks it
//	RUN command     calls the shell, then says what that printed
//	EDIT file text  writes the text (optional) into the file with the tool that the agent offers for edits
//	PLAN a; b       sets a plan, by default one of two steps
//	AGENT script    gives the script (optional) to a sub-agent
//	CALL name json  calls the tool whose name ends so, with the arguments (optional)
//	TWO             calls the shell twice at once
//	STEPS n         calls the shell n times, one after the other
//	BAD             calls the shell with arguments that are no JSON
//	UNKNOWN         calls a tool that nobody offers
//	IMAGE           says which images the message holds
//	HANG text       streams the text (optional), then nothing until the client leaves
//	FAIL status     fails with the status, by default 500
//	RATE n          refuses n times (by default once) with 429 and Retry-After, then goes on
//
// Anything else is echoed. Tools are chosen by the schemas in the request, so the same script drives every agent. The
// conversation in the request is the only memory, except for RATE's count: ids and answers are the same in every run.
//
// The rules are stated in docs/spec/fakemodel.md.
package fakemodel

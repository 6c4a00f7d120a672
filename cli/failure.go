package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/sdk"
)

// fail reports a failure and returns its exit status. Under --json the failure object goes to standard output, on one line
// when line says so; else the text goes to standard error.
func (a *app) fail(e *kernelcontract.Error, line bool) int {
	switch {
	case a.globals.json && line:
		a.out.print(safeJSON(kernelcontract.MarshalFailure(e)))
	case a.globals.json:
		a.out.print(pretty(kernelcontract.MarshalFailure(e)))
	case a.ctx.Err() == nil: // an interruption needs no words
		a.err.print(a.failureText(e))
	}
	if a.ctx.Err() != nil {
		return kernelcontract.ExitInterrupted
	}
	return e.Row().Exit
}

func (a *app) failureText(e *kernelcontract.Error) string {
	var unreachable *sdk.UnreachableError
	if errors.As(e, &unreachable) {
		return "bb: " + text.Strip(unreachable.Error())
	}
	s := text.Error(e, kernelcontract.Render{Color: a.color() && a.term.Stderr})
	switch {
	case errors.Is(e, kernelcontract.Unauthenticated):
		s += "\nbb: run `bb login` to store a token for " + text.Strip(a.serverURL()) + ", or set " + sdk.EnvToken
	case e.CallID != "" && errors.Is(e, kernelcontract.Internal):
		s += "\nbb: the server's log has more under the call id " + text.Strip(e.CallID)
	}
	return s
}

// usage reports a misuse of the command line: exit status 2. w is the word that was meant, nil for none.
func (a *app) usage(e *kernelcontract.Error, w *word.Word) int {
	if a.globals.json {
		return a.fail(e, w != nil && w.Kind == kernelcontract.KindStream)
	}
	if a.ctx.Err() != nil {
		return kernelcontract.ExitInterrupted
	}
	issues := e.Issues
	if len(issues) < 2 {
		a.warnf("%s", e.Message)
	} else {
		for _, i := range issues {
			a.warnf("%s", i.Message)
		}
	}
	if w != nil {
		a.err.print(text.Strip("usage: " + word.UsageLine(w)))
	}
	return e.Row().Exit
}

// pretty indents JSON for people.
func pretty(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return safeJSON(raw)
	}
	return safeJSON(b.Bytes())
}

// oneLine folds JSON into one line.
func oneLine(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return safeJSON(raw)
	}
	return safeJSON(b.Bytes())
}

// safeJSON escapes the control characters that JSON allows in strings as they are and a terminal would obey: DEL and C1.
// The value stays the same.
func safeJSON(raw []byte) string {
	const hex = "0123456789abcdef"
	isControl := func(r rune) bool { return r >= 0x7f && r <= 0x9f }
	if bytes.IndexFunc(raw, isControl) < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	out := make([]byte, 0, len(raw)+32)
	for _, r := range string(raw) {
		if isControl(r) {
			out = append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

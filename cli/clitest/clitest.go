// Package clitest checks that a service's inputs survive the command line: written as words, taken apart by the parser of
// bb, and turned into JSON again.
package clitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/cli/internal/parse"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// Inputs are inputs of methods by name: Go values, or JSON as json.RawMessage.
type Inputs map[string][]any

// ExpectRoundTrip fails t once, listing every problem as "service.method cli: problem", unless each input in inputs and
// each example of the service comes back from its command line as it was. What words cannot say goes through --input.
func ExpectRoundTrip(t testing.TB, s *kernelcontract.Service, inputs Inputs) {
	t.Helper()
	if err := Check(s, inputs); err != nil {
		t.Errorf("%v", err)
	}
}

// Check is ExpectRoundTrip without a test. The error lists every problem, one a line.
func Check(s *kernelcontract.Service, inputs Inputs) error {
	def, err := s.Def()
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if def.Method(name) == nil {
			problems = append(problems, fmt.Errorf("%s.%s cli: the service has no such method", def.ID(), name))
		}
	}
	for _, d := range def.Methods {
		w, err := word.Of(d, def)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s cli: %w", d.Ref(), err))
			continue
		}
		if w == nil {
			continue
		}
		all := make([]any, 0, len(d.Examples)+len(inputs[d.Method]))
		for _, ex := range d.Examples {
			all = append(all, ex.Input)
		}
		for _, in := range append(all, inputs[d.Method]...) {
			if err := roundTrip(w, in); err != nil {
				problems = append(problems, fmt.Errorf("%s cli: %w", d.Ref(), err))
			}
		}
	}
	return errors.Join(problems...)
}

func roundTrip(w *word.Word, in any) error {
	raw, ok := in.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = schema.Marshal(in); err != nil {
			return fmt.Errorf("an input does not encode: %w", err)
		}
	}
	args, ok := word.Words(w, raw)
	if !ok {
		if len(w.Fields) == 0 {
			return fmt.Errorf("the method has no input, but %s was given", raw)
		}
		args = []string{"--input", string(raw)}
	}
	said := "bb " + strings.Join(append(w.Path(), args...), " ")
	line, failure := parse.Parse(w, args)
	if failure != nil {
		return fmt.Errorf("%s: %s", said, failure.Message)
	}
	back, err := word.Input(w, word.Values{Words: line.Words, Flags: line.Flags, Whole: line.Input})
	if err != nil {
		return fmt.Errorf("%s: %s", said, kernelcontract.AsError(err).Message)
	}
	want, err := canonical(raw)
	if err != nil {
		return err
	}
	got, err := canonical(back)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: gives %s instead of %s", said, got, want)
	}
	return nil
}

// canonical writes JSON with its members in one order, numbers as they are.
func canonical(raw json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("an input is not JSON: %w", err)
	}
	return json.Marshal(v)
}

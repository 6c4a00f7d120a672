package clitest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/cli/clitest"
	"github.com/bb-kernel/bb/kernelcontract"
)

type input struct {
	Words  []string                    `json:"words,omitempty"`
	Text   string                      `json:"text,omitempty"`
	Big    int64                       `json:"big,omitempty"`
	Ratio  float64                     `json:"ratio,omitempty"`
	Flag   *bool                       `json:"flag,omitempty" default:"true"`
	Maybe  kernelcontract.Null[int]    `json:"maybe,omitzero"`
	Name   kernelcontract.Null[string] `json:"name,omitzero"`
	IDs    []int                       `json:"ids,omitempty"`
	Labels map[string]string           `json:"labels,omitempty"`
	Nested map[string]any              `json:"nested,omitempty"`
	JSON   string                      `json:"json,omitempty"`
}

func service() *kernelcontract.Service {
	return &kernelcontract.Service{ID: "demo/svc", Summary: "Demo", Methods: []kernelcontract.Method{
		&kernelcontract.Query[input, kernelcontract.None]{Ref: "demo/svc.take", Summary: "Take", CLI: kernelcontract.CLI{Args: []string{"words..."},
			Flags: map[string]kernelcontract.Flag{"text": {File: true, Stdin: true, Short: "t"}}},
			Examples: []kernelcontract.Example[input]{{Input: input{Text: "an example"}}}},
		&kernelcontract.Query[kernelcontract.None, kernelcontract.None]{Ref: "demo/svc.none", Summary: "None"},
	}}
}

// TestRoundTrip proves the way through the real parser for values that are hard to write.
func TestRoundTrip(t *testing.T) {
	raw := func(s string) any { return json.RawMessage(s) }
	clitest.ExpectRoundTrip(t, service(), clitest.Inputs{"take": {
		input{}, input{Words: []string{"-5", "--text", "-x", "-", "--", ""}}, input{Text: "--loud"}, input{Text: "@file"}, input{Text: "-"},
		input{Big: math.MaxInt64, Ratio: -0.5}, input{Big: math.MinInt64}, input{IDs: []int{-1, 2}}, input{Labels: map[string]string{"a": "b=c", "x": ""}},
		input{Labels: map[string]string{"a=b": "c"}}, input{Nested: map[string]any{"a": []any{nil, 1, "x"}}}, input{JSON: "x y\n\t\"z\" ü \u2028"},
		raw(`{"flag":false}`), raw(`{"flag":true}`), raw(`{"maybe":null}`), raw(`{"name":null}`), raw(`{"name":"null"}`), raw(`{"ids":[]}`), raw(`{"words":[]}`),
		raw(`{"big":9007199254740993}`), raw(`{"ratio":1e3}`), raw(`{"text":"$HOME ${x}"}`), raw(`{"text":"\u0000"}`),
	}, "none": {raw(`{}`)}})
}

func TestProblemsAreListedTogether(t *testing.T) {
	is := is.New(t)
	err := clitest.Check(service(), clitest.Inputs{"none": {json.RawMessage(`{"a":1}`)}, "gone": {nil}, "take": {json.RawMessage(`[]`), json.RawMessage(`{`)}})
	is.True(err != nil)
	lines := strings.Split(err.Error(), "\n")
	is.Equal(len(lines), 4)
	is.True(strings.Contains(err.Error(), "demo/svc.gone cli: the service has no such method"))
	is.True(strings.Contains(err.Error(), "demo/svc.none cli: "))
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("--", "x", int64(-5), 0.5, "k", "v")
	f.Add("-5", "@y", int64(1<<53+1), -1e300, "a=b", "")
	f.Fuzz(func(t *testing.T, word, text string, big int64, ratio float64, key, value string) {
		in := input{Words: []string{word, text}, Text: text, Big: big, Ratio: ratio, Labels: map[string]string{key: value}, IDs: []int{int(big)}, JSON: word}
		if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
			return
		}
		if err := clitest.Check(service(), clitest.Inputs{"take": {in}}); err != nil && !strings.Contains(err.Error(), "does not encode") {
			t.Error(err)
		}
	})
}

func ExampleCheck() {
	greet := &kernelcontract.Query[input, kernelcontract.None]{Ref: "demo/svc.greet", Summary: "Greet"}
	s := &kernelcontract.Service{ID: "demo/svc", Summary: "Demo", Methods: []kernelcontract.Method{greet}}
	fmt.Println(clitest.Check(s, clitest.Inputs{"greet": {input{Text: "--not-a-flag"}}}))
	// Output: <nil>
}

package word

import (
	"encoding/json"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// Words returns the words that say the input, after the word's path: flags first, then the positionals. ok is false when
// words cannot say it, and --input must: a null string, an empty list of strings, a key with "=", a field that the word
// does not have, an optional positional that is skipped.
func Words(w *Word, input json.RawMessage) (args []string, ok bool) {
	members, err := decodeObject(input)
	if err != nil {
		return nil, false
	}
	v := Values{Flags: map[string][]string{}}
	for _, m := range members {
		f := w.Field(m.Name)
		if f == nil || f.Secret {
			return nil, false
		}
		if f.Position != nil {
			continue
		}
		texts, ok := textsOf(f, m.Raw)
		if !ok {
			return nil, false
		}
		v.Flags[f.Name] = texts
		for _, t := range texts {
			args = append(args, flagWord(f, t))
		}
	}
	for _, f := range w.Positionals() {
		i := jsontext.Find(members, f.Name)
		if i < 0 {
			continue
		}
		texts, ok := textsOf(f, members[i].Raw)
		if !ok {
			return nil, false
		}
		v.Words = append(v.Words, texts...)
	}
	for _, t := range v.Words {
		if strings.HasPrefix(t, "-") && t != "-" && !jsontext.IsNumber(t) {
			args = append(args, "--")
			break
		}
	}
	args = append(args, v.Words...)
	for _, a := range args {
		if strings.ContainsRune(a, 0) { // no program can be given that
			return nil, false
		}
	}
	back, err := Input(w, v)
	return args, err == nil && jsontext.Equal(back, input)
}

// flagWord writes a flag as one word.
func flagWord(f *Field, text string) string {
	if f.Form == Boolean && !f.List {
		switch {
		case text == "true":
			return "--" + f.Flag
		case text == "false" && f.Negatable:
			return "--no-" + f.Flag
		}
	}
	return "--" + f.Flag + "=" + text
}

// textsOf returns the texts that stand for a value.
func textsOf(f *Field, raw json.RawMessage) ([]string, bool) {
	switch {
	case f.Form == Map && raw[0] == '{':
		members, err := decodeObject(raw)
		if err != nil || len(members) == 0 {
			return nil, false
		}
		texts := make([]string, len(members))
		for i, m := range members {
			if strings.Contains(m.Name, "=") || m.Raw[0] != '"' {
				return nil, false
			}
			texts[i] = m.Name + "=" + textOf(m.Raw)
		}
		return texts, true
	case f.List && raw[0] == '[':
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return nil, false
		}
		texts := make([]string, len(elements))
		for i, e := range elements {
			texts[i] = textOf(e)
			if string(e) == "null" {
				return []string{string(raw)}, true
			}
		}
		if len(texts) == 0 {
			return []string{"[]"}, true
		}
		return texts, true
	}
	if f.Form == JSON && raw[0] == '"' && !f.Loose {
		return []string{string(raw)}, true
	}
	if f.Form == JSON && raw[0] == '"' && json.Valid([]byte(textOf(raw))) {
		return []string{string(raw)}, true // bare, it would be read as JSON
	}
	return []string{textOf(raw)}, true
}

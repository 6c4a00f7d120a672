package codex

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// cut shortens a text to at most limit bytes, at its end, and makes it valid.
func cut(text string, limit int) string {
	text = valid(text)
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	end := max(0, limit-len(ellipsis))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// tail keeps the last bytes of a text, at most limit.
func tail(text string, limit int) string {
	text = valid(text)
	if len(text) <= limit {
		return text
	}
	start := len(text) - limit
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

// pieces splits a text into parts of at most limit bytes, between characters.
func pieces(text string, limit int) (parts []string) {
	for len(text) > limit {
		end := limit
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
	return append(parts, text)
}

// wrapped is a command that Codex gives to a shell as one word.
var wrapped = regexp.MustCompile(`(?s)^(?:\S*/)?(?:ba|da|k|z)?sh -l?c (.+)$`)

// shown is a command without the shell that it is given to. A word that is quoted in a way that is not understood is left.
func shown(command string) string {
	command = valid(command)
	match := wrapped.FindStringSubmatch(command)
	if match == nil {
		return command
	}
	var b strings.Builder
	quote := rune(0)
	escaped := false
	for _, r := range match[1] {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			escaped = false
		case quote != '\'' && r == '\\':
			escaped = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 && strings.ContainsRune(" \t\n;&|<>()$`*?[#~", r):
			return command // more than one word
		default:
			b.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return command
	}
	return b.String()
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// part makes an id of Codex a part of an item key.
func part(id string) string { return strings.ReplaceAll(valid(id), protocol.ItemKeySeparator, "") }

// optional is a text that may be null.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// object is the value as JSON, null when it is none.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// What is taken out of texts of Codex: credentials, and the colours of its log.
var (
	keyPattern    = regexp.MustCompile(`(?i)\b(bearer\s+)[\w.~+/-]{8,}=*|\bsk-[\w*-]{8,}|\beyJ[\w.-]{16,}`)
	colourPattern = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// hidden stands for a secret.
const hidden = "[hidden]"

// hideKeys takes out what looks like a credential: keys of OpenAI, web tokens, and what follows the word Bearer.
func hideKeys(text string) string { return keyPattern.ReplaceAllString(text, "$1"+hidden) }

func withoutColours(text string) string { return colourPattern.ReplaceAllString(text, "") }

package fakemodel

import (
	"strconv"
	"strings"
)

// A word is the first word of a line of a script.
type word string

const (
	wordSay     word = "SAY"
	wordThink   word = "THINK"
	wordRun     word = "RUN"
	wordEdit    word = "EDIT"
	wordPlan    word = "PLAN"
	wordAgent   word = "AGENT"
	wordCall    word = "CALL"
	wordTwo     word = "TWO"
	wordSteps   word = "STEPS"
	wordBad     word = "BAD"
	wordUnknown word = "UNKNOWN"
	wordImage   word = "IMAGE"
	wordHang    word = "HANG"
	wordFail    word = "FAIL"
	wordRate    word = "RATE"
)

// MaxRepeats is the largest number that STEPS and RATE take. More is taken for a slip, and echoed.
const MaxRepeats = 1000

// A line is one line of a script.
type line struct {
	word word
	text string // of SAY, THINK, RUN, EDIT, PLAN, AGENT, CALL and HANG
	n    int    // of STEPS, FAIL and RATE
}

// parse reads a script. Lines that are not in the language are said; a text without a line that is, is said as it
// stands.
func parse(text string) []line {
	var lines []line
	known := false
	for raw := range strings.SplitSeq(text, "\n") {
		raw = strings.TrimSpace(raw)
		if raw == "" {
			continue
		}
		l, ok := parseLine(raw)
		if !ok {
			l = line{word: wordSay, text: raw}
		}
		known = known || ok
		lines = append(lines, l)
	}
	if !known {
		return []line{{word: wordSay, text: text}}
	}
	return lines
}

// parseLine reads one line without surrounding space, and reports whether it is in the language.
func parseLine(raw string) (line, bool) {
	first, rest, _ := strings.Cut(raw, " ")
	l := line{word: word(first), text: strings.TrimSpace(rest)}
	number := func(preset, low, high int) (line, bool) {
		if l.text == "" && preset > 0 {
			return line{word: l.word, n: preset}, true
		}
		n, err := strconv.Atoi(l.text)
		return line{word: l.word, n: n}, err == nil && n >= low && n <= high
	}
	switch l.word {
	case wordSay, wordThink, wordRun, wordEdit, wordCall:
		return l, l.text != ""
	case wordPlan, wordAgent, wordHang:
		return l, true
	case wordTwo, wordBad, wordUnknown, wordImage:
		return l, l.text == ""
	case wordSteps:
		return number(0, 1, MaxRepeats)
	case wordRate:
		return number(1, 1, MaxRepeats)
	case wordFail:
		return number(500, 400, 599)
	}
	return line{}, false
}

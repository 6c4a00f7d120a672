package fakemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A conversation is what a request holds, in whichever API it came.
type conversation struct {
	model    string
	stream   bool
	usage    bool // chat completions: the client wants the usage in the stream
	sealed   bool // Responses: the client wants encrypted reasoning
	parallel bool // several calls in one answer are allowed
	system   strings.Builder
	tools    []Tool
	cacheKey string // what the client says keeps its conversations apart
	size     int    // bytes of the body

	// Since the last message of the user:
	script  string
	images  []string // media types
	ordinal int      // messages of the user so far
	rounds  int      // answers with tool calls
	open    bool     // the newest item is a call
	results []string // of the newest round
}

// said adds a message of the user. What agents slip in themselves does not count.
func (c *conversation) said(content json.RawMessage) error {
	texts, images, err := readContent(content)
	if err != nil {
		return err
	}
	c.heard(texts, images)
	return nil
}

func (c *conversation) heard(texts, images []string) {
	var kept []string
	for _, text := range texts {
		if text = withoutContext(text); text != "" {
			kept = append(kept, text)
		}
	}
	if len(kept) == 0 && len(images) == 0 {
		return
	}
	c.script, c.images = strings.Join(kept, "\n"), images
	c.ordinal++
	c.rounds, c.open, c.results = 0, false, nil
}

// instructed adds instructions of the agent.
func (c *conversation) instructed(content json.RawMessage) error {
	texts, _, err := readContent(content)
	for _, text := range texts {
		c.system.WriteString(text)
		c.system.WriteByte('\n')
	}
	return err
}

// called adds a tool call of an earlier answer. Calls of one answer share a round, even when the agent sends each back
// with its result.
func (c *conversation) called(id string) {
	round := c.roundOf(id)
	if round == 0 {
		round = c.rounds
		if !c.open {
			round++
		}
	}
	c.open = true
	if round > c.rounds {
		c.rounds, c.results = round, nil
	}
}

// answered adds the result of a call.
func (c *conversation) answered(content json.RawMessage) error {
	texts, images, err := readContent(content)
	if err != nil {
		return err
	}
	for _, image := range images {
		texts = append(texts, "("+image+")")
	}
	c.open = false
	c.results = append(c.results, strings.Join(texts, "\n"))
	return nil
}

// callID names a call: the message of the user that it serves, the round and the place in it.
func (c *conversation) callID(n int) string {
	return fmt.Sprintf("call_%d_%d_%d", c.ordinal, c.rounds+1, n+1)
}

// roundOf is the round that is written in an id of callID, 0 for any other id.
func (c *conversation) roundOf(id string) int {
	fields := strings.Split(id, "_")
	if len(fields) != 4 || fields[0] != "call" || fields[1] != strconv.Itoa(c.ordinal) {
		return 0
	}
	round, err := strconv.Atoi(fields[2])
	if err != nil || round < 1 || round > c.rounds+1 {
		return 0
	}
	return round
}

// chore reports whether the agent asks for a title on its own account. Without this a script would run twice, and HANG,
// FAIL and RATE would hit the wrong request.
func (c *conversation) chore() bool {
	return len(c.tools) == 0 && strings.Contains(strings.ToLower(c.system.String()), "title")
}

// A content part, of all three APIs.
type content struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL json.RawMessage `json:"image_url"` // Responses: text, chat completions: an object
	Source   struct {
		MediaType string `json:"media_type"`
	} `json:"source"` // Messages
}

// readContent returns the texts of a content, and the media types of its images. A content is a text or a list of parts.
func readContent(raw json.RawMessage) (texts, images []string, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil, nil
	}
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		return []string{text}, nil, err
	}
	if raw[0] != '[' {
		return []string{string(raw)}, nil, nil // results of tools may be any JSON
	}
	var parts []content
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, nil, fmt.Errorf("a content is a text or a list of parts: %w", err)
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "image", "input_image", "image_url":
			images = append(images, p.mediaType())
		}
	}
	return texts, images, nil
}

func (p content) mediaType() string {
	if p.Source.MediaType != "" {
		return p.Source.MediaType
	}
	var url string
	if json.Unmarshal(p.ImageURL, &url) != nil {
		var wrapped struct {
			URL string `json:"url"`
		}
		_ = json.Unmarshal(p.ImageURL, &wrapped) // neither form: an image of no known type
		url = wrapped.URL
	}
	if data, ok := strings.CutPrefix(url, "data:"); ok {
		if media, _, ok := strings.Cut(data, ";"); ok {
			return media
		}
	}
	return "image"
}

// withoutContext cuts off what agents put around the words of the user: blocks in tags whose names have a hyphen or an
// underscore, such as <environment_context> and <system-reminder>, and Codex' copy of AGENTS.md.
func withoutContext(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "# AGENTS.md instructions") {
		return ""
	}
	for strings.HasPrefix(text, "<") {
		name, _, ok := strings.Cut(text[1:], ">")
		name, _, _ = strings.Cut(name, " ")
		if !ok || !contextTag(name) {
			break
		}
		_, after, ok := strings.Cut(text, "</"+name+">")
		if !ok {
			break
		}
		text = strings.TrimSpace(after)
	}
	for strings.HasSuffix(text, ">") {
		start := strings.LastIndex(text, "</")
		if start < 0 {
			break
		}
		name := text[start+2 : len(text)-1]
		if !contextTag(name) {
			break
		}
		opening := strings.LastIndex(text[:start], "<"+name)
		if opening < 0 {
			break
		}
		text = strings.TrimSpace(text[:opening])
	}
	return text
}

func contextTag(name string) bool {
	return strings.ContainsAny(name, "-_") && !strings.ContainsAny(name, "<>/ \n")
}

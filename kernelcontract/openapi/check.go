package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check returns what keeps a document from being one of OpenAPI 3.1, as far as documents of this package can go wrong:
// names, references, parameters, responses and tags. Each line names its place; there are none when it is valid.
func Check(document []byte) []string {
	c := checker{ids: map[string]string{}}
	if err := json.Unmarshal(document, &c.root); err != nil {
		return []string{"it is not a JSON object: " + err.Error()}
	}
	if c.root["openapi"] != Version {
		c.add("openapi", "it must be %q", Version)
	}
	info := objectOf(c.root["info"])
	for _, name := range []string{"title", "version"} {
		if s, _ := info[name].(string); s == "" {
			c.add("info", "%s is missing", name)
		}
	}
	tags := map[string]bool{}
	for _, tag := range listOf(c.root["tags"]) {
		name, _ := objectOf(tag)["name"].(string)
		if name == "" || tags[name] {
			c.add("tags", "%q is empty or there twice", name)
		}
		tags[name] = true
	}
	paths := objectOf(c.root["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		c.path(path, objectOf(paths[path]), tags)
	}
	components := objectOf(c.root["components"])
	for _, kind := range slices.Sorted(maps.Keys(components)) {
		for _, name := range slices.Sorted(maps.Keys(objectOf(components[kind]))) {
			if !nameOnly(name, "._-") {
				c.add("components/"+kind, "%q is no name: letters, digits, dots, dashes and underscores make one", name)
			}
		}
	}
	c.references("", c.root)
	return c.problems
}

type checker struct {
	root     map[string]any
	ids      map[string]string // the path of an operationId
	problems []string
}

func (c *checker) add(place, format string, args ...any) {
	c.problems = append(c.problems, place+": "+fmt.Sprintf(format, args...))
}

func objectOf(v any) map[string]any { o, _ := v.(map[string]any); return o }
func listOf(v any) []any            { l, _ := v.([]any); return l }

// nameOnly reports whether s is made of letters and digits of ASCII, and of others.
func nameOnly(s, others string) bool {
	for _, r := range s {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(others, r)) {
			return false
		}
	}
	return s != ""
}

func (c *checker) path(path string, item map[string]any, tags map[string]bool) {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "{}?#") {
		c.add(path, "it is not a path without templates")
	}
	for _, name := range slices.Sorted(maps.Keys(item)) {
		switch {
		case name == "get" || name == "post":
			c.operation(name+" "+path, objectOf(item[name]), name == "post", tags)
		case name != "summary" && name != "description" && !strings.HasPrefix(name, "x-"):
			c.add(path, "%q is neither a verb nor a text", name)
		}
	}
}

func (c *checker) operation(place string, op map[string]any, body bool, tags map[string]bool) {
	id, _ := op["operationId"].(string)
	if !nameOnly(id, "_-") {
		c.add(place, "operationId %q is not made of letters, digits, dashes and underscores", id)
	}
	if other, taken := c.ids[id]; taken {
		c.add(place, "operationId %q is also that of %s", id, other)
	}
	c.ids[id] = place
	for _, tag := range listOf(op["tags"]) {
		if name, _ := tag.(string); !tags[name] {
			c.add(place, "the tag %q is not declared", name)
		}
	}
	if _, has := op["requestBody"]; has && !body {
		c.add(place, "a GET has no body")
	} else if has && len(objectOf(objectOf(op["requestBody"])["content"])) == 0 {
		c.add(place, "the body has no content")
	}
	seen := map[string]bool{}
	for i, v := range listOf(op["parameters"]) {
		c.parameter(fmt.Sprintf("%s parameters[%d]", place, i), objectOf(c.resolve(v)), seen)
	}
	responses := objectOf(op["responses"])
	if responses["200"] == nil {
		c.add(place, "there is no response for 200")
	}
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		if len(status) != 3 || strings.Trim(status, "0123456789") != "" {
			c.add(place, "%q is no status", status)
		}
		if text, _ := objectOf(c.resolve(responses[status]))["description"].(string); text == "" {
			c.add(place, "the response for %s has no description", status)
		}
	}
}

func (c *checker) parameter(place string, p map[string]any, seen map[string]bool) {
	name, _ := p["name"].(string)
	in, _ := p["in"].(string)
	if name == "" || in != "query" && in != "header" {
		c.add(place, "it needs a name, and query or header as its place")
	}
	key := in + " " + name
	if in == "header" {
		key = strings.ToLower(key) // as HTTP compares them
	}
	if seen[key] {
		c.add(place, "%s %s is there twice", in, name)
	}
	seen[key] = true
	_, hasSchema := p["schema"]
	if content, hasContent := p["content"]; hasSchema == hasContent || hasContent && len(objectOf(content)) != 1 {
		c.add(place, "%s needs either a schema or one content", name)
	}
}

// resolve follows a reference; nil when it leads nowhere.
func (c *checker) resolve(v any) any {
	r, is := objectOf(v)["$ref"].(string)
	if !is {
		return v
	}
	rest, ok := strings.CutPrefix(r, "#/")
	if !ok {
		return nil
	}
	v = c.root
	for step := range strings.SplitSeq(rest, "/") {
		v = objectOf(v)[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return v
}

// references checks those below v. Members that hold values of users are not looked into.
func (c *checker) references(place string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if r, is := v["$ref"].(string); is && c.resolve(v) == nil {
			c.add(place, "the reference %s leads nowhere", r)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch name {
			case "examples", "default", "const", "enum":
				if !strings.HasSuffix(place, "/properties") { // there it is a field
					continue
				}
			}
			c.references(strings.TrimPrefix(place+"/"+name, "/"), v[name])
		}
	case []any:
		for i := range v {
			c.references(fmt.Sprintf("%s[%d]", place, i), v[i])
		}
	}
}

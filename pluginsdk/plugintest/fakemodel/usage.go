package fakemodel

// Usage is the number of tokens that an answer is said to have cost. A number that is 0 is counted: a token is four
// bytes of the request's body, or of what is said, thought and passed to tools.
type Usage struct {
	// Input counts the tokens of the request, those from the cache included.
	Input int
	// Cached counts the tokens of the request that came from a cache.
	Cached int
	// Output counts the tokens of the answer, its thoughts included.
	Output int
	// Reasoning counts the tokens of thoughts.
	Reasoning int
}

func (u Usage) counted(body int, parts []part) Usage {
	var output, reasoning int
	for _, p := range parts {
		n := tokens(len(p.text) + len(p.call.Arguments))
		output += n
		if p.kind == partThought {
			reasoning += n
		}
	}
	if u.Input == 0 {
		u.Input = max(tokens(body), u.Cached)
	}
	if u.Reasoning == 0 {
		u.Reasoning = reasoning
	}
	if u.Output == 0 {
		u.Output = max(output, u.Reasoning, 1)
	}
	return u
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

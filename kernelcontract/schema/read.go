package schema

import (
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
	"github.com/bb-kernel/bb/kernelcontract/internal/jsontext"
)

// readMembers splits a JSON object into its members. A repeated name and bytes after the object are errors.
func readMembers(raw []byte) ([]jsontext.Member, error) {
	members, err := jsontext.Members(raw)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(members))
	for i := range members {
		name := members[i].Name
		if seen[name] {
			return nil, fmt.Errorf("%s is given twice", quoteShort(name))
		}
		seen[name] = true
	}
	return members, nil
}

// maxQuoted is the number of bytes of a foreign value that a message shows: enough to recognise it.
const maxQuoted = 64

// quoteShort quotes s for a message, cut to maxQuoted bytes.
func quoteShort(s string) string { return clip.Quote(s, maxQuoted) }

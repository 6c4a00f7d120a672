package talk

import (
	"slices"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

// NoWait is the field of a word that is followed by default. It is not part of the method's input.
const NoWait = "noWait"

// Follows reports whether the method of a word gives an agent an input whose turn is followed.
func Follows(ref string) bool {
	return ref == threadapi.Send.Ref || ref == threadapi.Steer.Ref || ref == threadapi.Create.Ref
}

// Extend returns the word with the flag --no-wait when its turn is followed, else w.
func Extend(w *word.Word) *word.Word {
	if !Follows(w.Ref) || slices.ContainsFunc(w.Fields, func(f word.Field) bool { return f.Name == NoWait || f.Flag == "no-wait" }) {
		return w
	}
	more := *w
	more.Fields = append(slices.Clone(w.Fields), word.Field{
		Name: NoWait, Form: word.Boolean, Flag: "no-wait", Description: "Return at once instead of following the agent until it is done",
	})
	return &more
}

// Method returns the word with the fields of the method's input alone.
func Method(w *word.Word) *word.Word {
	if !Follows(w.Ref) {
		return w
	}
	own := *w
	own.Fields = slices.DeleteFunc(slices.Clone(w.Fields), func(f word.Field) bool { return f.Name == NoWait })
	return &own
}

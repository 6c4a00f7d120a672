package notesapi

import (
	"strconv"
	"time"

	"github.com/bb-kernel/bb/examples/hello-slot/contracts"
	"github.com/bb-kernel/bb/kernelcontract"
)

// Note is a text with the number under which it is kept. Numbers grow and are never given twice.
type Note struct {
	ID        string    `json:"id"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"createdAt"`

	// Left is what a limited follow still owes after this note. It travels in the cursor only, so that a follow that
	// was cut off ends after as many notes as one that was not.
	Left Left `json:"-"`
}

// Left is a number of notes; the zero Left is no limit.
type Left struct {
	Limited bool
	Notes   int
}

// Less returns what is left after one more note.
func (l Left) Less() Left {
	if l.Limited && l.Notes > 0 {
		l.Notes--
	}
	return l
}

// Done reports whether no more notes are wanted.
func (l Left) Done() bool { return l.Limited && l.Notes == 0 }

// Cursor is the resume point after the note: its id, and what is left of a limit.
func (n Note) Cursor() string {
	if !n.Left.Limited {
		return n.ID
	}
	return n.ID + "." + strconv.Itoa(n.Left.Notes)
}

// AddInput is the input of Add.
type AddInput struct {
	Text  string `json:"text" minLength:"1" maxLength:"65536" description:"What to keep"`
	Greet string `json:"greet,omitempty" description:"Begin the note with a greeting of this person"`
}

// ListInput is the input of List.
type ListInput struct {
	Limit  int    `json:"limit,omitempty" default:"50" minimum:"1" maximum:"500" description:"At most so many notes"`
	Before string `json:"before,omitempty" minLength:"1" maxLength:"64" description:"Only notes older than the one with this id"`
}

// IDInput names a note.
type IDInput struct {
	ID string `json:"id" minLength:"1" maxLength:"64" description:"The id of the note"`
}

// FollowInput is the input of Follow.
type FollowInput struct {
	Limit int `json:"limit,omitempty" minimum:"1" description:"End after so many notes; without it follow on"`
}

// Add keeps a note.
var Add = &kernelcontract.Mutation[AddInput, Note]{
	Ref: "notes-fixture/notes.add", Summary: "Keep a note",
	CLI:      kernelcontract.CLI{Args: []string{"text"}},
	Tool:     tool("Keeping a note", "Kept a note"),
	Errors:   map[kernelcontract.Code]kernelcontract.ErrorDef{contracts.Muted: {Like: kernelcontract.Forbidden, Description: "The person to greet asked not to be greeted."}},
	Examples: []kernelcontract.Example[AddInput]{{Input: AddInput{Text: "buy milk"}, Note: "prints the note with its id"}},
}

// List lists notes, the newest first.
var List = &kernelcontract.Query[ListInput, []Note]{
	Ref: "notes-fixture/notes.list", Summary: "List notes, the newest first",
	Tool:     tool("Listing notes", "Listed notes"),
	Examples: []kernelcontract.Example[ListInput]{{Input: ListInput{Limit: 3}, Note: "the newest three"}},
}

// Get returns a note.
var Get = &kernelcontract.Query[IDInput, Note]{
	Ref: "notes-fixture/notes.get", Summary: "Show a note",
	CLI:  kernelcontract.CLI{Args: []string{"id"}},
	Tool: tool("Reading a note", "Read a note"),
}

// Remove removes a note.
var Remove = &kernelcontract.Mutation[IDInput, kernelcontract.None]{
	Ref: "notes-fixture/notes.remove", Summary: "Remove a note",
	Tool:        tool("Removing a note", "Removed a note"),
	Destructive: true,
}

// Follow yields every note from the first on and then the new ones.
var Follow = &kernelcontract.Stream[FollowInput, Note]{
	Ref: "notes-fixture/notes.follow", Summary: "Follow notes, old ones first",
	Tool:   tool("Following notes", "Followed notes"),
	Cursor: func(n Note) string { return n.Cursor() },
}

// Notes keeps notes.
var Notes = &kernelcontract.Service{
	ID: "notes-fixture/notes", Summary: "Keep notes",
	Methods: []kernelcontract.Method{Add, List, Get, Remove, Follow},
}

func tool(pending, completed string) *kernelcontract.Tool {
	return &kernelcontract.Tool{Presentation: kernelcontract.Presentation{Pending: pending, Completed: completed, Icon: "note", Intent: "generic"}}
}

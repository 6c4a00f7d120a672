package notesapi_test

import (
	"fmt"

	"github.com/bb-kernel/bb/examples/notes-fixture/notesapi"
)

// The cursor of a note is its id, with what is left of a limit when there was one.
func ExampleNote_Cursor() {
	fmt.Println(notesapi.Note{ID: "41"}.Cursor())
	fmt.Println(notesapi.Note{ID: "41", Left: notesapi.Left{Limited: true, Notes: 2}}.Cursor())
	// Output:
	// 41
	// 41.2
}

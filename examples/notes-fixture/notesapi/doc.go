// Package notesapi defines what notes-fixture offers: a resumable stream beside the usual methods (Notes), results that
// are files (Attachments), and an input of every shape that a definition can have (Settings).
package notesapi

package echo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// saved is what is kept of a session, so that another process can go on with it.
type saved struct {
	ID       string      `json:"id"`
	Name     string      `json:"name,omitempty"`
	Goal     string      `json:"goal,omitempty"`
	Archived bool        `json:"archived,omitempty"`
	Turns    []savedTurn `json:"turns,omitempty"`
}

// savedTurn is a turn that came to its end; its checkpoint is where the session can be forked behind it.
type savedTurn struct {
	Checkpoint string `json:"checkpoint"`
	Text       string `json:"text"`
}

// until returns the turns up to a checkpoint.
func (s *saved) until(checkpoint string) ([]savedTurn, error) {
	for i, t := range s.Turns {
		if t.Checkpoint == checkpoint {
			return s.Turns[: i+1 : i+1], nil
		}
	}
	return nil, protocol.BridgeError.Errorf("session %s has no checkpoint %q", s.ID, checkpoint)
}

// states keeps sessions as files of a directory.
type states struct{ root *os.Root }

// sessionID is the form of the ids that the provider gives.
var sessionID = regexp.MustCompile(`^echo-[0-9a-f]{16}$`)

func openStates(dir string) (*states, error) {
	if dir == "" {
		dir = os.Getenv(bridgekit.DataDirVariable)
	}
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "bb-echo-"+strconv.Itoa(os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("echo: cannot keep sessions: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("echo: cannot keep sessions: %w", err)
	}
	return &states{root}, nil
}

func (s *states) load(id string) (*saved, error) {
	gone := protocol.SessionNotRestorable.Errorf("there is no session %q", id)
	if !sessionID.MatchString(id) {
		return nil, gone
	}
	data, err := s.root.ReadFile(id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	kept := &saved{}
	if err := json.Unmarshal(data, kept); err != nil || kept.ID != id {
		return nil, protocol.SessionNotRestorable.Errorf("the file of session %s is damaged", id)
	}
	return kept, nil
}

// save replaces the file of a session as a whole.
func (s *states) save(kept *saved) error {
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	temporary := kept.ID + "." + newID()
	if err := s.root.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return s.root.Rename(temporary, kept.ID+".json")
}

func (s *states) remove(id string) error {
	if !sessionID.MatchString(id) {
		return nil // it is none of ours
	}
	if err := s.root.Remove(id + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

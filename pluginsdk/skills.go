package pluginsdk

import (
	"errors"
	"fmt"
	"io/fs"
)

// Skill is a folder with a SKILL.md that a plugin brings for agents.
type Skill struct {
	Name string // the folder's: ^[a-z0-9][a-z0-9-]*$
	FS   fs.FS  // its content
}

// MaxSkills bounds the skills of a plugin: an agent reads the summary of each at its start.
const MaxSkills = 64

// skillFile is what makes a folder a skill.
const skillFile = "SKILL.md"

// readSkills finds the folders with a SKILL.md at the root of a plugin's skills, in the order of their names.
func readSkills(skills fs.FS) (list []Skill, err error) {
	if skills == nil {
		return nil, nil
	}
	defer func() { // the file system is the plugin's code
		if p := recover(); p != nil {
			list, err = nil, fmt.Errorf("the skills panicked: %v", p)
		}
	}()
	entries, err := fs.ReadDir(skills, ".")
	if err != nil {
		return nil, fmt.Errorf("the skills cannot be read: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		switch info, err := fs.Stat(skills, e.Name()+"/"+skillFile); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("the skill %q has no %s", e.Name(), skillFile)
		case err != nil:
			return nil, fmt.Errorf("the skill %q: %w", e.Name(), err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("the %s of the skill %q is not a file", skillFile, e.Name())
		case !chapterName.MatchString(e.Name()):
			return nil, fmt.Errorf("the skill %q must have a folder named like %s", e.Name(), chapterName)
		case len(list) == MaxSkills:
			return nil, fmt.Errorf("there are more than %d skills", MaxSkills)
		}
		content, err := fs.Sub(skills, e.Name())
		if err != nil {
			return nil, fmt.Errorf("the skill %q: %w", e.Name(), err)
		}
		list = append(list, Skill{Name: e.Name(), FS: content})
	}
	return list, nil
}

package pluginsdk

import (
	"encoding/json"
	"fmt"

	"github.com/bb-kernel/bb/pluginsdk/contract"
)

// Folders of an installable plugin, beside its program.
const (
	guideFolder  = "guide"
	skillsFolder = "skills"
)

// ContractOf returns the contract of a plugin as a value; Setup does not run. The error is a *LoadError with every problem:
// those of the value, schemas that cannot be derived, and what only a plugin that is compiled in can have.
func ContractOf(p *Plugin) (*contract.Contract, error) {
	var ps problems
	_, defs := p.check(&ps)
	if len(p.Offline) > 0 {
		ps.add("Offline words are for plugins that are compiled in")
	}
	c := &contract.Contract{
		Format: contract.Format, ID: p.ID, Version: p.Version, Summary: p.Summary,
		Services: []contract.Service{}, Providers: p.Providers, InteractionKinds: p.InteractionKinds,
	}
	if c.Version == "" {
		c.Version = "0.0.0"
	}
	for _, def := range defs {
		s, err := contract.OfService(def)
		if err != nil {
			ps = append(ps, err)
		}
		c.Services = append(c.Services, s)
	}
	for _, k := range p.Config {
		key := contract.ConfigKey{Key: k.Key, Summary: k.Summary, Required: k.Required}
		if k.Default != nil {
			key.Default, _ = json.Marshal(k.Default) // check has encoded it
		}
		c.Config = append(c.Config, key)
	}
	if p.Guide != nil {
		c.Guide = guideFolder
	}
	if p.Skills != nil {
		c.Skills = skillsFolder
	}
	if len(ps) == 0 {
		if err := c.Check(); err != nil {
			ps = append(ps, fmt.Errorf("the contract: %w", err))
		}
	}
	if len(ps) > 0 {
		return nil, &LoadError{PluginID: p.ID, Problems: ps}
	}
	return c, nil
}

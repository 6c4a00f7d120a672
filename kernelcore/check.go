package kernelcore

import (
	"fmt"

	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

// checkInBackground derives the schemas and checks the examples of every method of c: what definitions leave for their
// first use. What is wrong is a problem of the plugin. It ends early when the kernel closes or c is no longer current.
func (k *Kernel) checkInBackground(c *engine.Catalog) {
	k.work.Go(func() {
		for _, s := range c.Services() {
			for _, d := range s.Methods {
				if k.ctx.Err() != nil || k.engine.Catalog() != c {
					return
				}
				if err := checkMethod(c.Ref(d.Ref())); err != nil {
					k.faults.add(d.PluginID, err)
					k.log.Warn("plugin problem", "plugin", d.PluginID, "problem", err)
				}
			}
		}
	})
}

func checkMethod(m *engine.Method) (err error) {
	ref := m.Def.Ref()
	defer func() { // a type's own methods are the plugin's code
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: deriving its schemas panicked: %v", ref, p)
		}
	}()
	if err := m.Prepare(); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	for i, e := range m.Def.Examples {
		issues, err := m.CheckInput(e.Input)
		if err != nil {
			return fmt.Errorf("%s: %w", ref, err)
		}
		if len(issues) > 0 {
			return fmt.Errorf("%s: Examples[%d] does not fit the input: %s", ref, i, issues[0])
		}
	}
	return nil
}

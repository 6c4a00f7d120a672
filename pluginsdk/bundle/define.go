package bundle

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// program is the agent that this program is: a module that is called by its host has no main to pass it from.
var program = &definition{}

type definition struct {
	mu    sync.Mutex
	agent *Agent
	twice bool
}

// DefineAgent says which agent the program is. Call it once, from init: a module in a sandbox has no main. It checks
// nothing; problems come out when the bundle is built and published.
func DefineAgent(a Agent) { program.set(&a) }

func (d *definition) set(a *Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.twice = d.agent != nil
	if !d.twice {
		d.agent = a
	}
}

// get returns the program's agent. The error says how to define one.
func (d *definition) get() (*Agent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.agent == nil:
		return nil, errors.New("the program has no agent: call bundle.DefineAgent from init")
	case d.twice:
		return nil, errors.New("the program has more than one agent: call bundle.DefineAgent once")
	}
	return d.agent, nil
}

// Main is the program's main function. Built for the system at hand it prints the agent's metadata as JSON, or every
// problem to standard error with exit code 1. In a sandbox nobody calls it.
func Main() { os.Exit(describe(program, os.Stdout, os.Stderr)) }

func describe(d *definition, stdout, stderr io.Writer) int {
	raw, err := d.metadata()
	if err == nil {
		_, err = fmt.Fprintf(stdout, "%s\n", raw)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func (d *definition) metadata() ([]byte, error) {
	a, err := d.get()
	if err != nil {
		return nil, err
	}
	m, err := a.Metadata()
	if err != nil {
		return nil, err
	}
	return m.Encode()
}

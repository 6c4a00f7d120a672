package engine

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/validate"
)

// Catalog is an immutable snapshot of everything that can be called.
type Catalog struct {
	Generation uint64
	services   []*kernelcontract.ServiceDef
	byRef      map[string]*Method // plugin/service.method
	byRoute    map[string]*Method // plugin/service/method
	byPath     map[string]*Method // custom endpoints
	guards     []pluginGuard
}

type pluginGuard struct {
	plugin string
	guard  Guard
}

// NewCatalog returns the snapshot of instances in composition order. carry is the previous snapshot or nil: methods of
// an instance that is in both keep their compiled validators.
func NewCatalog(generation uint64, instances []*Instance, carry *Catalog) *Catalog {
	n := 0
	for _, i := range instances {
		for _, s := range i.source.Services {
			n += len(s.Methods)
		}
	}
	c := &Catalog{
		Generation: generation,
		byRef:      make(map[string]*Method, n), byRoute: make(map[string]*Method, n), byPath: map[string]*Method{},
	}
	for _, i := range instances {
		for _, s := range i.source.Services {
			c.services = append(c.services, s)
			for _, d := range s.Methods {
				var m *Method
				if carry != nil {
					if old := carry.byRef[d.Ref()]; old != nil && old.instance == i && old.Def == d {
						m = old
					}
				}
				if m == nil {
					m = &Method{Def: d, instance: i, handler: i.source.Handlers[d.Ref()]}
				}
				c.byRef[d.Ref()] = m
				switch {
				case d.Path != "":
					c.byPath[d.Path] = m
				case d.Expose.HTTP:
					c.byRoute[d.PluginID+"/"+d.Service+"/"+d.Method] = m
				}
			}
		}
		for _, g := range i.source.Guards {
			c.guards = append(c.guards, pluginGuard{plugin: i.source.ID, guard: g})
		}
	}
	return c
}

// Ref returns the method of a ref, nil when there is none.
func (c *Catalog) Ref(ref string) *Method { return c.byRef[ref] }

// Route returns the method of plugin/service/method, the part of a route after the prefix; nil when there is none or it
// is not exposed over HTTP.
func (c *Catalog) Route(route string) *Method { return c.byRoute[route] }

// Path returns the raw endpoint of a path, nil when there is none.
func (c *Catalog) Path(path string) *Method { return c.byPath[path] }

// Services returns the services in composition order; treat it as read-only.
func (c *Catalog) Services() []*kernelcontract.ServiceDef { return c.services }

// Len returns the number of methods.
func (c *Catalog) Len() int { return len(c.byRef) }

// Method is a callable method of a snapshot.
type Method struct {
	Def      *kernelcontract.MethodDef
	instance *Instance
	handler  kernelcontract.Handler

	input, output lazyValidator
	encoders      sync.Once
	encIn, encOut *schema.Encoder
	calls         atomic.Uint64 // for sampling
}

// encodeInput encodes an input, fastest for the method's own input type.
func (m *Method) encodeInput(v any) ([]byte, error) {
	m.prepareEncoders()
	return m.encIn.Marshal(v)
}

// encodeOutput encodes a result or an item, fastest for the method's own output type. What a described method answers is
// JSON as it crossed its process's boundary.
func (m *Method) encodeOutput(v any) ([]byte, error) {
	if raw, ok := v.(json.RawMessage); ok && m.Def.Described() {
		return raw, nil
	}
	m.prepareEncoders()
	return m.encOut.Marshal(v)
}

func (m *Method) prepareEncoders() {
	m.encoders.Do(func() {
		m.encIn, m.encOut = schema.NewEncoder(m.Def.InputType()), schema.NewEncoder(m.Def.OutputType())
	})
}

// PluginID returns the id of the plugin that owns the method.
func (m *Method) PluginID() string { return m.instance.source.ID }

// HTTPHandler returns the handler of a raw endpoint, nil for every other method.
func (m *Method) HTTPHandler() http.Handler {
	h, _ := m.handler.Raw().(http.Handler)
	return h
}

// Prepare derives the schemas and compiles the validators: what the first call would do. The error is a problem of the
// plugin.
func (m *Method) Prepare() error {
	if _, err := m.input.get(m.Def.Input); err != nil {
		return err
	}
	_, err := m.output.get(m.Def.Output)
	return err
}

// CheckInput returns the issues of an input: how examples are checked.
func (m *Method) CheckInput(raw []byte) ([]schema.Issue, error) {
	v, err := m.input.get(m.Def.Input)
	if err != nil {
		return nil, err
	}
	_, issues := v.Input(raw)
	return issues, nil
}

type lazyValidator struct {
	once sync.Once
	v    *validate.Validator
	err  error
}

func (l *lazyValidator) get(source func() (*schema.Schema, error)) (*validate.Validator, error) {
	l.once.Do(func() {
		s, err := source()
		if err != nil {
			l.err = err
			return
		}
		l.v, l.err = validate.Compile(s)
	})
	return l.v, l.err
}

package kernelcontract

// Custom defines a raw endpoint of the kernel. H is its handler type, http.Handler in practice, so that this package
// needs no net/http. It is never a tool or a word, and only the kernel's own services may have one.
type Custom[H any] struct {
	Ref     string // kernel/service.method, required
	Summary string // one line, required
	Path    string // below /internal/ or /local/, required
	Access  Access // zero: operators, every actor
}

// Handle pairs the definition with its handler.
func (m *Custom[H]) Handle(h H) Handler { return Handler{ref: m.Ref, method: m, raw: h} }

func (m *Custom[H]) define() MethodDef {
	return MethodDef{
		Kind: KindCustom, Summary: m.Summary, Path: m.Path, Access: m.Access, Expose: Exposure{HTTP: true}, Target: OnServer,
		ref: m.Ref, input: schemaOf[None](), output: schemaOf[None](),
	}
}

// Package wasmtest makes small WebAssembly modules for tests, right ones and wrong ones, byte by byte.
package wasmtest

import "encoding/binary"

// Module is a module as its parts. The methods return changed copies.
type Module struct {
	types     [][]byte
	imports   [][]byte
	functions []byte // types
	table     []byte
	memory    uint32
	exports   []export
	bodies    [][]byte // with their locals
	sections  [][]byte // further ones, where their number says
	customs   [][]byte
}

type export struct {
	name  string
	bytes []byte
}

// Small is a module with what a host needs: it answers nothing. Its types are () → (), () → i32, (i32, i32) → () and i32 →
// i32; functions 0, 1 and 2 are _initialize, bundle_abi_v1 and bundle_dispatch.
func Small() Module {
	return Module{
		types:     [][]byte{{0x60, 0, 0}, {0x60, 0, 1, 0x7f}, {0x60, 2, 0x7f, 0x7f, 0}, {0x60, 1, 0x7f, 1, 0x7f}},
		functions: []byte{0, 1, 3},
		memory:    1,
		exports: []export{
			{"memory", []byte{2, 0}}, {"_initialize", []byte{0, 0}}, {"bundle_abi_v1", []byte{0, 1}}, {"bundle_dispatch", []byte{0, 2}},
		},
		bodies: [][]byte{{0, 0x0b}, {0, 0x41, 1, 0x0b}, {0, 0x41, 0, 0x0b}},
	}
}

func added[T any](list []T, more ...T) []T { return append(append([]T{}, list...), more...) }

// WithBody makes a body of instructions, the end included, that of bundle_dispatch, with no locals.
func (m Module) WithBody(instructions ...byte) Module {
	m.bodies = added(m.bodies)
	m.bodies[2] = append([]byte{0}, instructions...)
	return m
}

// WithStart makes a body of instructions that of _initialize.
func (m Module) WithStart(instructions ...byte) Module {
	m.bodies = added(m.bodies)
	m.bodies[0] = append([]byte{0}, instructions...)
	return m
}

// WithVersion makes bundle_abi_v1 answer a number under 64.
func (m Module) WithVersion(n byte) Module {
	m.bodies = added(m.bodies)
	m.bodies[1] = []byte{0, 0x41, n, 0x0b}
	return m
}

// WithLocals gives bundle_dispatch n locals.
func (m Module) WithLocals(n uint32) Module {
	m.bodies = added(m.bodies)
	m.bodies[2] = append(binary.AppendUvarint([]byte{1}, uint64(n)), 0x7f, 0x41, 0, 0x0b)
	return m
}

// WithCode adds a function of a type, with a body as WithBody has it. The first that is added is function 3.
func (m Module) WithCode(kind byte, instructions ...byte) Module {
	m.functions = added(m.functions, kind)
	m.bodies = added(m.bodies, append([]byte{0}, instructions...))
	return m
}

// WithFunction declares a function without code.
func (m Module) WithFunction(kind byte) Module {
	m.functions = added(m.functions, kind)
	return m
}

// WithType adds a type.
func (m Module) WithType(raw []byte) Module {
	m.types = added(m.types, raw)
	return m
}

// WithImport imports a function of a type.
func (m Module) WithImport(module, name string, kind byte) Module {
	m = m.WithImportOf(0, module, name, kind)
	m.exports = added(m.exports)
	for i, e := range m.exports {
		if e.bytes[0] == 0 {
			m.exports[i].bytes = []byte{0, e.bytes[1] + 1}
		}
	}
	return m
}

// WithImportOf imports something of a kind.
func (m Module) WithImportOf(kind byte, module, name string, rest ...byte) Module {
	m.imports = added(m.imports, append(append(text(text(nil, module), name), kind), rest...))
	return m
}

// Without takes an export out.
func (m Module) Without(name string) Module {
	exports := m.exports
	m.exports = nil
	for _, e := range exports {
		if e.name != name {
			m.exports = append(m.exports, e)
		}
	}
	return m
}

// WithExport adds an export.
func (m Module) WithExport(name string, kind, index byte) Module {
	m.exports = added(m.exports, export{name, []byte{kind, index}})
	return m
}

// WithTable adds a table of n elements.
func (m Module) WithTable(n uint32) Module {
	m.table = binary.AppendUvarint([]byte{1, 0x70, 0}, uint64(n))
	return m
}

// WithMemory asks for pages of memory.
func (m Module) WithMemory(pages uint32) Module {
	m.memory = pages
	return m
}

// WithSection adds a section, or replaces the one of that number.
func (m Module) WithSection(id byte, content ...byte) Module {
	m.sections = added(m.sections, append([]byte{id}, content...))
	return m
}

// WithCustom adds a custom section at the end.
func (m Module) WithCustom(name, content string) Module {
	m.customs = added(m.customs, append(text(nil, name), content...))
	return m
}

func text(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func vector(items [][]byte) []byte {
	out := binary.AppendUvarint(nil, uint64(len(items)))
	for _, i := range items {
		out = append(out, i...)
	}
	return out
}

// Bytes returns the module.
func (m Module) Bytes() []byte {
	var exports, bodies [][]byte
	for _, e := range m.exports {
		exports = append(exports, append(text(nil, e.name), e.bytes...))
	}
	for _, b := range m.bodies {
		bodies = append(bodies, append(binary.AppendUvarint(nil, uint64(len(b))), b...))
	}
	contents := map[byte][]byte{
		1: vector(m.types), 3: append(binary.AppendUvarint(nil, uint64(len(m.functions))), m.functions...),
		5: append([]byte{1, 0}, binary.AppendUvarint(nil, uint64(m.memory))...), 7: vector(exports), 10: vector(bodies),
	}
	if len(m.imports) > 0 {
		contents[2] = vector(m.imports)
	}
	if m.table != nil {
		contents[4] = m.table
	}
	for _, s := range m.sections {
		contents[s[0]] = s[1:]
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for id := byte(1); id < 16; id++ {
		if content, ok := contents[id]; ok {
			out = append(binary.AppendUvarint(append(out, id), uint64(len(content))), content...)
		}
	}
	for _, c := range m.customs {
		out = append(binary.AppendUvarint(append(out, 0), uint64(len(c))), c...)
	}
	return out
}

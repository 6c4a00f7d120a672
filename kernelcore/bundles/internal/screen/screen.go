// Package screen looks at a bundle's module before it is compiled. It refuses what could harm the process that compiles or runs it, and rewrites each function so
// that a deadline reaches it: compiled code looks at its deadline only at the head of a loop, so every function gets an
// empty loop to begin with.
package screen

import (
	"encoding/binary"
	"fmt"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// Limits of a module. Go's own programs stay far below all of them.
const (
	MaxModule      = 25 << 20  // bytes: a large Go program with its data
	MaxFunctions   = 100_000   // each costs the compiler some memory
	MaxFunction    = 128 << 10 // bytes of a function: between two looks at the deadline it runs straight through at most these
	MaxBulk        = 128       // instructions of a function that fill or copy memory: each may take milliseconds
	MaxLocals      = 10_000    // of a function: each is a slot of the stack
	MaxParams      = 1_000     // of a type, and results
	MaxTypes       = 10_000
	MaxGlobals     = 10_000
	MaxSegments    = 100_000
	MaxTable       = 65_536 // elements: a table is allocated at once, with 8 bytes each and more
	MaxMemoryPages = 512    // of 64 KiB that a module may ask for at its start, the size of a guest
	MaxDepth       = 1_000  // of nested blocks: the compiler is recursive
	maxName        = 1_024
	maxExports     = 64
	maxImports     = 64
	maxBranches    = 16_384 // targets of one jump table
)

// InvalidError says why a module is not run.
type InvalidError struct{ Reason string }

// Error returns the reason.
func (e *InvalidError) Error() string { return "the module is refused: " + e.Reason }

// Module is a module that may be compiled.
type Module struct {
	// Code is the rewritten module without its metadata.
	Code []byte
	// Metadata is the content of the custom section abi.MetadataName; nil: there is none.
	Metadata []byte
	// Stripped is the module as it came, without its metadata: what a version is known by.
	Stripped []byte
}

// The sections of a module.
const (
	customSection = iota
	typeSection
	importSection
	functionSection
	tableSection
	memorySection
	globalSection
	exportSection
	startSection
	elementSection
	codeSection
	dataSection
	dataCountSection
)

// order is where a section stands among the others.
var order = [...]int{
	typeSection: 1, importSection: 2, functionSection: 3, tableSection: 4, memorySection: 5, globalSection: 6, exportSection: 7,
	startSection: 8, elementSection: 9, dataCountSection: 10, codeSection: 11, dataSection: 12,
}

const header = "\x00asm\x01\x00\x00\x00"

// Screen checks a module and returns it rewritten. The error is an *InvalidError.
func Screen(raw []byte) (*Module, error) {
	if len(raw) > MaxModule {
		return nil, &InvalidError{fmt.Sprintf("it has %d bytes, over %d", len(raw), MaxModule)}
	}
	if len(raw) < len(header) || string(raw[:len(header)]) != header {
		return nil, &InvalidError{"it is no WebAssembly module of version 1"}
	}
	s := &screen{reader: reader{raw: raw, pos: len(header)}, out: Module{Code: []byte(header), Stripped: []byte(header)}}
	s.sections()
	s.complete()
	if s.err != nil {
		return nil, s.err
	}
	return &s.out, nil
}

// screen is a module that is being read.
type screen struct {
	reader
	out Module

	types     []signature
	functions []uint32 // types of all functions, imported ones first
	imported  int      // functions
	memories  int
	tables    int
	bodies    uint32
	exports   map[string]bool
}

// signature is a type of functions: a letter for each value, ">" between parameters and results.
type signature string

func (s *screen) sections() {
	last := 0
	for s.left() > 0 {
		begin := s.pos
		id := s.byte()
		r := s.part(s.u32())
		if s.err != nil {
			return
		}
		whole := s.raw[begin:s.pos]
		if id == customSection {
			s.custom(r, whole)
			continue
		}
		if int(id) >= len(order) || order[id] <= last {
			s.fail("section %d is unknown or out of order", id)
			return
		}
		last = order[id]
		content := r.raw
		switch id {
		case typeSection:
			s.readTypes(r)
		case importSection:
			s.readImports(r)
		case functionSection:
			s.readFunctions(r)
		case tableSection:
			s.readTables(r)
		case memorySection:
			s.readMemories(r)
		case globalSection:
			r.count("globals", MaxGlobals) // the rest is for the compiler to check
			r.pos = len(r.raw)
		case exportSection:
			s.readExports(r)
		case startSection:
			r.fail("a start section is not allowed: it would run before the deadline is set")
		case elementSection, dataSection:
			r.count("segments", MaxSegments)
			r.pos = len(r.raw)
		case dataCountSection:
			r.u32()
		case codeSection:
			content = s.readCode(r)
		}
		if r.left() > 0 {
			r.fail("section %d is longer than what is in it", id)
		}
		if s.err == nil {
			s.err = r.err
		}
		if s.err != nil {
			return
		}
		s.out.Stripped = append(s.out.Stripped, whole...)
		s.out.Code = append(s.out.Code, id)
		s.out.Code = binary.AppendUvarint(s.out.Code, uint64(len(content)))
		s.out.Code = append(s.out.Code, content...)
	}
}

// custom keeps a custom section out of what is compiled, and finds the metadata.
func (s *screen) custom(r *reader, whole []byte) {
	name := r.name()
	if r.err != nil {
		s.err = r.err
		return
	}
	if name != abi.MetadataName {
		s.out.Stripped = append(s.out.Stripped, whole...)
		return
	}
	if s.out.Metadata != nil {
		s.fail("it has two sections of metadata")
		return
	}
	s.out.Metadata = append([]byte{}, r.raw[r.pos:]...)
}

// complete checks what only the whole module shows.
func (s *screen) complete() {
	if s.err != nil {
		return
	}
	if int(s.bodies) != len(s.functions)-s.imported {
		s.fail("it declares %d functions and has the code of %d", len(s.functions)-s.imported, s.bodies)
	}
	for name := range exported {
		if !s.exports[name] {
			s.fail("it does not export %s: build it with GOOS=wasip1 GOARCH=wasm and -buildmode=c-shared, importing pluginsdk/bundle", name)
		}
	}
	if s.memories != 1 {
		s.fail("it has %d memories and not one", s.memories)
	}
}

const (
	i32 = 0x7f
	i64 = 0x7e
	f32 = 0x7d
	f64 = 0x7c
)

func (s *screen) readTypes(r *reader) {
	for range r.count("types", MaxTypes) {
		if r.byte() != 0x60 {
			r.fail("a type is not one of functions")
			return
		}
		var sig []byte
		for side := range 2 {
			if side == 1 {
				sig = append(sig, '>')
			}
			for range r.count("values in a type", MaxParams) {
				sig = append(sig, valueLetter(r))
			}
		}
		s.types = append(s.types, signature(sig))
	}
}

// valueLetter reads a type of values.
func valueLetter(r *reader) byte {
	switch t := r.byte(); t {
	case i32:
		return 'i'
	case i64:
		return 'l'
	case f32:
		return 'f'
	case f64:
		return 'd'
	default:
		r.fail("values of type 0x%02x are not allowed", t)
	}
	return 0
}

// allowed are the functions that a module may import: those of the host, and of WASI those that a Go program has. The
// latter reach nothing: there are no files, arguments and variables.
var allowed = map[string]signature{
	abi.ImportModule + ".read_request":   "ii>",
	abi.ImportModule + ".write_response": "ii>",
	abi.ImportModule + ".call":           "ii>i",
	abi.ImportModule + ".take":           "ii>",
	abi.ImportModule + ".log":            "iii>",

	"wasi_snapshot_preview1.args_get":                "ii>i",
	"wasi_snapshot_preview1.args_sizes_get":          "ii>i",
	"wasi_snapshot_preview1.clock_time_get":          "ili>i",
	"wasi_snapshot_preview1.environ_get":             "ii>i",
	"wasi_snapshot_preview1.environ_sizes_get":       "ii>i",
	"wasi_snapshot_preview1.fd_close":                "i>i",
	"wasi_snapshot_preview1.fd_fdstat_get":           "ii>i",
	"wasi_snapshot_preview1.fd_fdstat_set_flags":     "ii>i",
	"wasi_snapshot_preview1.fd_filestat_get":         "ii>i",
	"wasi_snapshot_preview1.fd_prestat_dir_name":     "iii>i",
	"wasi_snapshot_preview1.fd_prestat_get":          "ii>i",
	"wasi_snapshot_preview1.fd_read":                 "iiii>i",
	"wasi_snapshot_preview1.fd_write":                "iiii>i",
	"wasi_snapshot_preview1.poll_oneoff":             "iiii>i",
	"wasi_snapshot_preview1.proc_exit":               "i>",
	"wasi_snapshot_preview1.random_get":              "ii>i",
	"wasi_snapshot_preview1.sched_yield":             ">i",
	"wasi_snapshot_preview1.path_open":               "iiiiillii>i",
	"wasi_snapshot_preview1.path_filestat_get":       "iiiii>i",
	"wasi_snapshot_preview1.fd_readdir":              "iiili>i",
	"wasi_snapshot_preview1.fd_seek":                 "ilii>i",
	"wasi_snapshot_preview1.fd_pread":                "iiili>i",
	"wasi_snapshot_preview1.fd_pwrite":               "iiili>i",
	"wasi_snapshot_preview1.fd_sync":                 "i>i",
	"wasi_snapshot_preview1.fd_filestat_set_size":    "il>i",
	"wasi_snapshot_preview1.path_create_directory":   "iii>i",
	"wasi_snapshot_preview1.path_remove_directory":   "iii>i",
	"wasi_snapshot_preview1.path_unlink_file":        "iii>i",
	"wasi_snapshot_preview1.path_rename":             "iiiiii>i",
	"wasi_snapshot_preview1.path_readlink":           "iiiiii>i",
	"wasi_snapshot_preview1.path_symlink":            "iiiii>i",
	"wasi_snapshot_preview1.path_link":               "iiiiiii>i",
	"wasi_snapshot_preview1.path_filestat_set_times": "iiiilli>i",
	"wasi_snapshot_preview1.sock_accept":             "iii>i",
	"wasi_snapshot_preview1.sock_shutdown":           "ii>i",
}

func (s *screen) readImports(r *reader) {
	for range r.count("imports", maxImports) {
		module, name := r.name(), r.name()
		if kind := r.byte(); kind != 0 {
			r.fail("it imports %s.%s, which is no function", module, name)
			return
		}
		sig := s.typeAt(r, r.u32())
		want, ok := allowed[module+"."+name]
		switch {
		case r.err != nil:
			return
		case !ok:
			r.fail("it imports %s.%s, which no host has", module, name)
		case want != sig:
			r.fail("it imports %s.%s with other values than the host has", module, name)
		}
		s.functions = append(s.functions, 0)
		s.imported++
	}
}

// typeAt returns a type by its index.
func (s *screen) typeAt(r *reader, i uint32) signature {
	if uint64(i) >= uint64(len(s.types)) {
		r.fail("there is no type %d", i)
		return ""
	}
	return s.types[i]
}

func (s *screen) readFunctions(r *reader) {
	for range r.count("functions", MaxFunctions) {
		t := r.u32()
		s.typeAt(r, t)
		s.functions = append(s.functions, t)
	}
}

func (s *screen) readTables(r *reader) {
	for range r.count("tables", 1) {
		if t := r.byte(); t != 0x70 {
			r.fail("tables of type 0x%02x are not allowed", t)
		}
		if least, _ := r.limits(); least > MaxTable {
			r.fail("it has a table of %d elements, over %d", least, MaxTable)
		}
		s.tables++
	}
}

func (s *screen) readMemories(r *reader) {
	for range r.count("memories", 1) {
		if least, _ := r.limits(); least > MaxMemoryPages {
			r.fail("it asks for %d pages of memory, over %d", least, MaxMemoryPages)
		}
		s.memories++
	}
}

// exported are the exports that a module must have; a memory has no type.
var exported = map[string]signature{
	"memory": "", "_initialize": ">", abi.ExportVersion: ">i", abi.ExportDispatch: "i>i",
}

func (s *screen) readExports(r *reader) {
	s.exports = map[string]bool{}
	for range r.count("exports", maxExports) {
		name := r.name()
		kind, index := r.byte(), r.u32()
		if r.err != nil {
			return
		}
		want, ok := exported[name]
		switch {
		case !ok:
			r.fail("it exports %q, which no host calls", name)
		case name == "memory":
			if kind != 2 || index != 0 {
				r.fail("its export memory is none")
			}
		case kind != 0 || uint64(index) >= uint64(len(s.functions)) || index < uint32(s.imported):
			r.fail("its export %s is no function of its own", name)
		case s.typeAt(r, s.functions[index]) != want:
			r.fail("its export %s takes or returns other values than the host expects", name)
		case s.exports[name]:
			r.fail("it exports %s twice", name)
		}
		s.exports[name] = true
	}
}

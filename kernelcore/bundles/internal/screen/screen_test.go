package screen_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/bundles/internal/screen"
	"github.com/bb-kernel/bb/kernelcore/bundles/internal/screen/wasmtest"
)

func TestScreen(t *testing.T) {
	code := func(body ...byte) wasmtest.Module { return wasmtest.Small().WithBody(body...) }
	repeated := func(n int, part ...byte) []byte { return bytes.Repeat(part, n) }
	fill := []byte{0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x0b, 0}
	for name, c := range map[string]struct {
		raw  []byte
		want string // a part of the reason; "": accepted
	}{
		"small":                         {wasmtest.Small().Bytes(), ""},
		"nothing":                       {nil, "no WebAssembly module"},
		"text":                          {[]byte("hello world"), "no WebAssembly module"},
		"other version":                 {[]byte("\x00asm\x02\x00\x00\x00"), "no WebAssembly module"},
		"too large":                     {make([]byte, screen.MaxModule+1), "over 26214400"},
		"only a header":                 {[]byte("\x00asm\x01\x00\x00\x00"), "does not export"},
		"cut off":                       {wasmtest.Small().Bytes()[:40], "ends in the middle"},
		"start section":                 {wasmtest.Small().WithSection(8, 0).Bytes(), "start section"},
		"unknown section":               {wasmtest.Small().WithSection(13, 0).Bytes(), "unknown or out of order"},
		"sections out of order":         {append(wasmtest.Small().Bytes(), 1, 1, 0), "unknown or out of order"},
		"unknown import":                {wasmtest.Small().WithImport("env", "exec", 0).Bytes(), "imports env.exec, which no host has"},
		"import of another type":        {wasmtest.Small().WithImport("bundlehost", "take", 0).Bytes(), "with other values"},
		"import of the right type":      {wasmtest.Small().WithImport("bundlehost", "take", 2).Bytes(), ""},
		"imported memory":               {wasmtest.Small().WithImportOf(2, "env", "memory", 0, 1).Bytes(), "which is no function"},
		"missing export":                {wasmtest.Small().Without("bundle_dispatch").Bytes(), "does not export bundle_dispatch"},
		"missing memory":                {wasmtest.Small().Without("memory").Bytes(), "does not export memory"},
		"unknown export":                {wasmtest.Small().WithExport("_start", 0, 0).Bytes(), `exports "_start"`},
		"export twice":                  {wasmtest.Small().WithExport("_initialize", 0, 0).Bytes(), "twice"},
		"export of another type":        {wasmtest.Small().Without("_initialize").WithExport("_initialize", 0, 2).Bytes(), "takes or returns other values"},
		"export of no function":         {wasmtest.Small().Without("_initialize").WithExport("_initialize", 3, 0).Bytes(), "no function of its own"},
		"export of an unknown function": {wasmtest.Small().Without("_initialize").WithExport("_initialize", 0, 99).Bytes(), "no function of its own"},
		"huge table":                    {wasmtest.Small().WithTable(screen.MaxTable + 1).Bytes(), "a table of 65537 elements, over 65536"},
		"largest table":                 {wasmtest.Small().WithTable(screen.MaxTable).Bytes(), ""},
		"two tables":                    {wasmtest.Small().WithSection(4, 2, 0x70, 0, 1, 0x70, 0, 1).Bytes(), "2 tables, over 1"},
		"table of references":           {wasmtest.Small().WithSection(4, 1, 0x6f, 0, 1).Bytes(), "tables of type 0x6f"},
		"much memory":                   {wasmtest.Small().WithMemory(screen.MaxMemoryPages + 1).Bytes(), "513 pages"},
		"two memories":                  {wasmtest.Small().WithSection(5, 2, 0, 1, 0, 1).Bytes(), "2 memories, over 1"},
		"shared memory":                 {wasmtest.Small().WithSection(5, 1, 3, 1, 1).Bytes(), "limits of kind 3"},
		"long function":                 {code(append(repeated(screen.MaxFunction, 0x01), 0x0b)...).Bytes(), "over 131072"},
		"many fills":                    {code(append(bytes.Repeat(fill, screen.MaxBulk+1), 0x0b)...).Bytes(), "more than 128 instructions that fill"},
		"as many fills as allowed":      {code(append(bytes.Repeat(fill, screen.MaxBulk), 0x0b)...).Bytes(), ""},
		"deep blocks":                   {code(append(repeated(screen.MaxDepth, 0x02, 0x40), repeated(screen.MaxDepth+1, 0x0b)...)...).Bytes(), "nest deeper than 1000"},
		"no end":                        {code(0x01).Bytes(), "has no end"},
		"behind the end":                {code(0x0b, 0x01).Bytes(), "goes on behind its end"},
		"table growth":                  {code(0xd0, 0x70, 0x41, 1, 0xfc, 15, 0, 0x1a, 0x0b).Bytes(), "instruction 0xd0"},
		"vector instructions":           {code(0xfd, 0x0c, 0x0b).Bytes(), "instruction 0xfd"},
		"atomics":                       {code(0xfe, 0, 0x0b).Bytes(), "instruction 0xfe"},
		"tail calls":                    {code(0x12, 0, 0x0b).Bytes(), "instruction 0x12"},
		"table.size":                    {code(0xfc, 16, 0, 0x1a, 0x0b).Bytes(), "0xfc 16"},
		"many locals":                   {wasmtest.Small().WithLocals(screen.MaxLocals + 1).Bytes(), "10001 locals"},
		"values of references":          {wasmtest.Small().WithType([]byte{0x60, 1, 0x6f, 0}).Bytes(), "values of type 0x6f"},
		"a type that is no function":    {wasmtest.Small().WithType([]byte{0x5f, 0}).Bytes(), "not one of functions"},
		"fewer bodies than functions":   {wasmtest.Small().WithFunction(0).Bytes(), "declares 4 functions and has the code of 3"},
		"a number that is too large":    {append([]byte("\x00asm\x01\x00\x00\x00\x01"), 0xff, 0xff, 0xff, 0xff, 0x7f), "too large"},
		"two sections of metadata":      {wasmtest.Small().WithCustom("bb.metadata", "{}").WithCustom("bb.metadata", "{}").Bytes(), "two sections of metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			m, err := screen.Screen(c.raw)
			if c.want == "" {
				is.NoErr(err)
				is.True(m != nil)
				return
			}
			var invalid *screen.InvalidError
			is.True(errors.As(err, &invalid))
			is.True(strings.Contains(invalid.Reason, c.want)) // the reason
		})
	}
}

// Every function begins with an empty loop, where compiled code looks at its deadline.
func TestEveryFunctionLooksAtItsDeadline(t *testing.T) {
	is := is.New(t)
	raw := wasmtest.Small().Bytes()
	m, err := screen.Screen(raw)
	is.NoErr(err)
	is.Equal(bytes.Count(raw, []byte{0x03, 0x40, 0x0b}), 0)
	is.Equal(bytes.Count(m.Code, []byte{0x03, 0x40, 0x0b}), 3)
	again, err := screen.Screen(m.Code) // it is a module
	is.NoErr(err)
	is.Equal(bytes.Count(again.Code, []byte{0x03, 0x40, 0x0b}), 6)
}

// Metadata is no part of what a version is known by.
func TestMetadataIsTakenOut(t *testing.T) {
	is := is.New(t)
	plain := wasmtest.Small().WithCustom("name", "x").Bytes()
	m, err := screen.Screen(plain)
	is.NoErr(err)
	is.Equal(m.Metadata, nil)
	is.Equal(m.Stripped, plain)
	with, err := screen.Screen(wasmtest.Small().WithCustom("name", "x").WithCustom("bb.metadata", `{"name":"n"}`).Bytes())
	is.NoErr(err)
	is.Equal(string(with.Metadata), `{"name":"n"}`)
	is.Equal(with.Stripped, plain)
	is.Equal(with.Code, m.Code)
}

func FuzzScreen(f *testing.F) {
	f.Add(wasmtest.Small().Bytes())
	f.Add(wasmtest.Small().WithImport("bundlehost", "take", 2).WithTable(1).WithCustom("bb.metadata", "{}").Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := screen.Screen(raw)
		if err != nil {
			return
		}
		if _, err := screen.Screen(m.Code); err != nil && !strings.Contains(fmt.Sprint(err), "over") {
			t.Fatalf("what was made of it is refused: %v", err)
		}
		again, err := screen.Screen(m.Stripped)
		if err != nil || !slices.Equal(again.Stripped, m.Stripped) || again.Metadata != nil {
			t.Fatalf("what was stripped is not: %v", err)
		}
	})
}

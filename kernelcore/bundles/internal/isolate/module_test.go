package isolate_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/bundles/internal/isolate"
	"github.com/bb-kernel/bb/kernelcore/bundles/internal/screen"
	"github.com/bb-kernel/bb/kernelcore/bundles/internal/screen/wasmtest"
)

// tree is a module whose dispatch calls 2 to the power of 60 functions and has no loop.
func tree() wasmtest.Module {
	m := wasmtest.Small().WithCode(0, 0x0b)
	const depth = 60
	for n := byte(3); n < 3+depth; n++ {
		m = m.WithCode(0, 0x10, n, 0x10, n, 0x0b)
	}
	return m.WithBody(0x10, 3+depth, 0x41, 0, 0x0b)
}

// fills is the same with a function at its end that fills the whole memory as often as one may.
func fills() wasmtest.Module {
	const all = 0x20 // pages, as the last byte of a number
	fill := []byte{0x41, 0, 0x41, 0, 0x41, 0x80, 0x80, 0x80, 0x01, 0xfc, 0x0b, 0}
	m := wasmtest.Small().WithMemory(all).WithCode(0, append(bytes.Repeat(fill, screen.MaxBulk), 0x0b)...)
	const depth = 40
	for n := byte(3); n < 3+depth; n++ {
		m = m.WithCode(0, 0x10, n, 0x10, n, 0x0b)
	}
	return m.WithBody(0x10, 3+depth, 0x41, 0, 0x0b)
}

// Modules that are written by hand end as those that a compiler makes.
func TestHostileModule(t *testing.T) {
	dispatch := func(t *testing.T, within time.Duration, name string, m wasmtest.Module) error {
		t.Helper()
		s, err := screen.Screen(m.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r := start(t)
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		begin := time.Now()
		_, err = r.pool.Dispatch(ctx, isolate.Target{AgentID: "h", Version: name, Code: func() ([]byte, error) { return s.Code, nil }}, []byte("request"), host)
		if d := time.Since(begin); d > within+20*time.Second {
			t.Errorf("it ended after %s", d)
		}
		return err
	}
	for name, m := range map[string]wasmtest.Module{
		"a call tree without loops": tree(), "a chain of fills": fills(), "an endless loop": wasmtest.Small().WithBody(0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0, 0x0b),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.True(errors.Is(dispatch(t, time.Second, name, m), context.DeadlineExceeded))
		})
	}
	// Imports are functions 0 and on, so that the module's own begin behind them.
	imported := func(name string, kind byte, body ...byte) wasmtest.Module {
		return wasmtest.Small().WithImport("bundlehost", name, kind).WithBody(append(body, 0x41, 0, 0x0b)...)
	}
	far := []byte{0x41, 0xff, 0xff, 0xff, 0x07} // i32.const: a pointer behind the memory
	for name, c := range map[string]struct {
		module wasmtest.Module
		want   string
	}{
		"no response":                {wasmtest.Small(), "it wrote no response"},
		"an answer that is not 0":    {wasmtest.Small().WithBody(0x41, 7, 0x0b), "answered the dispatch with 7"},
		"unreachable":                {wasmtest.Small().WithBody(0x00, 0x0b), "unreachable"},
		"endless recursion":          {wasmtest.Small().WithCode(0, 0x10, 3, 0x0b).WithBody(0x10, 3, 0x41, 0, 0x0b), "stack overflow"},
		"read_request far":           {imported("read_request", 2, append(far, 0x41, 7, 0x10, 0)...), "are not in the memory"},
		"read_request of other size": {imported("read_request", 2, 0x41, 0, 0x41, 8, 0x10, 0), "read_request for 8 bytes, the request has 7"},
		"write_response far":         {imported("write_response", 2, append(far, 0x41, 7, 0x10, 0)...), "are not in the memory"},
		"write_response twice":       {imported("write_response", 2, 0x41, 0, 0x41, 7, 0x10, 0, 0x41, 0, 0x41, 7, 0x10, 0), "written twice"},
		"take without call":          {imported("take", 2, 0x41, 0, 0x41, 0, 0x10, 0), "without an answer"},
		"call far":                   {wasmtest.Small().WithType([]byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f}).WithImport("bundlehost", "call", 4).WithBody(append(append([]byte{}, far...), 0x41, 7, 0x10, 0, 0x0b)...), "are not in the memory"},
		"call of junk":               {wasmtest.Small().WithType([]byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f}).WithImport("bundlehost", "call", 4).WithBody(0x41, 0, 0x41, 7, 0x10, 0, 0x0b), "the host does not answer"},
		"log far":                    {wasmtest.Small().WithType([]byte{0x60, 3, 0x7f, 0x7f, 0x7f, 0}).WithImport("bundlehost", "log", 4).WithBody(append(append([]byte{0x41, 0}, far...), 0x41, 7, 0x10, 0, 0x41, 0, 0x0b)...), "are not in the memory"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			err := dispatch(t, time.Minute, name, c.module)
			var trap *isolate.TrapError
			is.True(errors.As(err, &trap))                 // it has been discarded
			is.True(strings.Contains(trap.Reason, c.want)) // the reason
		})
	}
	for name, c := range map[string]struct {
		module wasmtest.Module
		want   string
	}{
		"another version":           {wasmtest.Small().WithVersion(2), "it speaks version 2 of the interface, this host 1"},
		"a call while it starts":    {wasmtest.Small().WithImport("bundlehost", "take", 2).WithStart(0x41, 0, 0x41, 0, 0x10, 0, 0x0b), "outside a dispatch"},
		"a trap while it starts":    {wasmtest.Small().WithStart(0x00, 0x0b), "unreachable"},
		"code that does not verify": {wasmtest.Small().WithBody(0x0b), "it does not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			err := dispatch(t, time.Minute, name, c.module)
			var load *isolate.LoadError
			is.True(errors.As(err, &load)) // it counts as a version that does not load
			is.True(strings.Contains(load.Reason, c.want))
		})
	}
	t.Run("an endless loop while it starts", func(t *testing.T) {
		is := is.New(t)
		is.True(errors.Is(dispatch(t, time.Second, "init", wasmtest.Small().WithStart(0x03, 0x40, 0x0c, 0, 0x0b, 0x0b)), context.DeadlineExceeded))
	})
}

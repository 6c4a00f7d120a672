package bundle

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

// guest is the module's end of the interface: the host calls dispatch, one call at a time.
type guest struct {
	runner *Runner
	// mu makes a call and the fetching of its answer one step for handlers with several goroutines.
	mu sync.Mutex
}

var this = &guest{}

//go:wasmimport bundlehost read_request
func readRequest(p unsafe.Pointer, n uint32)

//go:wasmimport bundlehost write_response
func writeResponse(p unsafe.Pointer, n uint32)

//go:wasmimport bundlehost call
func hostCall(p unsafe.Pointer, n uint32) uint32

//go:wasmimport bundlehost take
func take(p unsafe.Pointer, n uint32)

//go:wasmexport bundle_abi_v1
func version() int32 { return abi.Version }

// dispatch answers the request of n bytes that the host holds. It returns 0 once the response is written.
//
//go:wasmexport bundle_dispatch
func dispatch(n uint32) int32 {
	frame := make([]byte, n)
	readRequest(unsafe.Pointer(unsafe.SliceData(frame)), n)
	out := this.answer(frame)
	writeResponse(unsafe.Pointer(unsafe.SliceData(out)), uint32(len(out)))
	runtime.Gosched() // lets the collector's workers run: an instance that only answers would never let them
	return 0
}

func (g *guest) answer(frame []byte) []byte {
	if g.runner == nil {
		a, err := program.get()
		if err != nil {
			out, _ := abi.Append(nil, abi.Response{Error: wire(err)}, nil)
			return out
		}
		g.runner = NewRunner(a, g.call)
	}
	return g.runner.Dispatch(context.Background(), frame)
}

// call sends a frame to the host and returns its answer.
func (g *guest) call(ctx context.Context, frame []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("the host is not asked any more: %w", err)
	}
	n := hostCall(unsafe.Pointer(unsafe.SliceData(frame)), uint32(len(frame)))
	answer := make([]byte, n)
	take(unsafe.Pointer(unsafe.SliceData(answer)), n)
	return answer, nil
}

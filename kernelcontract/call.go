package kernelcontract

import "context"

// CallInfo describes the call that a handler answers.
type CallInfo struct {
	ID        string     // unique, sorts by time
	Ref       string     // plugin/service.method
	Since     string     // the cursor a resumed stream goes on from, "" for none
	Principal Principal  // who calls
	Client    ClientInfo // what the client says of itself
	Context   Context    // where the caller works
	Depth     int        // 1 for a call from outside, one more for each plugin that calls another for it
}

type callKey struct{}

// WithCall returns a context that carries info; the kernel calls it before a handler runs, and test hosts do.
func WithCall(ctx context.Context, info *CallInfo) context.Context {
	return context.WithValue(ctx, callKey{}, info)
}

// CallFrom returns the call that ctx belongs to, an empty CallInfo outside of one, never nil.
func CallFrom(ctx context.Context) *CallInfo {
	if info, ok := ctx.Value(callKey{}).(*CallInfo); ok {
		return info
	}
	return &CallInfo{}
}

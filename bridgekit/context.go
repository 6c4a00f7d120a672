package bridgekit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// Variables with which core places the directories of a plugin's programs.
const (
	DataDirVariable = "BB_PLUGIN_DATA_DIR"
	TempDirVariable = "BB_PLUGIN_TEMP_DIR"
)

// Context is the bridge as a function sees it: the declaration that was picked for the call, what was agreed on, the
// log, and the plugin's directories. It is safe for concurrent use and stays valid while the bridge runs.
type Context struct {
	c           *conn
	declaration *protocol.ProviderDeclaration
	threadID    string // "" for functions without a thread
}

type contextKey struct{}

// ContextOf returns the bridge's context of a context that a function of a bridge got. For any other it returns one that
// declares nothing and logs to standard error; it is never nil.
func ContextOf(ctx context.Context) *Context {
	if c, ok := ctx.Value(contextKey{}).(*Context); ok {
		return c
	}
	return &Context{declaration: &protocol.ProviderDeclaration{}}
}

// contextFor is the connection's context for functions of a thread, or for those without one.
func (c *conn) contextFor(d *protocol.ProviderDeclaration, threadID string) context.Context {
	return context.WithValue(c.ctx, contextKey{}, &Context{c: c, declaration: d, threadID: threadID})
}

// Declaration returns the declaration that the call belongs to. Its slices and maps are shared: do not change them.
func (x *Context) Declaration() protocol.ProviderDeclaration { return *x.declaration }

// Capabilities returns what the bridge reported in the handshake; before that nothing.
func (x *Context) Capabilities() protocol.Capabilities {
	if x.c == nil {
		return protocol.Capabilities{}
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	return x.c.caps
}

// Log sends a message to core's log (bridge/log), before the handshake to standard error. Data is anything that
// encoding/json encodes, nil for none. It never fails: what cannot be sent goes to standard error.
func (x *Context) Log(level protocol.LogLevel, message string, data any) {
	if x.c == nil {
		report(string(level) + ": " + message)
		return
	}
	x.c.log(x.threadID, level, message, data)
}

// Raw hands core something that the agent said and the bridge did not translate (provider/raw). Core may drop it, and
// keeps it only when it records. Payload is anything that encoding/json encodes.
func (x *Context) Raw(coverage protocol.Coverage, payload any) error {
	raw, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("bridgekit: the raw payload cannot be encoded: %w", err)
	}
	return x.notify(protocol.MethodProviderRaw, protocol.RawParams{ThreadID: x.threadID, Coverage: coverage, Payload: raw})
}

// Recover tells core what helps after a failure that no request reports (provider/recovery): of the thread, or of the
// whole provider for functions without one. A request that fails carries its hint in Error.Recovery instead.
func (x *Context) Recover(hint protocol.RecoveryHint, message string) error {
	return x.notify(protocol.MethodProviderRecovery, protocol.RecoveryParams{ThreadID: x.threadID, Hint: hint, Message: message})
}

func (x *Context) notify(method string, params any) error {
	if x.c == nil {
		return errors.New("bridgekit: this context belongs to no bridge: use the one that the function got")
	}
	return x.c.notify(method, params)
}

// notify checks params and sends a notification.
func (c *conn) notify(method string, params any) error {
	if issues := protocol.Validate(params); len(issues) > 0 {
		return &protocol.Error{Code: protocol.InvalidParams, Message: method, Issues: issues}
	}
	return c.wrote(c.peer.Notify(context.Background(), method, params))
}

// log sends bridge/log, or writes to standard error when core cannot have it.
func (c *conn) log(threadID string, level protocol.LogLevel, message string, data any) {
	message = clip(message)
	c.mu.Lock()
	reachable := c.greeted
	c.mu.Unlock()
	if reachable {
		p := protocol.LogParams{ThreadID: threadID, Level: level, Message: message}
		raw, err := json.Marshal(data)
		if err != nil {
			raw, _ = json.Marshal(fmt.Sprintf("%v", data))
		}
		p.Data = raw
		if c.notify(protocol.MethodBridgeLog, p) == nil {
			return
		}
	}
	report(string(level) + ": " + message)
}

// DataDir returns the directory in which the plugin's programs keep what outlives them, and makes it for its owner
// alone: the one that BB_PLUGIN_DATA_DIR names, else one of the plugin's own among the user's configuration.
func (x *Context) DataDir() (string, error) {
	dir := os.Getenv(DataDirVariable)
	if dir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("bridgekit: no place for data: set %s: %w", DataDirVariable, err)
		}
		dir = filepath.Join(base, "bb", "bridges", x.pluginFolder())
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("bridgekit: the data directory cannot be made: set %s to another place: %w", DataDirVariable, err)
	}
	return dir, nil
}

// TempDir returns a directory for files that nobody needs after the bridge has ended: a new one below the directory
// that BB_PLUGIN_TEMP_DIR names, or below the system's. It is made by the first call and removed when Run returns.
func (x *Context) TempDir() (string, error) {
	if x.c == nil {
		return "", errors.New("bridgekit: this context belongs to no bridge: use the one that the function got")
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	if x.c.temp != "" {
		return x.c.temp, nil
	}
	dir, err := os.MkdirTemp(os.Getenv(TempDirVariable), "bb-bridge-")
	if err != nil {
		return "", fmt.Errorf("bridgekit: the temporary directory cannot be made: set %s to another place: %w", TempDirVariable, err)
	}
	x.c.temp = dir
	return dir, nil
}

func (c *conn) removeTempDir() {
	c.mu.Lock()
	dir := c.temp
	c.mu.Unlock()
	if dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			report(err.Error())
		}
	}
}

// pluginFolder is the plugin's id as the name of a folder.
func (x *Context) pluginFolder() string {
	id := "unknown"
	if x.c != nil {
		x.c.mu.Lock()
		if x.c.plugin.ID != "" {
			id = x.c.plugin.ID
		}
		x.c.mu.Unlock()
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
}

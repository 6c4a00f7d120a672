package echo_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	echo "github.com/bb-kernel/bb/examples/provider-echo"
	"github.com/matryer/is"
)

// TestEndOfInput lets core vanish in the middle of whatever a turn may do. The bubble fails when a goroutine stays behind.
func TestEndOfInput(t *testing.T) {
	for _, prompt := range []string{"", "hello", "slow", "approve command", "ask all", "form", `tool {"a":1}`, "background work", "withdraw"} {
		t.Run(prompt, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				bridge, err := echo.Bridge(echo.Options{StateDir: dir})
				is.NoErr(err)
				runtime, err := bridgekit.Define(bridge)
				is.NoErr(err)
				in, toBridge := io.Pipe()
				fromBridge, out := io.Pipe()
				ended := make(chan error, 1)
				go func() {
					ended <- runtime.Run(context.Background(), in, out)
					out.Close()
				}()
				var lines []string
				read := make(chan struct{})
				go func() {
					defer close(read)
					for s := bufio.NewScanner(fromBridge); s.Scan(); {
						lines = append(lines, s.Text())
					}
				}()
				id := 0
				call := func(method string, params any) {
					id++
					line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
					is.NoErr(err)
					_, err = toBridge.Write(append(line, '\n'))
					is.NoErr(err)
				}
				call(protocol.MethodInitialize, protocol.InitializeParams{Protocol: protocol.VersionRange{Min: 3, Max: 3},
					Client: protocol.ClientInfo{Name: "bb", Version: "1"}, Plugin: protocol.PluginInfo{ID: "echo", Version: "1"}, ProviderIDs: []string{"echo"}})
				call(protocol.MethodThreadStart, params("t"))
				if prompt != "" {
					call(protocol.MethodTurnStart, protocol.TurnStartParams{ThreadID: "t", ProviderThreadID: "any", ClientRequestID: "r", Options: options, Input: text(prompt)})
				}
				synctest.Wait() // until the turn waits for something, or is over

				toBridge.Close()
				is.NoErr(<-ended)
				<-read
				for _, line := range lines {
					is.True(!strings.Contains(line, `"error"`) || !strings.Contains(line, `"id"`)) // nothing was refused
					is.True(!strings.Contains(line, "panic"))
				}
				is.True(len(lines) >= id) // every request was answered
			})
		})
	}
}

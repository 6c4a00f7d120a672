package plugincheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bb-kernel/bb/bridgekit/wire"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/contract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// rules are all rules.
func rules() []rule {
	return []rule{
		{"handshake/initialize", initialize},
		{"handshake/version", version},
		{"handshake/setup", setup},
		{"rpc/unknown-method", unknownMethod},
		{"rpc/junk-ignored", junkIgnored},
		{"rpc/unknown-members", unknownMembers},
		{"ping/answered", pingAnswered},
		{"call/result", callResult},
		{"call/unknown-ref", unknownRef},
		{"call/at-once", atOnce},
		{"call/cancel", cancelled},
		{"render/text", renderText},
		{"stream/items", streamItems},
		{"stream/credit", streamCredit},
		{"stream/cancel", streamCancel},
		{"stop/shutdown", shutdown},
		{"stop/end-of-input", endOfInput},
	}
}

func initialize(ctx context.Context, k *kernel) error {
	var r stdio.InitializeResult
	if err := k.ask(ctx, stdio.Initialize, k.hello(stdio.Version), &r); err != nil {
		return err
	}
	if want := (stdio.InitializeResult{Protocol: stdio.Version, PluginID: k.contract.ID, Version: k.contract.Version}); r != want {
		return fmt.Errorf("initialize was answered with %+v, not %+v", r, want)
	}
	return nil
}

func version(ctx context.Context, k *kernel) error {
	err := k.ask(ctx, stdio.Initialize, k.hello(99), nil)
	if !errors.Is(err, kernelcontract.Precondition) {
		return fmt.Errorf("version 99 of the protocol was answered with %v, not with precondition", err)
	}
	supported, _ := kernelcontract.AsError(err).Details["supported"].([]any)
	if !slices.ContainsFunc(supported, func(v any) bool { return fmt.Sprint(v) == "1" }) {
		return errors.New("the refusal does not name the versions that the program speaks: details.supported")
	}
	return nil
}

func setup(ctx context.Context, k *kernel) error {
	if err := k.ask(ctx, stdio.Initialize, k.hello(stdio.Version), nil); err != nil {
		return err
	}
	var r stdio.SetupResult
	if err := k.ask(ctx, stdio.Setup, stdio.SetupParams{}, &r); err != nil {
		return err
	}
	slices.Sort(r.Methods)
	if want := k.refs(); !slices.Equal(r.Methods, want) {
		return fmt.Errorf("setup names the methods %v, the contract has %v", r.Methods, want)
	}
	return nil
}

func unknownMethod(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	_, err := k.peer.Call(ctx, "conformance/unknown", stdio.Nothing{})
	var w *wire.Error
	if !errors.As(err, &w) || w.Code != wire.CodeNoMethod {
		return fmt.Errorf("an unknown method was answered with %v, not with -32601", err)
	}
	if err := k.peer.Notify(ctx, "conformance/unknown", stdio.Nothing{}); err != nil {
		return err
	}
	return k.ask(ctx, stdio.Ping, stdio.Nothing{}, nil)
}

func junkIgnored(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	for _, line := range []string{"", "junk", "{}", "[1]", "\x00\xff", `{"jsonrpc":"2.0","id":"nobody","result":1}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`} {
		if _, err := k.proc.Stdin.Write([]byte(line + "\n")); err != nil { // nothing else is being written
			return err
		}
	}
	return k.ask(ctx, stdio.Ping, stdio.Nothing{}, nil)
}

func unknownMembers(ctx context.Context, k *kernel) error {
	hello := map[string]any{"protocol": stdio.Version, "pluginId": k.contract.ID, "serverId": "s", "dataDir": "", "tempDir": "", "more": []int{1}}
	if err := k.ask(ctx, stdio.Initialize, hello, nil); err != nil {
		return err
	}
	if err := k.ask(ctx, stdio.Setup, map[string]any{"more": true}, nil); err != nil {
		return err
	}
	return k.ask(ctx, stdio.Ping, map[string]any{"more": true}, nil)
}

// pingAnswered pings while calls are under way.
func pingAnswered(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	_, ref, input, err := k.method(query)
	if err != nil {
		return err
	}
	const calls = 32
	done := make(chan error, calls)
	for range calls {
		go func() { done <- k.ask(ctx, stdio.Call, stdio.CallParams{Call: k.info(ref), Input: input}, nil) }()
	}
	err = k.ask(ctx, stdio.Ping, stdio.Nothing{}, nil)
	for range calls {
		err = errors.Join(err, <-done)
	}
	return err
}

func callResult(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	m, ref, input, err := k.method(unary)
	if err != nil {
		return err
	}
	var r stdio.CallResult
	if err := k.ask(ctx, stdio.Call, stdio.CallParams{Call: k.info(ref), Input: input, Deadline: time.Now().Add(Timeout)}, &r); err != nil {
		return err
	}
	return fits(m.Output, r.Result)
}

func unknownRef(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	err := k.ask(ctx, stdio.Call, stdio.CallParams{Call: k.info(k.contract.ID + "/nothing.here"), Input: json.RawMessage("{}")}, nil)
	if !errors.Is(err, kernelcontract.NotFound) {
		return fmt.Errorf("a call of a method that is not there was answered with %v, not with not_found", err)
	}
	return nil
}

func atOnce(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	m, ref, input, err := k.method(query)
	if err != nil {
		return err
	}
	const calls = 64
	done := make(chan error, calls)
	for range calls {
		go func() {
			var r stdio.CallResult
			err := k.ask(ctx, stdio.Call, stdio.CallParams{Call: k.info(ref), Input: input}, &r)
			if err == nil {
				err = fits(m.Output, r.Result)
			}
			done <- err
		}()
	}
	for range calls {
		if e := <-done; e != nil && err == nil {
			err = e
		}
	}
	return err
}

// cancelled cancels calls that are over and that never were.
func cancelled(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	_, ref, input, err := k.method(query)
	if err != nil {
		return err
	}
	info := k.info(ref)
	if err := k.ask(ctx, stdio.Call, stdio.CallParams{Call: info, Input: input}, nil); err != nil {
		return err
	}
	for _, id := range []string{info.ID, "never"} {
		if err := k.peer.Notify(ctx, stdio.Cancel, stdio.CancelParams{Call: id}); err != nil {
			return err
		}
	}
	return k.ask(ctx, stdio.Call, stdio.CallParams{Call: k.info(ref), Input: input}, nil)
}

func renderText(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	_, ref, input, err := k.method(func(m *contract.Method) bool { return unary(m) && m.RendersText })
	if err != nil {
		return err
	}
	var r stdio.CallResult
	if err := k.ask(ctx, stdio.Call, stdio.CallParams{Call: k.info(ref), Input: input}, &r); err != nil {
		return err
	}
	var text stdio.RenderResult
	if err := k.ask(ctx, stdio.Render, stdio.RenderParams{Ref: ref, Value: r.Result, Render: stdio.RenderOptions{Width: 80}}, &text); err != nil {
		return err
	}
	if text.Text == "" {
		return errors.New("the text of a result is empty")
	}
	return nil
}

// opened opens a stream with some credit.
func (k *kernel) opened(ctx context.Context, credit int) (m *contract.Method, id string, err error) {
	if err := k.ready(ctx); err != nil {
		return nil, "", err
	}
	m, ref, input, err := k.method(stream)
	if err != nil {
		return nil, "", err
	}
	info := k.info(ref)
	return m, info.ID, k.ask(ctx, stdio.StreamOpen, stdio.OpenParams{Call: info, Input: input, Credit: credit}, nil)
}

func streamItems(ctx context.Context, k *kernel) error {
	_, id, err := k.opened(ctx, stdio.Credit)
	if err != nil {
		return err
	}
	return k.until(ctx, "an item or the end of the stream", func() bool { return k.items[id] > 0 || k.ends[id] })
}

// streamCredit gives credit for two items, one after the other, and sees that no more come.
func streamCredit(ctx context.Context, k *kernel) error {
	_, id, err := k.opened(ctx, 1)
	if err != nil {
		return err
	}
	for want := 1; want <= 2; want++ {
		if err := k.until(ctx, fmt.Sprintf("item %d", want), func() bool { return k.items[id] >= want || k.ends[id] }); err != nil {
			return err
		}
		if err := k.ask(ctx, stdio.Ping, stdio.Nothing{}, nil); err != nil { // what was on its way has come
			return err
		}
		k.mu.Lock()
		came, ended := k.items[id], k.ends[id]
		k.mu.Unlock()
		switch {
		case came > want:
			return fmt.Errorf("%d items came with credit for %d", came, want)
		case ended:
			return errSkip{"the stream of the example ends before its credit does"}
		}
		if err := k.peer.Notify(ctx, stdio.StreamCredit, stdio.CreditParams{Stream: id, N: 1}); err != nil {
			return err
		}
	}
	return nil
}

// streamCancel cancels a stream, after which the program goes on.
func streamCancel(ctx context.Context, k *kernel) error {
	_, id, err := k.opened(ctx, 1)
	if err != nil {
		return err
	}
	if err := k.peer.Notify(ctx, stdio.Cancel, stdio.CancelParams{Call: id}); err != nil {
		return err
	}
	if err := k.peer.Notify(ctx, stdio.StreamCredit, stdio.CreditParams{Stream: id, N: 1}); err != nil {
		return err
	}
	return k.ask(ctx, stdio.Ping, stdio.Nothing{}, nil)
}

// stopped waits for the end of the program.
func (k *kernel) stopped(ctx context.Context) error {
	if err := k.proc.Stdin.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	exit, err := k.proc.Wait(ctx)
	if err != nil {
		return fmt.Errorf("the program goes on %s after the end of its input", stopTime)
	}
	if exit.Code != 0 {
		return fmt.Errorf("the program %s, not with 0", exit)
	}
	return nil
}

func shutdown(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	if err := k.ask(ctx, stdio.Shutdown, stdio.ShutdownParams{GraceMs: 1000}, nil); err != nil {
		return err
	}
	return k.stopped(ctx)
}

func endOfInput(ctx context.Context, k *kernel) error {
	if err := k.ready(ctx); err != nil {
		return err
	}
	return k.stopped(ctx)
}

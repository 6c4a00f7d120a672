package plugintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/pluginsdk/plugintest"
)

// The plugin of this file uses what a host gives: settings, a secret, a guard, an end. docs/plugins.md shows it.

type mailInput struct {
	To   string `json:"to" format:"email" description:"Who gets it"`
	Text string `json:"text" minLength:"1" description:"What it says"`
}

var sendMail = &kernelcontract.Mutation[mailInput, kernelcontract.None]{
	Ref: "mail/outbox.send", Summary: "Send a mail",
	CLI: kernelcontract.CLI{Args: []string{"to", "text..."}},
}

var outbox = &kernelcontract.Service{
	ID: "mail/outbox", Summary: "Send mail", Group: []string{"mail"},
	Methods: []kernelcontract.Method{sendMail},
}

// transport is what delivers a mail.
type transport interface {
	Deliver(ctx context.Context, from, password string, mail mailInput) error
	Close() error
}

func mailPlugin(dial func() transport) *pluginsdk.Plugin {
	return &pluginsdk.Plugin{
		ID: "mail", Version: "0.1.0", Summary: "Sends mail",
		Services: []*kernelcontract.Service{outbox},
		Config: []pluginsdk.ConfigKey{
			{Key: "from", Summary: "The address that mails come from", Required: true},
			{Key: "agents", Summary: "Whether agents may send", Default: false},
		},
		Setup: func(ctx context.Context, h *pluginsdk.Host) error {
			m := &mailer{host: h, transport: dial()}
			h.Provide(outbox, sendMail.Handle(m.send))
			h.Guard(m.guard)
			h.OnStop(func(context.Context) error { return m.transport.Close() })
			return nil
		},
	}
}

type mailer struct {
	host      *pluginsdk.Host
	transport transport
}

func (m *mailer) send(ctx context.Context, in mailInput) (none kernelcontract.None, err error) {
	var from string
	if err := m.host.Config(ctx, "from", &from); err != nil {
		return none, err // needs_configuration: bb plugin config set mail from <value>
	}
	password, err := m.host.Secret(ctx, "smtp-password")
	if err != nil {
		return none, err // needs_configuration: bb secret set smtp-password
	}
	return none, m.transport.Deliver(ctx, from, password, in)
}

// guard refuses mails of agents unless a setting allows them.
func (m *mailer) guard(ctx context.Context, call *kernelcontract.CallInfo, input json.RawMessage) error {
	if call.Ref != sendMail.Ref || call.Principal.Kind() != kernelcontract.Agent {
		return nil
	}
	var agents bool
	if err := m.host.Config(ctx, "agents", &agents); err != nil {
		return err
	}
	if !agents {
		return errors.New("agents do not send mail by themselves: ask a person to")
	}
	return nil
}

// letterbox keeps what is sent.
type letterbox struct {
	from, password string
	mails          []mailInput
	closed         bool
}

func (l *letterbox) Deliver(_ context.Context, from, password string, mail mailInput) error {
	l.from, l.password, l.mails = from, password, append(l.mails, mail)
	return nil
}

func (l *letterbox) Close() error {
	l.closed = true
	return nil
}

func TestMailIsSentOnceItIsConfigured(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	box := &letterbox{}
	host := plugintest.Load(t, mailPlugin(func() transport { return box }), plugintest.Options{
		Secrets: map[string]string{"smtp-password": "secret"},
	})
	mail := mailInput{To: "someone@example.org", Text: "Hello"}

	_, err := sendMail.Call(ctx, host, mail)
	is.True(errors.Is(err, kernelcontract.NeedsConfiguration))

	is.NoErr(host.SetConfig("from", "bb@example.org"))
	_, err = sendMail.Call(ctx, host, mail)
	is.NoErr(err)
	is.Equal(box.mails, []mailInput{mail})
	is.Equal(box.from+" "+box.password, "bb@example.org secret")

	is.NoErr(host.Stop(ctx))
	is.True(box.closed)
}

func TestMailOfAgentsIsVetoed(t *testing.T) {
	is, ctx := is.New(t), t.Context()
	host := plugintest.Load(t, mailPlugin(func() transport { return &letterbox{} }), plugintest.Options{
		Config:    map[string]any{"from": "bb@example.org"},
		Secrets:   map[string]string{"smtp-password": "secret"},
		Principal: kernelcontract.Principal{Actor: "agent:t-1", Via: kernelcontract.ViaTool},
	})
	mail := mailInput{To: "someone@example.org", Text: "Hello"}
	_, err := sendMail.Call(ctx, host, mail)
	is.True(errors.Is(err, kernelcontract.Vetoed))
	is.Equal(kernelcontract.AsError(err).Details["by"], "mail")

	is.NoErr(host.SetConfig("agents", true))
	_, err = sendMail.Call(ctx, host, mail)
	is.NoErr(err)
}

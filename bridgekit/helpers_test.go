package bridgekit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/bridgekit"
	"github.com/bb-kernel/bb/bridgekit/protocol"
)

// TestDefine proves that a definition reports every problem at once.
func TestDefine(t *testing.T) {
	problems := func(b bridgekit.Bridge[*agent]) string {
		_, err := bridgekit.Define(b)
		if err == nil {
			return ""
		}
		var d *bridgekit.DefinitionError
		if !errors.As(err, &d) {
			t.Fatalf("%T", err)
		}
		return err.Error()
	}
	t.Run("missing", func(t *testing.T) {
		got := problems(bridgekit.Bridge[*agent]{})
		for _, want := range []string{"ThreadStart is nil", "TurnStart is nil", "ThreadStop is nil", "ThreadDiscard is nil", "Shutdown is nil", "Declarations is empty"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in:\n%s", want, got)
			}
		}
	})
	t.Run("declarations", func(t *testing.T) {
		got := problems(bridge(func(b *bridgekit.Bridge[*agent]) {
			bad := declaration(func(d *protocol.ProviderDeclaration) {
				d.DisplayName, d.Icon = "", ""
				d.Env.Passthrough = []string{"BB_TOKEN"}
				d.Capabilities.Fork = protocol.ForkNone
				d.ExtensionKinds = map[string]protocol.ExtensionKind{"test/x": {Item: []byte(`{"type":1}`)}}
			})
			b.Declarations = append(b.Declarations, bad)
		}))
		for _, want := range []string{"Declarations[1].displayName", "Declarations[1].icon", "Declarations[1].env.passthrough[0]",
			`Declarations[1].id: "test" is the id of Declarations[0]`, "Declarations[1].capabilities differ", "Declarations[1].extensionKinds"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in:\n%s", want, got)
			}
		}
	})
	t.Run("DefineProviderDeclaration", func(t *testing.T) {
		is := is.New(t)
		d, err := bridgekit.DefineProviderDeclaration(declaration())
		is.NoErr(err)
		is.Equal(d.ID, "test")
		_, err = bridgekit.DefineProviderDeclaration(protocol.ProviderDeclaration{})
		var e *bridgekit.DefinitionError
		is.True(errors.As(err, &e))
		is.True(len(e.Problems) > 5)
	})
}

// TestHelpers proves the small functions for authors.
func TestHelpers(t *testing.T) {
	t.Run("AutoDeny", func(t *testing.T) {
		is := is.New(t)
		ask, deny := options().Permission, options().Permission
		deny.Escalation = protocol.EscalateDeny
		full := protocol.PermissionPolicy{Mode: protocol.ModeFull, Scope: protocol.ScopeFull}
		a := &protocol.Approval{RequestKey: "k"}
		is.Equal(bridgekit.AutoDeny(deny, a), &protocol.Decision{Kind: protocol.Deny})
		is.Equal(bridgekit.AutoDeny(ask, a), nil)
		is.Equal(bridgekit.AutoDeny(full, a), nil)
		is.Equal(bridgekit.AutoDeny(deny, &protocol.Questions{}), nil)
		is.Equal(bridgekit.AutoDeny(deny, &protocol.OpenInteraction{}), nil)
		is.Equal(bridgekit.AutoDeny(deny, nil), nil)
	})
	t.Run("CapabilityWidens", func(t *testing.T) {
		is := is.New(t)
		all := declaration().Capabilities
		is.Equal(len(bridgekit.CapabilityWidens(all, all)), 0)
		none := protocol.Capabilities{Fork: protocol.ForkNone, ApprovalEnforcedBy: protocol.EnforcedByProvider, Steer: protocol.SteerNone}
		is.Equal(bridgekit.CapabilityWidens(none, all), []string{"sessionRestore", "threadArchive", "threadRename", "threadGoal", "fork", "approvalEnforcedBy", "steer"})
	})
	t.Run("IsMethodAdvertised", func(t *testing.T) {
		wide, small := bridge(), bridge(narrow)
		for method := range gated() {
			if d := wide.Declarations[0]; !bridgekit.IsMethodAdvertised(method, d, d.Capabilities) {
				t.Errorf("%s is not advertised", method)
			}
			if d := small.Declarations[0]; bridgekit.IsMethodAdvertised(method, d, d.Capabilities) {
				t.Errorf("%s is advertised", method)
			}
		}
		is := is.New(t)
		for _, method := range []string{protocol.MethodInitialize, protocol.MethodThreadStart, protocol.MethodThreadStop, protocol.MethodThreadDiscard, protocol.MethodTurnStart, protocol.MethodShutdown} {
			is.True(bridgekit.IsMethodAdvertised(method, small.Declarations[0], small.Declarations[0].Capabilities))
		}
		is.True(!bridgekit.IsMethodAdvertised("no/such", wide.Declarations[0], wide.Declarations[0].Capabilities))
	})
	t.Run("DetachesMessage", func(t *testing.T) {
		is := is.New(t)
		for _, k := range []protocol.ItemKind{protocol.KindCommand, protocol.KindTool, protocol.KindFileChange, protocol.KindTask, "plugin/thing"} {
			is.True(bridgekit.DetachesMessage(k))
		}
		for _, k := range []protocol.ItemKind{protocol.KindMessage, protocol.KindReasoning, protocol.KindPlan, protocol.KindCompaction} {
			is.True(!bridgekit.DetachesMessage(k))
		}
	})
	t.Run("CreateExtensionKinds", func(t *testing.T) {
		is := is.New(t)
		kinds, err := bridgekit.CreateExtensionKinds(declaration(func(d *protocol.ProviderDeclaration) {
			d.ExtensionKinds = map[string]protocol.ExtensionKind{"test/x": {Item: []byte(`{"type":"integer"}`)}}
		}))
		is.NoErr(err)
		is.NoErr(kinds.CheckItem("test/x", []byte(`1`)))
		is.True(kinds.CheckItem("test/x", []byte(`"a"`)) != nil)
	})
	t.Run("ProviderFacts", func(t *testing.T) {
		is := is.New(t)
		is.Equal(bridgekit.ProviderFacts(declaration()), bridgekit.Facts{ProviderID: "test", DisplayName: "Test", Icon: "flask", Visibility: protocol.VisibleAlways})
	})
	t.Run("constants", func(t *testing.T) {
		is := is.New(t)
		is.Equal(bridgekit.ProtocolVersion, 3)
		is.Equal(bridgekit.ItemKeySeparator, "\x1f")
		is.Equal(bridgekit.UnknownKeyBufferLimit, 256<<10)
		is.Equal(bridgekit.MaxLine, 8<<20)
		is.Equal(bridgekit.HostRole, "provider-bridge")
		is.Equal([]time.Duration{bridgekit.HandshakeTimeout, bridgekit.RequestTimeout, bridgekit.SessionTimeout, bridgekit.StopGrace, bridgekit.ShutdownGrace,
			bridgekit.KillDelay, bridgekit.ProviderOptionsTimeout, bridgekit.ModelListLifetime},
			[]time.Duration{10e9, 30e9, 60e9, 10e9, 5e9, 2e9, 2e9, 600e9})
	})
}

// TestChildEnv proves which variables reach a program that a bridge starts.
func TestChildEnv(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/h", "LANG=C", "LANGUAGE=de", "LC_ALL=C", "LC_TIME=de", "TMPDIR=/t", "TMP=/t", "TEMP=/t",
		"HTTP_PROXY=p", "https_proxy=p", "NO_PROXY=n", "all_proxy=a",
		"OPENAI_API_KEY=secret", "AWS_SECRET_ACCESS_KEY=secret", "USER=me", "LD_PRELOAD=x", "=x", "noequals", "LCX=no",
		"BB_TOKEN=secret", "BB_THREAD_ID=old", "BB_BRIDGE_RECORD_DIR=/rec", "BB_DATA_DIR=/data", "MY_KEY=mine", "MULTI=a=b",
		"SystemRoot=C", "Path=/win",
	}
	ambient := map[string]string{"BB_THREAD_ID": "t1", "BB_CLI": "/bb", "BB_BRIDGE_RECORD_DIR": "/rec", "bb_bridge_record_dir": "/rec", "PATH": "/evil", "BB_A=B": "x", "BB_NUL": "a\x00b"}
	passthrough := []string{"MY_KEY", "MULTI", "BB_TOKEN", "BB_BRIDGE_RECORD_DIR", "NOT_SET"}
	t.Run("allow-list", func(t *testing.T) {
		is := is.New(t)
		is.Equal(bridgekit.ChildEnvOn(environ, passthrough, ambient, false), []string{
			"BB_CLI=/bb", "BB_THREAD_ID=t1", "HOME=/h", "HTTP_PROXY=p", "LANG=C", "LANGUAGE=de", "LC_ALL=C", "LC_TIME=de", "MULTI=a=b", "MY_KEY=mine",
			"NO_PROXY=n", "PATH=/bin", "TEMP=/t", "TMP=/t", "TMPDIR=/t", "all_proxy=a", "https_proxy=p",
		})
	})
	t.Run("windows", func(t *testing.T) {
		is := is.New(t)
		got := bridgekit.ChildEnvOn([]string{"Path=/win", "systemroot=C", "UserProfile=U", "my_key=m", "bb_token=secret", "Bb_Bridge_Record_Dir=r", "ProgramFiles(x86)=P", "lc_all=C"}, []string{"MY_KEY", "bb_token"}, ambient, true)
		is.Equal(got, []string{"BB_CLI=/bb", "BB_THREAD_ID=t1", "Path=/win", "ProgramFiles(x86)=P", "UserProfile=U", "lc_all=C", "my_key=m", "systemroot=C"})
	})
	t.Run("empty", func(t *testing.T) {
		is := is.New(t)
		is.Equal(bridgekit.ChildEnv(nil, nil, nil), []string{}) // not nil: that would be everything
	})
}

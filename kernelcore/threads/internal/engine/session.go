package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/bb-kernel/bb/bridgekit/assembler"
	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/providers"
)

// begin returns the thread's session. Without one it resumes the last one, or starts the first, or a fresh one when the
// last one cannot be resumed. Only the driver, or who stands in for it, calls it.
func (t *thread) begin(ctx context.Context) (*session, error) {
	t.mu.Lock()
	s := t.session
	t.mu.Unlock()
	if s != nil {
		return s, nil
	}
	for died := false; ; {
		b, err := t.e.pool.Bridge(ctx, t.kept.ProviderID)
		if err != nil {
			return nil, err
		}
		s, err = t.open(ctx, b)
		if err == nil {
			t.configureSkills(ctx, s)
			return s, nil
		}
		t.mu.Lock()
		again := t.kept.ProviderThreadID != "" && forgotten(err)
		if again {
			t.loseContext(messageOf(err))
		}
		t.mu.Unlock()
		if !again && (errors.Is(err, host.ErrExited) || errors.Is(err, host.ErrStopping)) && !died { // it was about to end when it was asked
			died = true
			select {
			case <-b.Done():
				continue
			case <-ctx.Done():
			}
		}
		if !again {
			return nil, err
		}
	}
}

// forgotten tells whether an error says that the session is gone and a fresh one helps.
func forgotten(err error) bool {
	var wrong *protocol.Error
	return errors.Is(err, protocol.SessionNotRestorable) || errors.As(err, &wrong) && wrong.Recovery == protocol.RecoverResumeFresh
}

// loseContext forgets the session that cannot be resumed, and says so. t.mu is held.
func (t *thread) loseContext(reason string) {
	t.kept.ProviderThreadID, t.kept.Restorable = "", false
	t.touch()
	summary := "the agent's session could not be resumed; a fresh one begins"
	_ = t.commit(
		t.change(threadapi.SessionChange{State: "lost", ContextLost: true, Reason: reason}),
		t.note("", protocol.WarningSessionReplaced, summary, lostText(true)))
}

// open makes a session on a bridge: by thread/resume when there was one, else by thread/start.
func (t *thread) open(ctx context.Context, b *providers.Bridge) (*session, error) {
	t.mu.Lock()
	resume := t.kept.ProviderThreadID
	if resume != "" && (!b.Capabilities().SessionRestore || !t.kept.Restorable) {
		t.loseContext("the provider does not restore sessions")
		resume = ""
	}
	t.mu.Unlock()
	state := "started"
	call := func(p protocol.SessionParams) (protocol.SessionIdentity, error) { return b.ThreadStart(ctx, p) }
	if resume != "" {
		state = "resumed"
		call = func(p protocol.SessionParams) (protocol.SessionIdentity, error) {
			return b.ThreadResume(ctx, protocol.ResumeParams{SessionParams: p, ProviderThreadID: resume})
		}
	}
	return t.attach(b, state, call)
}

// attach makes the session that a call of the bridge opens.
func (t *thread) attach(b *providers.Bridge, state string, call func(protocol.SessionParams) (protocol.SessionIdentity, error)) (*session, error) {
	t.mu.Lock()
	if t.gone {
		t.mu.Unlock()
		return nil, noThread(t.id)
	}
	secret, end := t.e.kernel.BeginSession(t.id, t.context())
	s := &session{bridge: b, end: end, lines: assembler.New(assembler.Options{ThreadID: t.id, Entropy: entropy(), UsageBase: t.kept.Usage})}
	p := t.params(b, secret)
	t.session = s
	t.spare()
	t.mu.Unlock()

	id, err := call(p)

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != s {
		return nil, host.ErrExited
	}
	if err != nil {
		t.session = nil
		end()
		var wrong *protocol.Error
		if errors.As(err, &wrong) && wrong.Recovery != "" && wrong.Recovery != protocol.RecoverResumeFresh {
			t.recover(s, wrong.Recovery, wrong.Message)
		}
		return nil, err
	}
	s.ready = true
	if s.providerThreadID == "" { // else the notification's word counts
		t.identified(id.ProviderThreadID, id.SessionRestorable)
	}
	return s, t.commit(t.change(threadapi.SessionChange{State: state, ProviderThreadID: s.providerThreadID}))
}

// entropy begins the ids of a session's items.
func entropy() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// context is what the agent's calls have as theirs.
func (t *thread) context() kernelcontract.Context {
	return kernelcontract.Context{ThreadID: t.id, ProjectID: t.kept.ProjectID, CWD: t.kept.Cwd}
}

// options are the execution options of the next turn. t.mu is held.
func (t *thread) options() protocol.ExecutionOptions {
	instructions := t.kept.Instructions
	for _, spec := range t.e.kernel.Tools() {
		if spec.Instructions != "" {
			if instructions != "" {
				instructions += "\n\n"
			}
			instructions += spec.Instructions
		}
	}
	options := t.kept.ProviderOptions
	if options == nil {
		options = protocol.JSONObject{}
	}
	return protocol.ExecutionOptions{
		Model: t.kept.Model, ReasoningLevel: t.kept.Reasoning, ServiceTier: t.kept.Tier,
		Permission: policy(t.kept.Permission, t.kept.Escalation), Instructions: instructions, ProviderOptions: options,
	}
}

// params are those of a session. t.mu is held.
func (t *thread) params(b *providers.Bridge, secret string) protocol.SessionParams {
	env := map[string]string{"BB_TOKEN": secret}
	if url := t.e.kernel.URL(); url != "" {
		env["BB_MCP_URL"], env["BB_MCP_TOKEN"] = url+"/mcp", secret
	}
	if t.kept.ProjectID != "" {
		env["BB_PROJECT_ID"] = t.kept.ProjectID
	}
	if dir, err := t.storage(); err == nil {
		env["BB_THREAD_STORAGE"] = dir
	} else {
		t.e.log.Warn("a thread has no directory of its own", "thread", t.id, "error", err)
	}
	return protocol.SessionParams{
		ThreadID: t.id, ProviderID: t.kept.ProviderID, Cwd: t.kept.Cwd,
		Workspace: protocol.Workspace{Root: t.kept.Cwd, WriteRoots: []string{t.kept.Cwd}},
		Env:       env, Options: t.options(), Tools: t.e.tools(), DisallowedTools: []string{},
		InstructionMode: protocol.InstructionsAppend, Actions: b.Declaration.Actions, BridgeOptions: b.Options,
	}
}

// storage returns the directory that is the thread's own, and makes it.
func (t *thread) storage() (string, error) {
	dir := t.e.storage(t.id)
	return dir, os.MkdirAll(dir, 0o700)
}

// storage is the directory of a thread.
func (e *Engine) storage(id string) string { return filepath.Join(e.kernel.DataDir(), "threads", id) }

// tools are those that agents get as dynamic tools.
func (e *Engine) tools() []protocol.DynamicTool {
	tools := []protocol.DynamicTool{}
	for _, spec := range e.kernel.Tools() {
		var schema protocol.JSONObject
		document, err := spec.Tool.InputSchema.Document()
		if err == nil {
			err = json.Unmarshal(document, &schema)
		}
		if err != nil {
			e.log.Warn("a tool is not offered to agents", "tool", spec.Tool.Name, "error", err)
			continue
		}
		tools = append(tools, protocol.DynamicTool{
			Name: spec.Tool.Name, Description: spec.Tool.Description, InputSchema: schema,
			Presentation: protocol.ToolPresentation{
				Label: protocol.ToolLabel{Pending: spec.Tool.Presentation.Pending, Completed: spec.Tool.Presentation.Completed},
				Icon:  spec.Tool.Presentation.Icon, Intent: protocol.RenderIntent(spec.Tool.Presentation.Intent), Suppress: spec.Tool.Presentation.Suppress,
			},
		})
	}
	return tools
}

// toolCall runs a tool for the agent of a thread.
func (e *Engine) toolCall(ctx context.Context, b *providers.Bridge, p protocol.ToolCallParams) (protocol.ToolResult, error) {
	t := e.of(p.ThreadID)
	if t == nil {
		return protocol.ToolResult{}, protocol.InvalidParams.Errorf("there is no thread %q", p.ThreadID)
	}
	t.mu.Lock()
	c, ours := t.context(), t.session != nil && t.session.bridge == b
	t.mu.Unlock()
	if !ours {
		return protocol.ToolResult{}, host.ErrInterrupted
	}
	result := e.kernel.RunTool(ctx, t.id, c, p.Tool, p.Arguments)
	out := protocol.ToolResult{Success: result.Success}
	for _, c := range result.Content {
		if c.MIMEType != "" {
			out.Content = append(out.Content, protocol.ToolContent{Type: protocol.ContentImage, MimeType: c.MIMEType, Base64: c.Base64})
		} else {
			out.Content = append(out.Content, protocol.ToolContent{Type: protocol.ContentText, Text: c.Text})
		}
	}
	return out, nil
}

// release lets go of the session, which can be resumed. The driver stands still meanwhile.
func (t *thread) release(ctx context.Context, reason string) error {
	t.mu.Lock()
	s := t.session
	t.mu.Unlock()
	if s == nil {
		return nil
	}
	err := s.bridge.ThreadStop(ctx, protocol.ThreadStopParams{ThreadRef: ref(t.id, s), Intent: protocol.Release})
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != s {
		return nil // it ended by itself
	}
	if err != nil {
		return err
	}
	t.session = nil
	s.end()
	t.touch()
	return t.commit(t.change(threadapi.SessionChange{State: "released", ProviderThreadID: s.providerThreadID, Reason: reason}))
}

// endSession ends, in the background, a session that could not be stopped: it is discarded, and when the bridge does not
// answer that either, its process is killed. Its threads go on in a new one. t.mu is held.
func (t *thread) endSession(s *session) {
	t.ending = t.e.goes(func() {
		if err := s.bridge.ThreadDiscard(t.e.ctx, ref(t.id, s)); err != nil {
			t.e.log.Warn("a bridge neither stops nor discards a thread; it is killed", "thread", t.id, "provider", s.bridge.ProviderID, "error", err)
			s.bridge.Kill()
			<-s.bridge.Done()
		}
		t.mu.Lock()
		t.ending = false
		t.wake()
		t.kick()
		t.mu.Unlock()
	})
}

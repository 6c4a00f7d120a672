package threadapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/text"
)

// shape renders a value as every result without a text of its own is: an object as lines, a list as a table.
func shape(v any, r kernelcontract.Render) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return text.Render(raw, nil, r)
}

// stamp is a time for people, in UTC: who reads it may be elsewhere than the server.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

func renderThread(t Thread, r kernelcontract.Render) string {
	v := struct {
		ID          string `json:"id"`
		Title       string `json:"title,omitempty"`
		Status      string `json:"status"`
		Problem     string `json:"problem,omitempty"`
		Provider    string `json:"provider"`
		Cwd         string `json:"cwd"`
		Project     string `json:"project,omitempty"`
		Permission  string `json:"permission,omitempty"`
		Model       string `json:"model,omitempty"`
		Reasoning   string `json:"reasoning,omitempty"`
		ServiceTier string `json:"service tier,omitempty"`
		Goal        string `json:"goal,omitempty"`
		ForkedFrom  string `json:"forked from,omitempty"`
		Turn        string `json:"open turn,omitempty"`
		Queued      int    `json:"queued inputs,omitempty"`
		Pending     int    `json:"open questions,omitempty"`
		Tokens      string `json:"tokens,omitempty"`
		Created     string `json:"created"`
	}{
		ID: t.ID, Title: t.Title, Status: state(t), Problem: t.Problem, Provider: t.ProviderID, Cwd: t.Cwd, Project: t.ProjectID,
		Permission: string(t.Permission), Model: t.Model, Reasoning: t.Reasoning, ServiceTier: t.Tier, Goal: t.Goal, ForkedFrom: t.ForkedFrom,
		Turn: t.TurnID, Queued: t.Queued, Pending: t.Pending, Created: stamp(t.CreatedAt),
	}
	if t.Escalation != "" {
		v.Permission += ", else " + string(t.Escalation)
	}
	if t.Tokens > 0 {
		v.Tokens = count(t.Tokens)
	}
	return shape(v, r)
}

// state is the status of a thread, with whether it was put away.
func state(t Thread) string {
	if t.Archived {
		return string(t.Status) + ", archived"
	}
	return string(t.Status)
}

func renderThreads(ts []Thread, r kernelcontract.Render) string {
	type line struct {
		ID       string `json:"id"`
		Status   string `json:"status"`
		Provider string `json:"provider"`
		Title    string `json:"title"`
		Cwd      string `json:"cwd"`
		Updated  string `json:"updated"`
	}
	lines := make([]line, len(ts))
	for i, t := range ts {
		lines[i] = line{t.ID, state(t), t.ProviderID, t.Title, t.Cwd, stamp(t.UpdatedAt)}
	}
	return shape(lines, r)
}

func renderTurn(t Turn, r kernelcontract.Render) string {
	p := paper{color: r.Color}
	p.put(plain, 0, "turn "+t.ID+" ")
	switch t.Status {
	case TurnFailed:
		p.put(bad, 0, "failed"+because(t.Error))
	case TurnInterrupted:
		p.put(caution, 0, "interrupted"+because(t.Error))
	case TurnCompleted:
		p.put(good, 0, "completed")
	case TurnMerged:
		p.put(plain, 0, strings.TrimSpace("went into turn "+t.MergedInto))
	case TurnQueued:
		p.put(plain, 0, "is stored and waits for its turn")
	default:
		p.put(plain, 0, string(t.Status))
	}
	return p.take()
}

func renderWait(w WaitOutput, r kernelcontract.Render) string {
	s := "thread " + text.Strip(w.Thread.ID) + " " + state(w.Thread)
	if w.Turn != nil {
		s += "\n" + renderTurn(*w.Turn, r)
	}
	return s
}

func renderTimeline(t TimelineOutput, r kernelcontract.Render) string {
	p := Printer{Render: r, digest: true}
	p.paper.color = r.Color
	if t.Earlier && len(t.Rows) > 0 {
		p.note(faint, 0, fmt.Sprintf("… earlier rows: --before %d", t.Rows[0].Seq))
	}
	p.rows(t.Rows)
	if t.Later && len(t.Rows) > 0 {
		p.note(faint, 0, fmt.Sprintf("… later rows: --after %d", t.Rows[len(t.Rows)-1].Seq))
	}
	if len(t.Rows) == 0 {
		p.note(faint, 0, "(nothing happened yet)")
	}
	if t.Thread.Status != "" && t.Thread.Status != Idle {
		p.note(accent, 0, "The thread is "+string(t.Thread.Status)+".")
	}
	return strings.TrimRight(p.Close(), "\n")
}

func renderInteraction(i Interaction, r kernelcontract.Render) string {
	p := paper{color: r.Color}
	p.line(strong, 0, i.ID+" of thread "+i.ThreadID)
	asked := i.Asks()
	p.ask(0, asked, nil)
	if i.Status == Pending {
		p.line(faint, step, "answer: "+howTo(i.ID, asked))
	} else {
		said, look := resolution(i.Resolution, i.ResolvedBy)
		p.line(look, step, said)
	}
	return strings.TrimRight(p.take(), "\n")
}

func renderInteractions(is []Interaction, r kernelcontract.Render) string {
	type line struct {
		ID     string `json:"id"`
		Thread string `json:"thread"`
		Status string `json:"status"`
		Asked  string `json:"asked"`
	}
	lines := make([]line, len(is))
	for n, i := range is {
		lines[n] = line{i.ID, i.ThreadID, string(i.Status), i.Asks().brief()}
	}
	return shape(lines, r)
}

func renderProviders(ps []Provider, r kernelcontract.Render) string {
	type line struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Installed string `json:"installed"`
		State     string `json:"state"`
		Threads   int    `json:"threads"`
		Problem   string `json:"problem,omitempty"`
	}
	lines := make([]line, len(ps))
	for i, p := range ps {
		installed := "?"
		if p.Installed != nil {
			installed = map[bool]string{true: "yes", false: "no"}[*p.Installed]
		}
		lines[i] = line{p.ID, p.DisplayName, installed, string(p.State), p.Threads, p.Problem}
	}
	return shape(lines, r)
}

func renderProvider(p Provider, r kernelcontract.Render) string {
	modes := make([]string, len(p.PermissionModes))
	for i, m := range p.PermissionModes {
		modes[i] = string(m)
	}
	c := p.Capabilities
	var can []string
	for _, ability := range []struct {
		has  bool
		name string
	}{{c.SessionRestore, "resume"}, {c.Steer == "native", "steer"}, {c.Fork != "none" && c.Fork != "", "fork"}, {c.ThreadGoal, "goal"}} {
		if ability.has {
			can = append(can, ability.name)
		}
	}
	installed := "not known"
	if p.Installed != nil {
		installed = map[bool]string{true: "yes", false: "no"}[*p.Installed]
	}
	return shape(struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Plugin      string   `json:"plugin"`
		State       string   `json:"state"`
		Problem     string   `json:"problem,omitempty"`
		Installed   string   `json:"installed"`
		Threads     int      `json:"threads"`
		Restarts    int      `json:"restarts,omitempty"`
		Permissions []string `json:"permissions"`
		Can         []string `json:"can,omitempty"`
	}{p.ID, p.DisplayName, p.PluginID, string(p.State), p.Problem, installed, p.Threads, p.Restarts, modes, can}, r)
}

func renderModels(ms []Model, r kernelcontract.Render) string {
	type line struct {
		ID          string `json:"id"`
		Label       string `json:"label"`
		Default     string `json:"default,omitempty"`
		Reasoning   string `json:"reasoning,omitempty"`
		Description string `json:"description,omitempty"`
	}
	lines := make([]line, len(ms))
	for i, m := range ms {
		l := line{ID: m.ID, Label: m.Label, Description: m.Description}
		if m.IsDefault {
			l.Default = "yes"
		}
		levels := make([]string, len(m.ReasoningLevels))
		for n, level := range m.ReasoningLevels {
			if levels[n] = level; level == m.DefaultReasoningLevel {
				levels[n] += "*"
			}
		}
		l.Reasoning = strings.Join(levels, " ")
		lines[i] = l
	}
	return shape(lines, r)
}

func renderHealth(h Health, r kernelcontract.Render) string {
	p := paper{color: r.Color}
	look := caution
	switch h.Status {
	case "ready":
		look = good
	case "unknown":
		look = plain
	}
	p.line(look, 0, strings.ReplaceAll(h.Status, "_", " "))
	for _, m := range []struct{ name, value string }{
		{"", h.Message}, {"account: ", h.AccountEmail}, {"plan: ", h.Plan}, {"version: ", h.InstalledVersion}, {"needs at least: ", h.MinimumVersion},
		{"sign in: ", h.LoginCommand}, {"", h.Hint},
	} {
		if m.value != "" {
			p.line(plain, 0, m.name+m.value)
		}
	}
	return strings.TrimRight(p.take(), "\n")
}

func renderInstall(o InstallOutput, r kernelcontract.Render) string {
	p := paper{color: r.Color}
	if o.Command != "" {
		p.line(strong, 0, "$ "+o.Command)
	}
	if o.Text != "" {
		p.line(plain, 0, o.Text)
	}
	switch {
	case o.Done && o.OK:
		p.line(good, 0, "installed")
	case o.Done:
		p.line(bad, 0, "not installed")
	}
	return strings.TrimRight(p.take(), "\n")
}

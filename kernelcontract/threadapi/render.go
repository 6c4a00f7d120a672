package threadapi

import (
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract"
)

func renderThread(t Thread, _ kernelcontract.Render) string {
	return fmt.Sprintf("%s  %s  %s  %s", t.ID, t.Status, t.ProviderID, t.Title)
}

func renderThreads(ts []Thread, r kernelcontract.Render) string {
	var b strings.Builder
	for _, t := range ts {
		b.WriteString(renderThread(t, r) + "\n")
	}
	return b.String()
}

func renderTurn(t Turn, _ kernelcontract.Render) string { return t.ID + "  " + string(t.Status) }

func renderWait(w WaitOutput, r kernelcontract.Render) string { return renderThread(w.Thread, r) }

// RenderEvent is how an event reads in a terminal; "" for what a person does not want to see.
func RenderEvent(e Event, _ kernelcontract.Render) string {
	return fmt.Sprintf("%d %s %s", e.Seq, e.Type, e.Payload)
}

func renderTimeline(t TimelineOutput, _ kernelcontract.Render) string {
	var b strings.Builder
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "%s %s %s\n", row.Kind, row.Status, row.Data)
	}
	return b.String()
}

func renderInteraction(i Interaction, _ kernelcontract.Render) string {
	return i.ID + "  " + i.Kind + "  " + string(i.Status)
}

func renderInteractions(is []Interaction, r kernelcontract.Render) string {
	var b strings.Builder
	for _, i := range is {
		b.WriteString(renderInteraction(i, r) + "\n")
	}
	return b.String()
}

func renderProviders(ps []Provider, _ kernelcontract.Render) string {
	var b strings.Builder
	for _, p := range ps {
		fmt.Fprintf(&b, "%s  %s  %s\n", p.ID, p.State, p.DisplayName)
	}
	return b.String()
}

func renderInstall(o InstallOutput, _ kernelcontract.Render) string { return o.Text }

package grammar

import "github.com/bb-kernel/bb/bridgekit/protocol"

// FoldsText tells whether items of a kind take item.text of a stream, and so into which field readers fold it: text
// belongs to the text of a message, reasoning or plan, summary to the summary of a reasoning.
func FoldsText(k protocol.ItemKind, s protocol.TextStream) bool {
	switch k {
	case protocol.KindReasoning:
		return true
	case protocol.KindMessage, protocol.KindPlan:
		return s == protocol.Text
	}
	return false
}

// FoldsOutput tells whether items of a kind take item.output: readers fold it into a command's output, a tool's result and
// a task's summary.
func FoldsOutput(k protocol.ItemKind) bool {
	switch k {
	case protocol.KindCommand, protocol.KindTool, protocol.KindTask:
		return true
	}
	return false
}

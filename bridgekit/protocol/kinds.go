package protocol

// DeltaKinds returns the kinds of deltas, in the order of the specification.
func DeltaKinds() []DeltaKind {
	return []DeltaKind{
		KindInputAccepted, KindTurnOpen, KindTurnBoundary, KindTurnDiff,
		KindItemOpen, KindItemText, KindItemOutput, KindItemProgress, KindItemClose,
		KindUsage, KindContextWindow, KindContextCleared, KindTodo, KindThreadName, KindExtensionState,
		KindRateLimits, KindModelFallback, KindProviderError, KindProviderWarning, KindProviderUnhandled,
		KindSessionEnded, KindSessionReset,
	}
}

// Scoped tells whether deltas of the kind say what they belong to, with the field scope. Eight kinds do.
func (k DeltaKind) Scoped() bool {
	switch k {
	case KindItemOpen, KindItemText, KindItemOutput, KindItemProgress, KindItemClose,
		KindProviderError, KindProviderWarning, KindProviderUnhandled:
		return true
	}
	return false
}

// ItemKinds returns the core kinds of items. Extensions are beside them.
func ItemKinds() []ItemKind {
	return []ItemKind{KindMessage, KindReasoning, KindPlan, KindCompaction, KindCommand, KindTool, KindFileChange, KindTask}
}

// Package providers runs the bridges of the providers that the plugins of a kernel bring: for each provider one process for
// sessions, started at its first use, and one for questions about the provider. It starts them again after crashes, ends
// those that nobody uses or whose plugin is gone, and kills what a former life of the program left behind. The rules are
// docs/spec/providers.md.
package providers

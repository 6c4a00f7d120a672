// Package tool turns methods into agent tools: what a model is told of a method ([Spec]), and what it gets back from a
// call ([Run]). The rules are stated in docs/spec/tools.md.
package tool

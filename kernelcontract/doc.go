// Package kernelcontract holds the typed definitions of methods, and what every surface derives from them.
//
// A plugin author writes a [Query], [Mutation] or [Stream] once, groups them in a [Service], and gets an HTTP route, a
// typed call, a command-line word, an agent tool and reference docs. Definitions are plain data: nothing runs before
// [Service.Def], which reports every problem at once. Calls go through a [Caller], which is the same seam in process
// and over HTTP.
//
// The sub-packages derive one surface each: route, word, tool, text, docs, manifest. The rules are stated in
// docs/spec/definitions.md.
package kernelcontract

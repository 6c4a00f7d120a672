// Package docs turns a method into its reference: [MethodDoc], the record that rides in the contract manifest, and the
// texts for people and agents that are rendered from it on either end of a connection. The rules are stated in
// docs/spec/docs.md.
package docs

// Package openapi describes the HTTP surface of a catalog as an OpenAPI 3.1 document, for the generators, clients and
// viewers that read one. It is made of the contract manifest alone, so that a server and its clients make the same one.
// The rules are stated in docs/spec/openapi.md.
package openapi

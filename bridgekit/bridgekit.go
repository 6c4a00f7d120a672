// Package bridgekit is the author's side of provider bridges: the kit with which a coding agent is plugged into a
// kernel. It holds no code yet; the module reserves the name, so that the import rules and the release script already
// know it.
package bridgekit

// Package procplugin runs plugins that are programs of their own. [Open] reads the folder of such a plugin and returns an
// ordinary plugin value, whose Setup starts the program and whose methods it answers by the protocol of package
// pluginsdk/stdio. A program that crashes or hangs is started again; meanwhile its methods are not available, and all
// others are. The rules are docs/spec/plugin-programs.md.
package procplugin

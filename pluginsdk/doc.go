// Package pluginsdk is what a plugin imports: the plugin as a value, and the kernel as a plugin sees it.
//
// A [Plugin] lists its services and a Setup function, which pairs each method with a function through [Host.Provide].
// Setup also takes what the plugin needs: its own store ([Host.KV]), settings ([Host.Config]), secrets
// ([Host.Secret]), other plugins' services ([Host.Require]). The same value is compiled into a kernel with
// kernelcore.Options.Plugins, and is tested with package plugintest. The rules are stated in docs/spec/plugins.md.
package pluginsdk

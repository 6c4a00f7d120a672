// Package kernelcore is the running kernel: it composes plugins into a live catalog and answers calls on every surface.
//
//	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{hello.Plugin()}})
//	http.ListenAndServe("127.0.0.1:38886", k.Handler())
//
// A Kernel holds no global state: several live in one process. The rules are stated in docs/spec/kernel.md.
package kernelcore

package kernelcontract

// Implementation is a service with functions for some of its methods: how handlers that run without a server are
// passed to the command line.
type Implementation struct {
	Service  *Service
	Handlers []Handler
}

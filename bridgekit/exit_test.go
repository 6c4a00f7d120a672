package bridgekit_test

import "runtime"

func exitGoroutine() { runtime.Goexit() }

package plugincheck_test

import (
	"context"
	"fmt"

	"github.com/bb-kernel/bb/conformance/plugincheck"
)

func ExampleRun() {
	_, err := plugincheck.Run(context.Background(), plugincheck.Options{Dir: "nowhere"})
	fmt.Println(err != nil)
	// Output: true
}

package stdio_test

import (
	"errors"
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk/stdio"
)

// A failure keeps its code when it crosses.
func Example() {
	crossed := stdio.Fail(kernelcontract.NotFound.Errorf("there is no note 7"))
	fmt.Println(crossed.Code, string(crossed.Data))
	fmt.Println(errors.Is(stdio.Failed(crossed), kernelcontract.NotFound))
	// Output:
	// -32014 {"code":"not_found","message":"there is no note 7"}
	// true
}

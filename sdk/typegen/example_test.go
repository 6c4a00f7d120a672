package typegen_test

import (
	"fmt"
	"strings"

	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/sdk/typegen"
)

func Example() {
	// A client gets the manifest of its server with Client.Manifest.
	source, err := typegen.Go(&manifest.Manifest{Format: manifest.Format}, typegen.Options{Package: "shop"})
	fmt.Println(strings.Contains(string(source), "package shop"), err)
	// Output: true <nil>
}

// Command openapicheck validates an OpenAPI document with kin-openapi, a library that is not ours, examples included:
//
//	go run ./openapicheck FILE
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openapicheck FILE")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func check(file string) error {
	document, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		return err
	}
	return document.Validate(context.Background(), openapi3.IsOpenAPI31OrLater(), openapi3.EnableExamplesValidation(), openapi3.EnableMultiError())
}

package servertest_test

import (
	"context"
	"fmt"

	"github.com/bb-kernel/bb/conformance/servertest"
)

func ExampleRun() {
	results, err := servertest.Run(context.Background(), servertest.Options{BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		fmt.Println("nothing to check there")
	}
	for _, r := range results {
		switch {
		case r.Err != nil:
			fmt.Println("fail", r.Check, r.Err)
		case r.Skipped != "":
			fmt.Println("skip", r.Check, r.Skipped)
		default:
			fmt.Println("pass", r.Check)
		}
	}
	// Output: nothing to check there
}

func ExampleRules() {
	for _, r := range servertest.Rules()[:2] {
		fmt.Println(r.Check+":", r.Rule)
	}
	// Output:
	// http.headers.call-id: every answer has a Bb-Call-Id that is unique and sorts by time
	// http.headers.generation: every answer has the catalog's number in Bb-Generation
}

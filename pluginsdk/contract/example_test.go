package contract_test

import (
	"fmt"

	"github.com/bb-kernel/bb/pluginsdk/contract"
)

func Example() {
	c, err := contract.Decode([]byte(`{
	  "format": 1, "id": "clock", "version": "1.0.0", "run": ["python3", "./clock.py"],
	  "services": [{"id": "clock/clock", "summary": "Tell the time", "methods": [{
	    "method": "now", "kind": "query", "summary": "Tell the time",
	    "input": {"type": "object", "additionalProperties": false}, "output": {"type": "string"}}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Command("/plugins/clock", "linux"))
	fmt.Println(c.Define(nil)[0].ID)
	// Output:
	// [python3 /plugins/clock/clock.py]
	// clock/clock
}

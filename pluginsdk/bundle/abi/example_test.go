package abi_test

import (
	"fmt"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

func Example() {
	frame, err := abi.Append(nil, abi.Call{Op: abi.KVPut, Key: "k"}, []byte(`"value"`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var c abi.Call
	body, err := abi.Split(frame, &c)
	fmt.Println(c.Op, c.Key, string(body), err)
	// Output: kv.put k "value" <nil>
}

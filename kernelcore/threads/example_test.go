package threads_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/threads"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// A kernel in a program of one's own runs agents too: the two plugins, and beside them one that brings a provider.
func Example() {
	ctx := context.Background()
	k, err := kernelcore.New(kernelcore.Options{
		Plugins: append(threads.Plugins(threads.Options{}), puppets(bridge.ProviderHooks{})),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	bb := k.As(kernelcontract.Principal{Actor: "user:local"})

	thread, err := threadapi.Create.Call(ctx, bb, threadapi.CreateInput{ProviderID: "puppet", Cwd: os.TempDir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := threadapi.Send.Call(ctx, bb, threadapi.SendInput{Thread: thread.ID, Input: []threadapi.Part{threadapi.Text("say hello")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := threadapi.Wait.Call(ctx, bb, threadapi.WaitInput{Thread: thread.ID, Turn: turn.ID})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Turn.Status)
	timeline, err := threadapi.Timeline.Call(ctx, bb, threadapi.TimelineInput{Thread: thread.ID})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range timeline.Rows {
		if row.Kind == threadapi.RowMessage {
			var message struct{ Text string }
			_ = json.Unmarshal(row.Data, &message)
			fmt.Println(message.Text)
		}
	}
	// Output:
	// completed
	// hello
}

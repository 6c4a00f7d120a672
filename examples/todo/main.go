// Command todo is a plugin of one's own with a server around it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/bb-kernel/bb/pluginsdk"
	"github.com/bb-kernel/bb/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := server.Run(ctx, server.Config{
		Plugins: []*pluginsdk.Plugin{Plugin()},
		Listen:  os.Getenv("BB_LISTEN"),   // "": 127.0.0.1:38886
		DataDir: os.Getenv("BB_DATA_DIR"), // "": bb under the user's data directory
		OnReady: func(url string) { fmt.Println("listening on " + url) },
	})
	if err != nil {
		log.Fatal(err)
	}
}

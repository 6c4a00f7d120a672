package procplugin_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/procplugin"
	"github.com/bb-kernel/bb/pluginsdk"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "clock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	contract := `{"format": 1, "id": "clock", "version": "1.0.0", "run": ["./clock"], "services": []}`
	if err := os.WriteFile(filepath.Join(dir, "contract.json"), []byte(contract), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	clock, err := procplugin.Open(dir, procplugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	k, err := kernelcore.New(kernelcore.Options{Plugins: []*pluginsdk.Plugin{clock}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	fmt.Println(clock.ID, len(k.Problems())) // its program is missing, and that is a problem of the plugin only
	// Output: clock 1
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/bb-kernel/bb/cli/internal/pack"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/sdk"
)

// upload puts in the place of a folder or an archive, which stands on the command line of `bb plugin install`, the id of what was
// sent to the server. What stands in --input is an id already.
func (a *app) upload(cl *call, client *sdk.Client) *kernelcontract.Error {
	if cl.w.Ref != kernelapi.InstallPlugin.Ref || len(cl.line.Words) == 0 {
		return nil
	}
	var in kernelapi.InstallInput
	if err := json.Unmarshal(cl.input, &in); err != nil {
		return asFailure("the input", err)
	}
	file, size, err := a.archive(in.UploadID)
	if err != nil {
		return kernelcontract.AsError(err)
	}
	defer file.Close()
	var sent atomic.Int64
	stop := a.uploading(&sent, size)
	in.UploadID, err = client.Upload(cl.ctx, &counted{file, &sent}, size)
	stop()
	if err != nil {
		return kernelcontract.AsError(err)
	}
	if cl.input, err = json.Marshal(in); err != nil {
		return asFailure("the input", err)
	}
	return nil
}

// archive opens an archive, or makes one of a folder in a temporary file, which is gone once it is closed.
func (a *app) archive(name string) (io.ReadCloser, int64, error) {
	at := a.path(name)
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, kernelcontract.InvalidInput.Errorf("there is no %s: name the folder of a plugin, or a .tar.gz or .zip of it", name)
	case err != nil:
		return nil, 0, kernelcontract.InvalidInput.Errorf("%s cannot be read: %s", name, err)
	}
	if !info.IsDir() {
		f, err := os.Open(at)
		if err != nil {
			return nil, 0, kernelcontract.InvalidInput.Errorf("%s cannot be read: %s", name, err)
		}
		return f, info.Size(), nil
	}
	f, err := os.CreateTemp("", "bb-plugin-*.tar.gz")
	if err != nil {
		return nil, 0, kernelcontract.Internal.Errorf("the archive of %s: %s", name, err)
	}
	t := &temporary{f}
	if err := pack.Folder(a.ctx, f, at); err != nil {
		return nil, 0, errors.Join(kernelcontract.InvalidInput.Errorf("the folder %s cannot be packed: %s", name, err), t.Close())
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(kernelcontract.Internal.Errorf("the archive of %s: %s", name, err), t.Close())
	}
	return t, size, nil
}

// temporary is a file that is removed when it is closed.
type temporary struct{ *os.File }

func (t *temporary) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

// counted counts what is read.
type counted struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// uploading shows on a terminal how far an upload is, until the function that it returns is called.
func (a *app) uploading(sent *atomic.Int64, size int64) (stop func()) {
	if !a.term.Stderr || a.globals.json {
		return func() {}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(over)
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		shown := false
		for {
			select {
			case <-done:
				if shown {
					_, _ = io.WriteString(a.err, "\r\x1b[K")
				}
				return
			case <-t.C:
				shown = true
				_, _ = fmt.Fprintf(a.err, "\rsending %d of %d MiB", sent.Load()>>20, size>>20)
			}
		}
	}()
	return func() {
		close(done)
		<-over
	}
}

// progressEvery is how often progress is shown: a person sees that it goes on.
const progressEvery = 300 * time.Millisecond

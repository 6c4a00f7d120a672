package tool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/internal/clip"
	"github.com/bb-kernel/bb/kernelcontract/text"
)

// Bounds of what a tool takes from a stream, which may never end.
const (
	// MaxStreamBytes is what a model can be expected to read of one call, the closing line included.
	MaxStreamBytes = 256 << 10
	// MaxStreamTime is the default budget of a query: a model waits no longer for a stream.
	MaxStreamTime = kernelcontract.QueryWait
)

// Run calls a method through c and turns the outcome into what a model gets: it never fails, a failure is a Result. The
// caller decides as whom c calls. Text is rendered without width and colour, so nothing is shortened.
func Run(ctx context.Context, c kernelcontract.Caller, d *kernelcontract.MethodDef, input json.RawMessage) Result {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	switch d.Kind {
	case kernelcontract.KindStream:
		return runStream(ctx, c, d, input)
	case kernelcontract.KindCustom:
		return Failure(kernelcontract.InvalidInput.Errorf("%s is a raw endpoint and no tool", d.Ref()))
	}
	var out json.RawMessage
	if err := c.Call(ctx, d.Ref(), input, &out); err != nil {
		return Failure(err)
	}
	if b, ok := bytesOf(d, out); ok {
		return success(contentOf(b))
	}
	s, err := text.Result(d, out, kernelcontract.Render{})
	if err != nil {
		return Failure(err)
	}
	return success(TextContent(s))
}

func success(c Content) Result { return Result{Success: true, Content: []Content{c}} }

// Failure returns the result that tells of err, followed by what came before it.
func Failure(err error, before ...Content) Result {
	r := Result{Content: []Content{TextContent(text.Error(kernelcontract.AsError(err), kernelcontract.Render{}))}}
	r.Content = append(r.Content, before...)
	return r
}

// bytesOf returns a result that is a file.
func bytesOf(d *kernelcontract.MethodDef, raw json.RawMessage) (b kernelcontract.Bytes, ok bool) {
	out, err := d.Output()
	if err != nil || !out.IsBytes() || string(raw) == "null" {
		return b, false
	}
	return b, json.Unmarshal(raw, &b) == nil
}

// contentOf hands out images as such and readable text; everything else is only named.
func contentOf(b kernelcontract.Bytes) Content {
	mimeType, _, err := mime.ParseMediaType(b.MIMEType)
	switch {
	case err != nil:
	case strings.HasPrefix(mimeType, "image/"):
		return Content{MIMEType: mimeType, Base64: base64.StdEncoding.EncodeToString(b.Data)}
	case strings.HasPrefix(mimeType, "text/") && utf8.Valid(b.Data):
		return TextContent(text.Strip(string(b.Data)))
	}
	return TextContent(text.Strip(text.Size(b.MIMEType, len(b.Data))))
}

// errStreamTime is the cause of the end of a stream that lasted too long.
var errStreamTime = errors.New("the time of the tool is over")

func runStream(ctx context.Context, c kernelcontract.Caller, d *kernelcontract.MethodDef, input json.RawMessage) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxStreamTime, errStreamTime)
	defer cancel()
	var items transcript
	for ev, err := range c.Open(ctx, d.Ref(), input, "") {
		switch {
		case err != nil && errors.Is(context.Cause(ctx), errStreamTime):
			return items.result("Stopped after " + MaxStreamTime.Round(time.Second).String())
		case err != nil:
			return Failure(err, items.content()...)
		}
		s, err := text.Result(d, ev.Item, kernelcontract.Render{})
		if err != nil {
			return Failure(err, items.content()...)
		}
		if !items.add(s, ev.Cursor) {
			return items.result("Stopped at " + strconv.Itoa(MaxStreamBytes>>10) + " KiB")
		}
	}
	return items.result("End of the stream")
}

// closingRoom is left for the line that says why the text ends and names a cursor, each after a line feed.
const closingRoom = kernelcontract.MaxCursor + 64

// transcript joins the items of a stream within MaxStreamBytes.
type transcript struct {
	b      strings.Builder
	n      int
	cursor string // of the last item that is whole
}

// add takes an item; it reports false when there is no more room. Of a first item that is too large the beginning is
// taken.
func (t *transcript) add(s, cursor string) bool {
	room := MaxStreamBytes - closingRoom - t.b.Len()
	if len(s) > room {
		if t.n == 0 {
			t.b.WriteString(clip.Bytes(s, room))
			t.n++
		}
		return false
	}
	if t.n > 0 {
		t.b.WriteByte('\n')
	}
	t.b.WriteString(s)
	t.n++
	if cursor != "" {
		t.cursor = cursor
	}
	return true
}

func (t *transcript) content() []Content {
	if t.n == 0 {
		return nil
	}
	return []Content{TextContent(t.b.String())}
}

// result ends the text with a line that says why it ends, and where to go on.
func (t *transcript) result(why string) Result {
	switch {
	case t.cursor != "":
		why += ", cursor " + t.cursor
	case t.n == 0:
		why += ", no items"
	}
	s := "[" + why + "]"
	if t.n > 0 {
		s = t.b.String() + "\n" + s
	}
	return success(TextContent(s))
}

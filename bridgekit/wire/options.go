package wire

import (
	"context"
	"encoding/json"
	"time"
)

// Options says what a Peer does with what arrives. The zero value answers nothing and drops quietly. Request, Notify and
// the Tee of what was read are called on the goroutine that reads, one after the other in the order of the wire; none of
// them may wait for a Call of the same Peer, whose answer only that goroutine can read. Their context ends with that of
// Run and with Close. A panic in one of them is recovered and reported to Dropped.
type Options struct {
	// Request takes a request; it must return soon, and the answer is given by Reply or Fail, then or later. nil: every
	// request is answered with CodeNoMethod.
	Request func(ctx context.Context, r *Request)
	// Notify takes a notification, which is its own to keep. While it runs nothing is read: that is how a slow receiver
	// holds the sender back.
	Notify func(ctx context.Context, n Notification)
	// Dropped learns of each dropped line. It is called on the goroutine that reads, or where a reply is written.
	Dropped func(err *DroppedError)
	// Tee sees each line as it crosses, without its end: what is sent in the order in which it is written, before the
	// receiver has all of it, and not when its write ended before the first byte; what is received, junk included and over-long lines excepted, before it is handled. The line is valid until Tee
	// returns. It may be called for both directions at the same time.
	Tee func(sent bool, line []byte)
	// MaxLine is the limit of a line in both directions; 0 means the constant of that name.
	MaxLine int
	// WriteTimeout ends the connection with ErrStalled when the other side takes nothing for so long. 0 is no limit:
	// writes wait until their context ends or Close. It needs a writer with SetWriteDeadline, such as a pipe of os.
	WriteTimeout time.Duration
}

// Notification is a message that is not answered.
type Notification struct {
	Method string
	Params json.RawMessage // an object, or nil when there are none
}

package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/sdk"
)

// Whatever way a resumable stream breaks, every item comes once and in order.
func TestResume(t *testing.T) {
	failureFrame := func(code string, retryable bool) string {
		return fmt.Sprintf("event: error\ndata: {\"ok\":false,\"error\":{\"code\":%q,\"message\":\"m\",\"retryable\":%t}}\n\n", code, retryable)
	}
	tests := []struct {
		name  string
		parts []string // what each connection sends before it is cut
		since []string // the cursor with which each connection is asked for
	}{
		{"cut between items", []string{": open\n\n" + item("1") + item("2"), item("3") + end}, []string{"", "2"}},
		{"cut before the first item", []string{": open\n\n", item("1") + item("2") + item("3") + end}, []string{"", ""}},
		{"cut inside an item after its id", []string{item("1") + "id: 2\nevent: item\ndata: {\"id\":\"2\"", item("2") + item("3") + end}, []string{"", "1"}},
		{"cut before the blank line", []string{item("1") + strings.TrimSuffix(item("2"), "\n"), item("2") + item("3") + end}, []string{"", "1"}},
		{"cut inside a character", []string{item("1") + "id: 2\nevent: item\ndata: {\"id\":\"2\",\"text\":\"\xe2\x82", item("2") + item("3") + end}, []string{"", "1"}},
		{"CRLF", []string{strings.ReplaceAll(item("1")+item("2"), "\n", "\r\n"), strings.ReplaceAll(item("3")+end, "\n", "\r\n")}, []string{"", "2"}},
		{"CR only", []string{strings.ReplaceAll(item("1")+item("2"), "\n", "\r"), strings.ReplaceAll(item("3")+end, "\n", "\r")}, []string{"", "2"}},
		{"byte order mark", []string{"\uFEFF" + item("1") + item("2"), "\uFEFF" + item("3") + end}, []string{"", "2"}},
		{"the kernel drains", []string{item("1") + failureFrame("service_unavailable", false), item("2") + item("3") + end}, []string{"", "1"}},
		{"a retryable error", []string{item("1") + failureFrame("busy", true), item("2") + item("3") + end}, []string{"", "1"}},
		{"the cursor taken as inclusive", []string{item("1") + item("2"), item("2") + item("3") + end}, []string{"", "2"}},
		{"an id alone moves the cursor", []string{item("1") + item("2") + "id: 2b\n\n", item("3") + end}, []string{"", "2b"}},
		{"unknown events are passed over", []string{item("1") + "event: progress\ndata: 50%\n\n" + item("2"), item("3") + end}, []string{"", "2"}},
		{"three breaks", []string{item("1"), item("2"), item("3"), end}, []string{"", "1", "2", "3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				var since []string
				client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
					since = append(since, r.Header.Get("Last-Event-ID"))
					fmt.Fprint(conn, streamHead+tt.parts[n])
				})
				defer stop()
				ids, err := collect(follow.Stream(t.Context(), client, struct{}{}))
				is.NoErr(err)
				is.Equal(ids, []string{"1", "2", "3"}) // no gap, no repeat
				is.Equal(since, tt.since)
			})
		})
	}
}

// An error frame other than service_unavailable and the retryable ones ends the stream with that error.
func TestErrorFrameEnds(t *testing.T) {
	for _, code := range []kernelcontract.Code{kernelcontract.NotFound, kernelcontract.Precondition, kernelcontract.Internal, muted} {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			connections := 0
			client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
				connections++
				fmt.Fprintf(conn, "%s%sevent: error\ndata: {\"ok\":false,\"error\":{\"code\":%q,\"message\":\"m\",\"details\":{\"n\":9007199254740993},\"retryable\":false}}\n\n", streamHead, item("1"), code)
			})
			defer stop()
			ids, err := collect(follow.Stream(t.Context(), client, struct{}{}))
			is.True(errors.Is(err, code))
			is.Equal(kernelcontract.AsError(err).CallID, "call-1")
			is.Equal(fmt.Sprint(kernelcontract.AsError(err).Details["n"]), "9007199254740993") // exact
			is.Equal(ids, []string{"1"})
			is.Equal(connections, 1)
		})
	}
}

// What goes wrong on the way back decides whether it is tried again.
func TestReopenErrors(t *testing.T) {
	tests := []struct {
		name, status, body string
		want               kernelcontract.Code // "" is tried again
	}{
		{"draining", "503 Service Unavailable", `{"ok":false,"error":{"code":"service_unavailable","message":"m","retryable":false}}`, ""},
		{"a proxy without its server", "502 Bad Gateway", "<html>", ""},
		{"expired cursor", "412 Precondition Failed", `{"ok":false,"error":{"code":"precondition","message":"m","retryable":false}}`, kernelcontract.Precondition},
		{"revoked token", "401 Unauthorized", `{"ok":false,"error":{"code":"unauthenticated","message":"m","retryable":false}}`, kernelcontract.Unauthenticated},
		{"removed method", "404 Not Found", `{"ok":false,"error":{"code":"not_found","message":"m","retryable":false}}`, kernelcontract.NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
					switch n {
					case 0:
						fmt.Fprint(conn, streamHead+item("1"))
					case 1:
						typ := "application/json"
						if tt.body == "<html>" {
							typ = "text/html"
						}
						fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Type: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", tt.status, typ, len(tt.body), tt.body)
					default:
						fmt.Fprint(conn, streamHead+end)
					}
				})
				defer stop()
				_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
				is.Equal(kernelcontract.CodeOf(err), tt.want)
			})
		})
	}
}

// A stream that cannot be opened in the first place fails at once: there is nothing to resume.
func TestFirstOpenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) { unavailable(conn) })
		start := time.Now()
		_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
		is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
		is.Equal(kernelcontract.AsError(err).Message, "the kernel is draining")
		is.Equal(time.Since(start), 0*time.Second)

		stop()
		_, err = collect(follow.Stream(t.Context(), client, struct{}{}))
		var unreachable *sdk.UnreachableError
		is.True(errors.As(err, &unreachable))
		is.Equal(time.Since(start), 0*time.Second)
	})
}

// Streams without cursors are not resumed; nor is one whose items carry none or no new one, because an item would come
// twice.
func TestNotResumable(t *testing.T) {
	noID := "event: item\ndata: {\"id\":\"x\"}\n\n"
	tests := []struct {
		name   string
		stream *kernelcontract.Stream[struct{}, note]
		sent   string
		ids    int
	}{
		{"a method without cursors", tail, noID + noID, 2},
		{"a method without cursors that sends ids", tail, item("1"), 1},
		{"an item without a cursor", follow, noID, 1},
		{"an item with the cursor of the one before", follow, item("1") + noID, 2},
		{"a cursor that no header carries", follow, item("grün"), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				connections := 0
				client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
					connections++
					fmt.Fprint(conn, streamHead+tt.sent)
				})
				defer stop()
				ids, err := collect(tt.stream.Stream(t.Context(), client, struct{}{}))
				is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
				is.Equal(len(ids), tt.ids)
				is.Equal(connections, 1)
			})
		})
	}
}

// Pauses grow from 0.2 s to 5 s and the client gives up after 60 s without success.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var at []time.Time
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			at = append(at, time.Now())
			if n == 0 {
				fmt.Fprint(conn, streamHead+item("1"))
				return
			}
			unavailable(conn)
		})
		defer stop()
		_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
		is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
		is.True(strings.Contains(err.Error(), "the kernel is draining")) // says why
		total := time.Since(at[0])
		is.True(total <= sdk.GiveUp && total > sdk.GiveUp-2*sdk.MaxPause)
		want := sdk.MinPause
		for i := 1; i < len(at); i++ {
			pause := at[i].Sub(at[i-1])
			is.True(pause >= min(want, sdk.MaxPause) && pause <= sdk.MaxPause) // grows, within the bounds
			want *= 2
		}
		is.Equal(at[len(at)-1].Sub(at[len(at)-2]), sdk.MaxPause)
	})
}

func TestRetryIsHonoured(t *testing.T) {
	for sent, want := range map[string]time.Duration{
		"retry: 1000\n\n":  time.Second,
		"retry: 0\n\n":     sdk.MinPause, // never faster
		"retry: 60000\n\n": sdk.MaxPause, // never slower
		"retry: soon\n\n":  sdk.MinPause,
	} {
		t.Run(strings.TrimSpace(sent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				var at []time.Time
				client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
					at = append(at, time.Now())
					fmt.Fprint(conn, streamHead+sent+item(fmt.Sprint(n)))
					if n == 1 {
						fmt.Fprint(conn, end)
					}
				})
				defer stop()
				_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
				is.NoErr(err)
				pause := at[1].Sub(at[0])
				is.True(pause >= want && pause <= max(want+want/4, want)) // with its jitter
			})
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var at []time.Time
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			at = append(at, time.Now())
			switch n {
			case 0:
				fmt.Fprint(conn, streamHead+item("1"))
			case 1:
				fmt.Fprint(conn, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			default:
				fmt.Fprint(conn, streamHead+end)
			}
		})
		defer stop()
		_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
		is.NoErr(err)
		is.True(at[2].Sub(at[1]) >= 3*time.Second)
	})
}

// A stream that opens and is cut at once each time is not a success: its client gives up as well.
func TestFlappingGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) { fmt.Fprint(conn, streamHead+": open\n\n") })
		defer stop()
		start := time.Now()
		_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
		is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
		is.True(time.Since(start) <= sdk.GiveUp)
	})
}

// A stream that a proxy cuts again and again while nothing happens goes on for as long as it takes.
func TestIdleCutsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		const cuts = 50
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			fmt.Fprint(conn, streamHead+": open\n\n")
			time.Sleep(30 * time.Second) // of the fake clock
			if n == cuts {
				fmt.Fprint(conn, item("1")+end)
			}
		})
		defer stop()
		ids, err := collect(follow.Stream(t.Context(), client, struct{}{}))
		is.NoErr(err)
		is.Equal(ids, []string{"1"})
	})
}

// A connection on which nothing comes, no heartbeat either, is dead: the stream is resumed on another one.
func TestSilenceIsABreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		start := time.Now()
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			if n == 0 {
				fmt.Fprint(conn, streamHead+item("1"))
				time.Sleep(sdk.Silence - time.Second)
				fmt.Fprint(conn, ":\n\n") // a heartbeat in time
				io.Copy(io.Discard, conn) // until the client leaves
				return
			}
			fmt.Fprint(conn, streamHead+item("2")+end)
		})
		defer stop()
		ids, err := collect(follow.Stream(t.Context(), client, struct{}{}))
		is.NoErr(err)
		is.Equal(ids, []string{"1", "2"})
		is.True(time.Since(start) >= 2*sdk.Silence-time.Second && time.Since(start) < 2*sdk.Silence+sdk.MaxPause)
	})
}

// A slow consumer is not a dead connection.
func TestSlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			fmt.Fprint(conn, streamHead+item("1"))
			fmt.Fprint(conn, item("2"))
			fmt.Fprint(conn, end)
		})
		defer stop()
		n := 0
		for _, err := range follow.Stream(t.Context(), client, struct{}{}) {
			is.NoErr(err)
			time.Sleep(10 * sdk.Silence)
			n++
		}
		is.Equal(n, 2)
	})
}

// An attempt to come back that hangs does not outlast the time to give up.
func TestReopenHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			if n == 0 {
				fmt.Fprint(conn, streamHead+item("1"))
				return
			}
			io.Copy(io.Discard, conn)
		})
		defer stop()
		start := time.Now()
		_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
		is.True(errors.Is(err, kernelcontract.ServiceUnavailable))
		is.True(time.Since(start) <= sdk.GiveUp+time.Second)
	})
}

func TestCancelStream(t *testing.T) {
	t.Run("while it is open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			closed := make(chan struct{})
			client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
				fmt.Fprint(conn, streamHead+item("1"))
				io.Copy(io.Discard, conn)
				close(closed) // the client's leaving reaches the server
			})
			defer stop()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for _, err := range follow.Stream(ctx, client, struct{}{}) {
				last = err
				cancel()
			}
			is.True(errors.Is(last, kernelcontract.Cancelled))
			is.True(errors.Is(last, context.Canceled))
			<-closed
		})
	})
	t.Run("by leaving the loop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			closed := make(chan struct{})
			client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
				fmt.Fprint(conn, streamHead+item("1"))
				io.Copy(io.Discard, conn)
				close(closed)
			})
			defer stop()
			for range follow.Stream(t.Context(), client, struct{}{}) {
				break
			}
			<-closed
		})
	})
	t.Run("during a pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
				if n == 0 {
					fmt.Fprint(conn, streamHead+item("1"))
					return
				}
				unavailable(conn)
			})
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			start := time.Now()
			_, err := collect(follow.Stream(ctx, client, struct{}{}))
			is.True(errors.Is(err, kernelcontract.Timeout))
			is.True(errors.Is(err, context.DeadlineExceeded))
			is.Equal(time.Since(start), 10*time.Second)
		})
	})
}

// Each range over the sequence is a stream of its own, from where the caller said.
func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var since []string
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			since = append(since, r.Header.Get("Last-Event-ID"))
			fmt.Fprint(conn, streamHead+item("42")+end)
		})
		defer stop()
		events := follow.Events(t.Context(), client, struct{}{}, "41")
		for range 2 {
			for ev, err := range events {
				is.NoErr(err)
				is.Equal(ev, kernelcontract.Event[note]{Cursor: "42", Item: note{ID: "42"}})
			}
		}
		is.Equal(since, []string{"41", "41"})

		for _, err := range follow.Events(t.Context(), client, struct{}{}, "a\nb") {
			is.True(errors.Is(err, kernelcontract.InvalidInput)) // no header carries it
		}
		is.Equal(len(since), 2)
	})
}

func TestTextFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var opened []sdk.Answer
		client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
			if got := r.Header.Get("Bb-Render"); got != "text; width=100; color=1; tty=0" {
				t.Error(got)
			}
			fmt.Fprint(conn, streamHead)
			if n == 0 {
				fmt.Fprint(conn, "id: 1\nevent: item\ndata: {\"seq\":0,\"text\":\"one\\nline\"}\n\n")
			} else {
				fmt.Fprint(conn, "id: 2\nevent: item\ndata: {\"seq\":0,\"text\":\"two\"}\n\n", end)
			}
		})
		defer stop()
		sig := kernelcontract.Signature{Ref: follow.Ref, Kind: kernelcontract.KindStream, Resumable: true}
		var got []string
		for f, err := range client.Follow(t.Context(), sdk.Request{Signature: sig, Render: &kernelcontract.Render{Width: 100, Color: true},
			OnOpen: func(a sdk.Answer) { opened = append(opened, a) }}) {
			is.NoErr(err)
			is.Equal(f.Item, nil)
			got = append(got, f.Cursor+" "+f.Text)
		}
		is.Equal(got, []string{"1 one\nline", "2 two"})
		is.Equal(len(opened), 2)
		is.Equal(opened[0], sdk.Answer{Status: 200, CallID: "call-1", ServerID: "server-1", Generation: 7, MIMEType: "text/event-stream"})
	})
}

// What is not an event stream, or not an item, ends the stream with an error that says so.
func TestBadStreams(t *testing.T) {
	tests := []struct {
		name, answer string
		want         kernelcontract.Code
	}{
		{"not an event stream", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", kernelcontract.ServiceUnavailable},
		{"an item that is not JSON", streamHead + "id: 1\nevent: item\ndata: {\"id\"\n\n", kernelcontract.Internal},
		{"an item of another type", streamHead + "id: 1\nevent: item\ndata: [1]\n\n", kernelcontract.Internal},
		{"an error frame without a failure", streamHead + "event: error\ndata: oops\n\n", kernelcontract.Internal},
		{"an item without end", streamHead + "data: " + strings.Repeat("x", sdk.MaxFrame+1), kernelcontract.Internal},
		{"a redirect", "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n", kernelcontract.ServiceUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				connections := 0
				client, stop := misbehave(t, func(n int, r *http.Request, conn net.Conn) {
					connections++
					fmt.Fprint(conn, tt.answer)
				})
				defer stop()
				_, err := collect(follow.Stream(t.Context(), client, struct{}{}))
				is.Equal(kernelcontract.CodeOf(err), tt.want)
				is.Equal(connections, 1)
			})
		})
	}
}

package threads_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/threads"
	"github.com/bb-kernel/bb/pluginsdk/bridge"
)

// BenchmarkDeltaToFrame measures the way of a piece of text from the agent, through its bridge's pipe, the grammar, the
// assembler and the store, to a client that reads server-sent events: ten threads with a hundred pieces a second each. The
// baseline is the same pace over a bare handler that flushes each piece, from one process.
func BenchmarkDeltaToFrame(b *testing.B) {
	b.Run("baseline=handler", func(b *testing.B) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("n"))
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for range n {
				<-tick.C
				fmt.Fprintf(w, "data: {\"type\":\"item.text\",\"payload\":{\"text\":%q}}\n\n", strconv.FormatInt(time.Now().UnixNano(), 10))
				w.(http.Flusher).Flush()
			}
			fmt.Fprint(w, "data: {\"type\":\"turn.completed\"}\n\n")
		}))
		defer s.Close()
		measure(b, func(int) string { return s.URL + "/?n=" + strconv.Itoa(b.N) }, func(int) {})
	})
	b.Run("threads", func(b *testing.B) {
		is := is.New(b)
		dir := b.TempDir()
		st, err := sqlitestore.Open(b.Context(), dir, sqlitestore.Options{})
		is.NoErr(err)
		k, err := kernelcore.New(kernelcore.Options{Plugins: append(threads.Plugins(threads.Options{}), puppets(bridge.ProviderHooks{})), Store: st, DataDir: dir})
		is.NoErr(err)
		defer k.Close()
		s := httptest.NewServer(k.Handler())
		defer s.Close()
		c := k.As(user)
		var ids []string
		for range paced {
			th, err := threadapi.Create.Call(b.Context(), c, threadapi.CreateInput{ProviderID: "puppet", Cwd: dir, Permission: threadapi.AcceptEdits, Escalation: threadapi.Ask})
			is.NoErr(err)
			ids = append(ids, th.ID)
		}
		measure(b, func(i int) string { return s.URL + "/api/v1/threads/threads/events?follow=true&thread=" + ids[i] }, func(i int) {
			_, err := threadapi.Send.Call(b.Context(), c, threadapi.SendInput{Thread: ids[i], Input: []threadapi.Part{threadapi.Text("pace " + strconv.Itoa(b.N))}})
			is.NoErr(err)
		})
	})
}

// paced is how many streams run at once.
const paced = 10

// measure follows streams until their turns end, and reports how old pieces are when they are read.
func measure(b *testing.B, url func(int) string, begin func(int)) {
	b.ReportAllocs()
	b.ResetTimer()
	var mu sync.Mutex
	var ages []time.Duration
	var wait sync.WaitGroup
	for i := range paced {
		wait.Go(func() {
			r, err := http.Get(url(i))
			if err != nil {
				b.Error(err)
				return
			}
			defer r.Body.Close()
			begin(i)
			mine := follow(b, r.Body)
			mu.Lock()
			defer mu.Unlock()
			ages = append(ages, mine...)
		})
	}
	wait.Wait()
	b.StopTimer()
	if len(ages) != paced*b.N {
		b.Fatalf("%d pieces of %d", len(ages), paced*b.N)
	}
	slices.Sort(ages)
	b.ReportMetric(float64(ages[len(ages)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(ages[len(ages)*99/100].Microseconds()), "p99-µs")
}

func follow(b *testing.B, body io.Reader) (ages []time.Duration) {
	in := bufio.NewReader(body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			b.Error(err)
			return ages
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type    string
			Payload struct{ Text string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			b.Error(err)
			return ages
		}
		switch e.Type {
		case "item.text":
			sent, _ := strconv.ParseInt(e.Payload.Text, 10, 64)
			ages = append(ages, time.Since(time.Unix(0, sent)))
		case "turn.completed":
			return ages
		}
	}
}

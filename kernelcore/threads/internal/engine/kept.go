package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/bb-kernel/bb/bridgekit/protocol"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/timeline"
)

// The buckets of the store. Those with a thread's id behind them belong to it and go with it.
const (
	threadsBucket    = "threads"              // id → keptThread
	activeBucket     = "threads-active"       // ids of threads that are not idle, so that a start finds them at once
	turnsBucket      = "turns/"               // turn id → keptTurn
	requestsBucket   = "requests/"            // client request id → turn id
	asksBucket       = "interactions"         // id → keptInteraction
	discardsBucket   = "threads-discarded"    // ids of threads of which something may be left
	pendingBucket    = "interactions-pending" // ids of those that wait
	threadAsksBucket = "interactions/"        // ids of those of a thread
)

// keptThread is a thread as the store has it.
type keptThread struct {
	threadapi.Thread
	TitleGiven       bool                    `json:"titleGiven"` // by a person, so that the agent's does not replace it
	Instructions     string                  `json:"instructions"`
	ProviderThreadID string                  `json:"providerThreadId"` // "" before the first session
	Restorable       bool                    `json:"restorable"`
	ProviderOptions  protocol.JSONObject     `json:"providerOptions"`
	Grants           []protocol.GrantProfile `json:"grants"` // what was allowed for the session
	Usage            protocol.TokenBreakdown `json:"usage"`
	Queue            []string                `json:"queue"` // turns that wait here, in their order
	Sent             []string                `json:"sent"`  // turns that the agent was asked for, or began, and that have not settled
	LastTurn         string                  `json:"lastTurn"`
}

// keptTurn is a turn as the store has it. What was to be sent is dropped once it has ended.
type keptTurn struct {
	threadapi.Turn
	Input   protocol.Inputs   `json:"input,omitempty"`
	Actions []protocol.Action `json:"actions,omitempty"`
	Steers  bool              `json:"steers,omitempty"`  // it was meant for the turn that was open
	Retried bool              `json:"retried,omitempty"` // sent again after a recovery

	sentAt time.Time // when the agent was asked; zero before
	native bool      // it was given to the open turn, and has none of its own
	warned bool      // that it does not begin
}

// keptInteraction is an interaction as the store has it.
type keptInteraction struct {
	threadapi.Interaction
}

// record encodes a value for a key; what this package keeps can always be encoded.
func record(bucket, key string, v any) timeline.Record {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("engine: impossible: %T does not encode: %v", v, err))
	}
	return timeline.Record{Bucket: bucket, Key: key, Value: raw}
}

// mark is a record whose key says all.
func mark(bucket, key string) timeline.Record {
	return timeline.Record{Bucket: bucket, Key: key, Value: []byte("{}")}
}

func unmark(bucket, key string) timeline.Record { return timeline.Record{Bucket: bucket, Key: key} }

// read decodes the value of a key into v. The error is store.ErrNotFound when there is none.
func read(tx store.Tx, bucket, key string, v any) error {
	raw, err := tx.Get(bucket, key)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("the record %s %q is damaged: %w", bucket, key, err)
	}
	return nil
}

// keys returns the keys of a bucket.
func keys(tx store.Tx, bucket string) ([]string, error) {
	var all []string
	for e, err := range tx.Range(bucket, store.Range{}) {
		if err != nil {
			return nil, err
		}
		all = append(all, e.Key)
	}
	return all, nil
}

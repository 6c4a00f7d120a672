package abi_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/pluginsdk/bundle/abi"
)

func TestFrame(t *testing.T) {
	is := is.New(t)
	_, err := abi.Append(nil, abi.Call{Prefix: strings.Repeat("x", abi.MaxHeader)}, nil)
	is.True(err != nil) // a header over the limit
	for _, bad := range [][]byte{nil, {1, 0, 0}, {1, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff, '{', '}'}, {2, 0, 0, 0, '{', ']'}} {
		var c abi.Call
		_, err := abi.Split(bad, &c)
		is.True(err != nil)
	}
}

func FuzzSplit(f *testing.F) {
	frame, _ := abi.Append(nil, abi.Request{Kind: abi.HTTP, Headers: map[string]string{"a": "b"}}, []byte("body"))
	f.Add(frame)
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r abi.Request
		body, err := abi.Split(raw, &r)
		if err != nil {
			return
		}
		again, err := abi.Append(nil, r, body)
		if err != nil {
			t.Fatal(err)
		}
		var r2 abi.Request
		body2, err := abi.Split(again, &r2)
		if err != nil || !bytes.Equal(body, body2) {
			t.Fatalf("%q became %q: %v", raw, again, err)
		}
	})
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		call abi.Call
		body string
		ok   bool
	}{
		"a key":                     {abi.Call{Op: abi.KVGet, Key: "../a:b"}, "", true},
		"no key":                    {abi.Call{Op: abi.KVGet}, "", false},
		"a long key":                {abi.Call{Op: abi.KVDelete, Key: strings.Repeat("k", abi.MaxKey+1)}, "", false},
		"a zero byte":               {abi.Call{Op: abi.KVGet, Key: "a\x00b"}, "", false},
		"a value":                   {abi.Call{Op: abi.KVPut, Key: "k"}, "1", true},
		"a value that is no JSON":   {abi.Call{Op: abi.KVPut, Key: "k"}, "x", false},
		"a long value":              {abi.Call{Op: abi.KVPut, Key: "k"}, `"` + strings.Repeat("v", abi.MaxValue) + `"`, false},
		"a long prefix":             {abi.Call{Op: abi.KVList, Prefix: strings.Repeat("k", abi.MaxKey+1)}, "", false},
		"an event":                  {abi.Call{Op: abi.ChannelBroadcast}, `{"type":"state_event"}`, true},
		"an event of one's own":     {abi.Call{Op: abi.ChannelGlobal}, `{"type":"x-mine"}`, true},
		"an event of the host":      {abi.Call{Op: abi.ChannelGlobal}, `{"type":"bundle_disabled"}`, false},
		"an event of no type":       {abi.Call{Op: abi.SpineBroadcast}, `{}`, false},
		"a long event":              {abi.Call{Op: abi.SpineBroadcast}, `{"type":"x-a","data":"` + strings.Repeat("v", abi.MaxEvent) + `"}`, false},
		"an entry":                  {abi.Call{Op: abi.SpineAppend}, `{}`, true},
		"an entry that is no JSON":  {abi.Call{Op: abi.SpineAppend}, `{`, false},
		"a long entry":              {abi.Call{Op: abi.SpineAppend}, `"` + strings.Repeat("v", abi.MaxEntry) + `"`, false},
		"a cost":                    {abi.Call{Op: abi.CostEmit}, `{"amount":0.5,"currency":"USD"}`, true},
		"a cost below zero":         {abi.Call{Op: abi.CostEmit}, `{"amount":-1,"currency":"USD"}`, false},
		"a cost that is not finite": {abi.Call{Op: abi.CostEmit}, `{"amount":1e999,"currency":"USD"}`, false},
		"a currency in words":       {abi.Call{Op: abi.CostEmit}, `{"amount":1,"currency":"usd"}`, false},
		"an unknown operation":      {abi.Call{Op: "kv.drop"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			e := c.call.Check([]byte(c.body))
			is.Equal(e == nil, c.ok)
			if e != nil {
				is.True(errors.Is(e, abi.InvalidArgument))
			}
		})
	}
}

package token_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcore/token"
)

func TestMintAndParse(t *testing.T) {
	is := is.New(t)
	seen := map[string]bool{}
	for _, kind := range []token.Kind{token.User, token.Host, token.Session} {
		for range 100 {
			secret, hash := token.Mint(kind)
			is.True(!seen[secret])
			seen[secret] = true
			is.True(strings.HasPrefix(secret, string(kind)))
			random, err := base64.RawURLEncoding.DecodeString(secret[4:])
			is.NoErr(err)
			is.Equal(len(random), 32)
			got, parsed, err := token.Parse(secret)
			is.NoErr(err)
			is.Equal(got, kind)
			is.True(parsed.Equal(hash))
		}
	}
}

func TestParseIsStrict(t *testing.T) {
	secret, hash := token.Mint(token.User)
	for _, bad := range []string{
		"", "bbt_", secret[1:], secret[:46], secret + "A", secret + "=", " " + secret, secret + "\n",
		"BBT_" + secret[4:], "bbx_" + secret[4:], "bbt-" + secret[4:],
		secret[:46] + "+", secret[:46] + "/", secret[:20] + "\n" + secret[21:], secret[:20] + " " + secret[21:],
		secret[:46] + "B", // bits beyond the last byte: another spelling of one secret
	} {
		kind, h, err := token.Parse(bad)
		if !errors.Is(err, token.ErrMalformed) || kind != "" || h != (token.Hash{}) {
			t.Errorf("%q: %q, %v", bad, kind, err)
		}
	}
	if _, h, err := token.Parse("bbh_" + secret[4:]); err != nil || h.Equal(hash) {
		t.Error("a secret of one kind is none of another")
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range []token.Kind{token.User, token.Host, token.Session} {
		secret, _ := token.Mint(kind)
		f.Add(secret)
		f.Add(secret[:46])
	}
	f.Fuzz(func(t *testing.T, s string) {
		kind, _, err := token.Parse(s)
		if err != nil {
			return
		}
		random, err := base64.RawURLEncoding.DecodeString(s[4:])
		if err != nil || string(kind)+base64.RawURLEncoding.EncodeToString(random) != s {
			t.Errorf("%q is not how it is written", s)
		}
	})
}

func TestHashText(t *testing.T) {
	is := is.New(t)
	_, hash := token.Mint(token.User)
	text, err := hash.MarshalText()
	is.NoErr(err)
	var got token.Hash
	is.NoErr(got.UnmarshalText(text))
	is.True(got.Equal(hash))
	is.True(got.UnmarshalText(text[1:]) != nil)
	is.True(got.UnmarshalText([]byte(strings.Repeat("x", 64))) != nil)
	other := hash
	other[31] ^= 1
	is.True(!other.Equal(hash))
}

func BenchmarkParse(b *testing.B) {
	secret, _ := token.Mint(token.User)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := token.Parse(secret); err != nil {
			b.Fatal(err)
		}
	}
}

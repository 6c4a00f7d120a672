// Package token keeps the credentials of a server: tokens of people and programs (bbt_), keys of
// hosts (bbh_), and secrets of bridge sessions (bbs_).
//
// A secret is shown once, when it is made. What is kept is its SHA-256, in a store.Store for tokens
// and hosts, in memory only for sessions. Looking a secret up asks memory, never the store, so that
// it costs next to nothing on each request; each lookup also gives a channel that is closed when the
// credential ends, so that what it opened can end with it. The rules are docs/spec/principals.md.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/bb-kernel/bb/kernelcontract/evidence"
)

// Kind says what a secret is for. It is the first part of its text.
type Kind string

// The kinds of secrets.
const (
	User    Kind = evidence.TokenPrefix   // a token: a person or a program
	Host    Kind = evidence.HostPrefix    // the key of an enrolled host
	Session Kind = evidence.SessionPrefix // a bridge session, for as long as it lives
)

const (
	secretBytes = 32 // random ones: nobody guesses 256 bits
	kindLength  = len(User)
)

// encoding is that of the random part. It is strict, so that each secret has one spelling.
var encoding = base64.RawURLEncoding.Strict()

// secretLength is that of each secret's text.
var secretLength = kindLength + encoding.EncodedLen(secretBytes)

// Hash is the SHA-256 of a secret's text. It is no secret itself: nobody finds the secret from it.
type Hash [sha256.Size]byte

// Mint makes a new secret. The text is for whoever it is for and nobody else; the hash is for us.
func Mint(kind Kind) (secret string, hash Hash) {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails
	secret = string(kind) + encoding.EncodeToString(random)
	return secret, sha256.Sum256([]byte(secret))
}

// Parse returns the kind and the hash of a secret. What Mint could not have made is [ErrMalformed];
// the error does not repeat it.
func Parse(secret string) (Kind, Hash, error) {
	if len(secret) != secretLength {
		return "", Hash{}, ErrMalformed
	}
	kind := Kind(secret[:kindLength])
	switch kind {
	case User, Host, Session:
	default:
		return "", Hash{}, ErrMalformed
	}
	var random [secretBytes]byte
	if n, err := encoding.Decode(random[:], []byte(secret[kindLength:])); err != nil || n != secretBytes {
		return "", Hash{}, ErrMalformed
	}
	return kind, sha256.Sum256([]byte(secret)), nil
}

// Equal compares in constant time.
func (h Hash) Equal(other Hash) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

// MarshalText implements encoding.TextMarshaler: hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("token: a hash has %d hexadecimal digits, not %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

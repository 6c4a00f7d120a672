// Package seal encrypts secrets at rest. A Box seals bytes under a name with AES-256-GCM and a key
// that lies in a file beside the data, readable by its user only: a copy of the database alone gives
// no secret away. The rules are docs/spec/store.md.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Errors of [Box.Open]. Ask for them with errors.Is; the error that has them names the secret.
var (
	// ErrKey says that something was sealed with another key.
	ErrKey = errors.New("it was sealed with another key")
	// ErrDamaged says that something is not what Seal returned for that name.
	ErrDamaged = errors.New("it is damaged, or was sealed under another name")
)

// A sealed secret is a version, the name of its key, and what GCM makes of the rest: a random nonce,
// the encrypted bytes and the tag.
const (
	version  = 1
	keySize  = 32 // AES-256
	idSize   = 4  // tells keys apart, and two that look the same are still caught by the tag
	headSize = 1 + idSize
)

// Box seals and opens secrets with one key. It is safe for concurrent use.
type Box struct {
	head [headSize]byte
	aead cipher.AEAD
}

// Memory returns a Box with a new key that is kept nowhere.
func Memory() *Box { return newBox(newKey()) }

func newKey() (key [keySize]byte) {
	_, _ = rand.Read(key[:]) // never fails
	return key
}

func newBox(key [keySize]byte) *Box {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // only for a key of another size
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only for a cipher with blocks of another size
	}
	b := &Box{aead: aead}
	b.head[0] = version
	id := sha256.Sum256(append([]byte("seal key id "), key[:]...))
	copy(b.head[1:], id[:])
	return b
}

// Seal returns plain encrypted. Only Open with the same name and key gets it back, so that a sealed
// secret cannot be passed off as another one. Sealing the same twice gives different bytes.
func (b *Box) Seal(name string, plain []byte) []byte {
	sealed := append(make([]byte, 0, headSize+b.aead.Overhead()+len(plain)), b.head[:]...)
	return b.aead.Seal(sealed, nil, plain, b.additional(name))
}

// Open returns what was sealed under name. The error has [ErrKey] or [ErrDamaged].
func (b *Box) Open(name string, sealed []byte) ([]byte, error) {
	if len(sealed) < headSize || sealed[0] != version {
		return nil, openError(name, ErrDamaged)
	}
	if [headSize]byte(sealed) != b.head {
		return nil, openError(name, ErrKey)
	}
	plain, err := b.aead.Open(nil, nil, sealed[headSize:], b.additional(name))
	if err != nil {
		return nil, openError(name, ErrDamaged)
	}
	return plain, nil
}

// additional returns what is authenticated beside the secret itself.
func (b *Box) additional(name string) []byte {
	return append(b.head[:len(b.head):len(b.head)], name...)
}

func openError(name string, why error) error {
	return fmt.Errorf("seal: cannot open secret %q: %w: bring back the %s that belongs to this database, or set the secret again", name, why, KeyFile)
}

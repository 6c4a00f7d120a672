package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bb-kernel/bb/cli/internal/cache"
	"github.com/bb-kernel/bb/cli/internal/parse"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/sdk"
)

// credential is a stored token. It is sent to its origin only.
type credential struct {
	Origin string `json:"origin"`
	Token  string `json:"token"`
}

// originOf returns scheme, host and port of a server URL.
func originOf(server string) string {
	u, err := url.Parse(cache.Normalize(server))
	if err != nil {
		return server
	}
	return u.Scheme + "://" + u.Host
}

// credentialFile returns where the token of an origin is stored.
func (a *app) credentialFile(origin string) (string, error) {
	dir := a.o.ConfigDir
	if dir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(base, "bb")
	}
	sum := sha256.Sum256([]byte(origin))
	return filepath.Join(dir, "tokens", hex.EncodeToString(sum[:12])+".json"), nil
}

// token returns the stored token of the server, "" when there is none or the environment has one for it: the client reads
// that itself.
func (a *app) token() (string, error) {
	server := a.serverURL()
	if env := a.o.Env(sdk.EnvURL); a.o.Env(sdk.EnvToken) != "" && (env == "" || originOf(env) == originOf(server)) {
		return "", nil
	}
	file, err := a.credentialFile(originOf(server))
	if err != nil {
		return "", nil // no home, no token
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", kernelcontract.Unauthenticated.Errorf("the stored token cannot be read: %v", err)
	}
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", kernelcontract.Unauthenticated.Errorf("others can read the stored token: run `chmod 600 %s`, and revoke it if they may have", file)
	}
	var c credential
	if err := json.Unmarshal(raw, &c); err != nil || c.Origin != originOf(server) {
		return "", kernelcontract.Unauthenticated.Errorf("the stored token in %s is damaged: run `bb login`", file)
	}
	return c.Token, nil
}

// login answers `bb login`: it takes a token from standard input or a prompt, tries it, and stores it.
func (a *app) login(input json.RawMessage) int {
	var in struct {
		URL    string `json:"url"`
		Forget bool   `json:"forget"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return a.fail(asFailure("the input", err), false)
	}
	if in.URL != "" {
		a.globals.server = in.URL
	}
	origin := originOf(a.serverURL())
	file, err := a.credentialFile(origin)
	if err != nil {
		return a.fail(asFailure("the place for tokens", err), false)
	}
	if in.Forget {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return a.fail(asFailure("the stored token", err), false)
		}
		a.out.print("No token is stored for " + origin)
		return kernelcontract.ExitOK
	}
	token, err := a.secret("Token for " + origin + ": ")
	if err != nil {
		return a.fail(asFailure("the token", err), false)
	}
	token, _, _ = strings.Cut(strings.TrimSpace(token), "\n")
	token = strings.TrimSpace(token)
	if token == "" {
		return a.usage(parse.Usage("no token was given: pass it on standard input, never as an argument"), nil)
	}
	if err := a.try(token); err != nil {
		return a.fail(kernelcontract.AsError(err), false)
	}
	if err := store(file, credential{origin, token}); err != nil {
		return a.fail(asFailure("the token cannot be stored", err), false)
	}
	a.out.print("The token for " + origin + " is stored in " + file)
	return kernelcontract.ExitOK
}

// try fetches the catalog with a token.
func (a *app) try(token string) error {
	env := a.o.Env
	defer func() { a.o.Env = env }()
	server := a.serverURL()
	a.o.Env = func(name string) string {
		switch name {
		case sdk.EnvToken:
			return token
		case sdk.EnvURL:
			return server
		}
		return env(name)
	}
	_, err := a.fetch(a.ctx)
	return err
}

// store writes a token for its owner alone.
func store(file string, c credential) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "token-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that counts is the first
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

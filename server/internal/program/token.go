package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcontract/word"
	"github.com/bb-kernel/bb/kernelcore/sqlitestore"
	"github.com/bb-kernel/bb/kernelcore/store"
	"github.com/bb-kernel/bb/kernelcore/token"
)

// tokens runs `bb-server token …` on a data directory that no server uses: a running one keeps its tokens in memory and
// is asked with `bb runtime token …` instead.
func (p *program) tokens(ctx context.Context, f *flags) error {
	args := f.words[1:]
	if len(args) == 0 {
		return usage("token needs one of create NAME, list, revoke NAME")
	}
	verb, args := args[0], args[1:]
	switch {
	case verb != "create" && (f.scope != nil || f.expires != nil):
		return usage("--scope and --expires are for token create")
	case verb == "create" && len(args) == 1:
		return p.createToken(ctx, f, args[0])
	case verb == "list" && len(args) == 0:
		return p.listTokens(ctx, f)
	case verb == "revoke" && len(args) == 1:
		return p.revokeToken(ctx, f, args[0])
	case verb == "create" || verb == "revoke":
		return usage("token %s takes one NAME", verb)
	case verb == "list":
		return usage("token list takes no words")
	}
	if near := word.Nearest(verb, []string{"create", "list", "revoke"}); len(near) > 0 {
		return usage("there is no token %s; did you mean token %s?", verb, near[0])
	}
	return usage("there is no token %s: use create NAME, list or revoke NAME", verb)
}

func (p *program) createToken(ctx context.Context, f *flags, name string) error {
	scope := token.All
	if f.scope != nil {
		scope = token.Scope(*f.scope)
	}
	var expires time.Time
	if f.expires != nil {
		var err error
		if expires, err = expiry(*f.expires, time.Now()); err != nil {
			return err
		}
	}
	return p.withTokens(ctx, f, func(t *token.Tokens, dir string) error {
		secret, made, err := t.Create(ctx, name, scope, expires)
		var invalid *token.InvalidError
		if errors.As(err, &invalid) {
			return usage("%s %s", invalid.Field, invalid.Problem)
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(p.stdout, secret)
		fmt.Fprintf(p.stderr, "made token %s (scope %s, %s) in %s\nkeep it now: it is not shown again. Clients read it from BB_TOKEN.\n",
			made.Name, made.Scope, validity(made), dir)
		return nil
	})
}

func (p *program) listTokens(ctx context.Context, f *flags) error {
	r, err := resolve(f, p.getenv)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.dataDir, sqlitestore.DatabaseFile)); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(p.stderr, "no tokens: %s has not been used yet\n", r.dataDir)
		return nil
	}
	return p.withTokens(ctx, f, func(t *token.Tokens, dir string) error {
		all := t.List()
		if len(all) == 0 {
			fmt.Fprintf(p.stderr, "no tokens in %s\n", dir)
			return nil
		}
		return tokenTable(p.stdout, all)
	})
}

func tokenTable(w io.Writer, all []token.Token) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSCOPE\tCREATED\tLAST USE\tVALID")
	for _, k := range all {
		used := "never"
		if !k.LastUse.IsZero() {
			used = k.LastUse.Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", k.Name, k.Scope, k.Created.Format(time.RFC3339), used, validity(k))
	}
	return t.Flush()
}

func validity(k token.Token) string {
	switch {
	case k.Expires.IsZero():
		return "for ever"
	case k.Expires.Before(time.Now()):
		return "expired " + k.Expires.Format(time.RFC3339)
	}
	return "until " + k.Expires.Format(time.RFC3339)
}

func (p *program) revokeToken(ctx context.Context, f *flags, name string) error {
	return p.withTokens(ctx, f, func(t *token.Tokens, dir string) error {
		if err := t.Revoke(ctx, name); err != nil {
			return err
		}
		fmt.Fprintf(p.stderr, "revoked token %s in %s\n", name, dir)
		return nil
	})
}

// withTokens opens the tokens of the data directory, which it makes when it is not there.
func (p *program) withTokens(ctx context.Context, f *flags, fn func(t *token.Tokens, dir string) error) (err error) {
	r, err := resolve(f, p.getenv)
	if err != nil {
		return err
	}
	s, err := sqlitestore.Open(ctx, r.dataDir, sqlitestore.Options{Holder: "bb-server token"})
	var inUse *store.InUseError
	if errors.As(err, &inUse) {
		return fmt.Errorf("%s is in use by %s: while a server runs ask it, with `bb runtime token create|list|revoke`", inUse.Dir, inUse.Holder)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	t, err := token.OpenTokens(ctx, s, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close(ctx)) }()
	return fn(t, r.dataDir)
}

// expiry reads a moment, or how long from now: 2027-01-31T00:00:00Z, 2027-01-31, 720h, P30D.
func expiry(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	if d, err := schema.ParseDuration(text); err == nil {
		return now.Add(time.Duration(d)), nil
	}
	return time.Time{}, usage("--expires %q is neither a time such as 2027-01-31T00:00:00Z nor a span such as 720h or P30D", text)
}

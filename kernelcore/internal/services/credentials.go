package services

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/schema"
	"github.com/bb-kernel/bb/kernelcore/token"
)

// credentialError turns an error of the books into one that callers may see.
func credentialError(err error) error {
	var invalid *token.InvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		field := invalid.Field
		if field == "expires" {
			field = "expiresIn"
		}
		return invalidField(field, invalid.Problem)
	case errors.Is(err, token.ErrExists):
		return kernelcontract.Conflict.Errorf("%s", strings.TrimPrefix(err.Error(), "token: "))
	case errors.Is(err, token.ErrNotFound):
		return kernelcontract.NotFound.Errorf("%s", strings.TrimPrefix(err.Error(), "token: "))
	}
	return err
}

// invalidField refuses a field of the input.
func invalidField(field, problem string) error {
	return kernelcontract.InvalidIssues([]kernelcontract.Issue{{Path: []any{field}, Code: schema.IssueInvalidValue, Message: problem}})
}

// orNil returns a time that may never have come.
func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *answers) createToken(ctx context.Context, in kernelapi.TokenCreateInput) (kernelapi.CreatedToken, error) {
	var expires time.Time
	if in.ExpiresIn != nil {
		if *in.ExpiresIn <= 0 {
			return kernelapi.CreatedToken{}, invalidField("expiresIn", "must be longer than nothing")
		}
		expires = time.Now().Add(time.Duration(*in.ExpiresIn)).UTC().Truncate(time.Second)
	}
	secret, t, err := a.Tokens.Create(ctx, in.Name, token.Scope(in.Scope), expires)
	if err != nil {
		return kernelapi.CreatedToken{}, credentialError(err)
	}
	return kernelapi.CreatedToken{Name: t.Name, Token: secret, Scope: kernelapi.Scope(t.Scope), ExpiresAt: orNil(t.Expires)}, nil
}

func (a *answers) listTokens(context.Context, kernelcontract.None) ([]kernelapi.TokenInfo, error) {
	list := []kernelapi.TokenInfo{}
	for _, t := range a.Tokens.List() {
		list = append(list, kernelapi.TokenInfo{
			Name: t.Name, Scope: kernelapi.Scope(t.Scope), CreatedAt: t.Created, LastUse: orNil(t.LastUse), ExpiresAt: orNil(t.Expires),
		})
	}
	return list, nil
}

func (a *answers) revokeToken(ctx context.Context, in kernelapi.TokenInput) (kernelcontract.None, error) {
	return kernelcontract.None{}, credentialError(a.Tokens.Revoke(ctx, in.Name))
}

func (a *answers) enrollHost(ctx context.Context, in kernelapi.EnrollInput) (kernelapi.EnrolledHost, error) {
	key, h, err := a.Hosts.Enroll(ctx, in.Name, in.Proxy)
	if err != nil {
		return kernelapi.EnrolledHost{}, credentialError(err)
	}
	return kernelapi.EnrolledHost{ID: h.ID, Name: h.Name, Proxy: h.Proxy, Key: key}, nil
}

func (a *answers) listHosts(context.Context, kernelcontract.None) ([]kernelapi.HostInfo, error) {
	list := []kernelapi.HostInfo{}
	for _, h := range a.Hosts.List() {
		list = append(list, kernelapi.HostInfo{ID: h.ID, Name: h.Name, Proxy: h.Proxy, CreatedAt: h.Created, LastUse: orNil(h.LastUse)})
	}
	return list, nil
}

func (a *answers) removeHost(ctx context.Context, in kernelapi.HostInput) (kernelcontract.None, error) {
	return kernelcontract.None{}, credentialError(a.Hosts.Remove(ctx, in.Host))
}

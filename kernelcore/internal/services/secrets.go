package services

import (
	"context"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
)

func (a *answers) setSecret(ctx context.Context, in kernelapi.SecretSetInput) (kernelapi.SecretInfo, error) {
	now := time.Now().UTC().Truncate(time.Second)
	if err := a.Secrets.Set(ctx, in.Name, in.Value, now); err != nil {
		return kernelapi.SecretInfo{}, err
	}
	return kernelapi.SecretInfo{Name: in.Name, UpdatedAt: now}, nil
}

func (a *answers) listSecrets(ctx context.Context, _ kernelcontract.None) ([]kernelapi.SecretInfo, error) {
	secrets, err := a.Secrets.List(ctx)
	list := make([]kernelapi.SecretInfo, len(secrets))
	for i, s := range secrets {
		list[i] = kernelapi.SecretInfo{Name: s.Name, UpdatedAt: s.UpdatedAt}
	}
	return list, err
}

func (a *answers) deleteSecret(ctx context.Context, in kernelapi.SecretInput) (kernelcontract.None, error) {
	existed, err := a.Secrets.Delete(ctx, in.Name)
	if err == nil && !existed {
		err = kernelcontract.NotFound.Errorf("there is no secret %q: `bb secret list` shows them", in.Name)
	}
	return kernelcontract.None{}, err
}

package services

import (
	"context"
	"strings"
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/kernelapi"
	"github.com/bb-kernel/bb/kernelcontract/manifest"
	"github.com/bb-kernel/bb/kernelcore/internal/engine"
)

func (a *answers) getStatus(context.Context, kernelcontract.None) (kernelapi.Status, error) {
	s := a.Snapshot()
	status := kernelapi.Status{
		ServerID: a.ServerID, Generation: s.Generation, StartedAt: a.Started.UTC().Truncate(time.Millisecond),
		Uptime:   kernelcontract.Duration(time.Since(a.Started).Round(time.Second)),
		Draining: a.Draining(), Problems: orEmpty(s.Problems),
	}
	for _, p := range s.Plugins {
		if p.State == manifest.Ready {
			status.Plugins++
		}
		for _, svc := range p.Services {
			status.Methods += len(svc.Methods)
		}
	}
	return status, nil
}

func (a *answers) listProblems(context.Context, kernelcontract.None) ([]manifest.Problem, error) {
	return orEmpty(a.Snapshot().Problems), nil
}

func (a *answers) listCalls(_ context.Context, in kernelapi.CallsInput) ([]kernelapi.CallInfo, error) {
	list := []kernelapi.CallInfo{}
	for _, c := range a.Calls(engine.CallLogSize) {
		if in.Failed && c.Code == "" || in.Plugin != "" && !strings.HasPrefix(c.Ref, in.Plugin+"/") {
			continue
		}
		outcome := "ok"
		if c.Code != "" {
			outcome = string(c.Code)
		}
		list = append(list, kernelapi.CallInfo{
			Start: c.Start.UTC().Truncate(time.Millisecond), Ref: c.Ref, Actor: c.Principal.Actor, Via: c.Principal.Via,
			DurationMs: float64(c.Duration.Microseconds()) / 1000, Outcome: outcome,
			ID: c.ID, Kind: c.Kind, Client: c.Client.Kind + "/" + c.Client.Surface, Generation: c.Generation,
		})
		if len(list) == in.Limit {
			break
		}
	}
	return list, nil
}

func (a *answers) shutdown(context.Context, kernelcontract.None) (kernelcontract.None, error) {
	if a.Shutdown == nil {
		return kernelcontract.None{}, kernelcontract.Precondition.Errorf("the program that embeds this kernel cannot be stopped by a call")
	}
	a.Shutdown()
	return kernelcontract.None{}, nil
}

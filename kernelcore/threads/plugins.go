package threads

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/bb-kernel/bb/bridgekit/host"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/threadapi"
	"github.com/bb-kernel/bb/kernelcore"
	"github.com/bb-kernel/bb/kernelcore/threads/internal/engine"
	"github.com/bb-kernel/bb/pluginsdk"
)

// Options configures the threads of a kernel. The zero value is for use.
type Options struct {
	// IdleRelease is how long an agent's session stays without a turn when it can be resumed; 0: engine.IdleRelease, 15
	// minutes.
	IdleRelease time.Duration
	// WatchdogWarn and WatchdogFail bound how long an agent that took an input may leave its turn unopened, until a
	// warning and until the turn fails; 0: 60 seconds and 10 minutes.
	WatchdogWarn, WatchdogFail time.Duration
	// Timeouts are the deadlines of bridges; zero ones stand for those of package host.
	Timeouts host.Timeouts
	// Now is the clock; nil: time.Now. Events keep their order whatever it says.
	Now func() time.Time
	// RecordDir, when it is not "", records every line between the kernel and its bridges into that directory.
	RecordDir string
}

// Plugins returns the plugins threads and providers, which belong together: put both into kernelcore.Options.Plugins,
// beside plugins that bring providers. Both share one engine in each kernel, which outlives a reload of one of them.
func Plugins(o Options) []*pluginsdk.Plugin {
	return []*pluginsdk.Plugin{
		{
			ID: "threads", Version: Version, Summary: "Drives coding agents",
			Services: []*kernelcontract.Service{threadapi.Threads, threadapi.Interactions},
			Setup:    func(ctx context.Context, h *pluginsdk.Host) error { return o.setUp(ctx, h, provideThreads) },
		},
		{
			ID: "providers", Version: Version, Summary: "Looks after what runs coding agents",
			Services: []*kernelcontract.Service{threadapi.Providers},
			Setup:    func(ctx context.Context, h *pluginsdk.Host) error { return o.setUp(ctx, h, provideProviders) },
		},
	}
}

// Version is that of the two plugins: they come with the kernel.
const Version = "0.1.0"

// setUp shares the kernel's engine and provides what runs on it.
func (o Options) setUp(ctx context.Context, h *pluginsdk.Host, provide func(*pluginsdk.Host, *engine.Engine)) error {
	kernel := kernelcore.Of(ctx)
	if kernel == nil {
		return errors.New("this plugin is a part of the kernel: it runs only in one of package kernelcore")
	}
	e, release, err := kernelcore.Share(ctx, "threads", func(ctx context.Context) (*engine.Engine, func(context.Context) error, error) {
		e, err := engine.Open(ctx, engine.Options{
			Kernel: kernel, Log: h.Log(), IdleRelease: o.IdleRelease, WatchdogWarn: o.WatchdogWarn, WatchdogFail: o.WatchdogFail,
			Timeouts: o.Timeouts, Now: o.Now, RecordDir: o.RecordDir,
		})
		if err != nil {
			return nil, nil, err
		}
		return e, e.Close, nil
	})
	if err != nil {
		return err
	}
	h.OnStop(release)
	provide(h, e)
	return nil
}

func provideThreads(h *pluginsdk.Host, e *engine.Engine) {
	h.Provide(threadapi.Threads,
		threadapi.Create.Handle(e.Create),
		threadapi.Send.Handle(func(ctx context.Context, in threadapi.SendInput) (threadapi.Turn, error) {
			return e.Send(ctx, in, false)
		}),
		threadapi.Steer.Handle(func(ctx context.Context, in threadapi.SendInput) (threadapi.Turn, error) {
			return e.Send(ctx, in, true)
		}),
		threadapi.Fork.Handle(e.Fork),
		threadapi.Stop.Handle(e.Stop),
		threadapi.Wait.Handle(e.Wait),
		threadapi.Get.Handle(func(ctx context.Context, in threadapi.ThreadInput) (threadapi.Thread, error) {
			return e.Get(ctx, in.Thread)
		}),
		threadapi.List.Handle(e.List),
		threadapi.Rename.Handle(e.Rename),
		threadapi.Archive.Handle(func(ctx context.Context, in threadapi.ThreadInput) (threadapi.Thread, error) {
			return e.SetArchived(ctx, in.Thread, true)
		}),
		threadapi.Unarchive.Handle(func(ctx context.Context, in threadapi.ThreadInput) (threadapi.Thread, error) {
			return e.SetArchived(ctx, in.Thread, false)
		}),
		threadapi.GoalSet.Handle(func(ctx context.Context, in threadapi.GoalInput) (threadapi.Thread, error) {
			return e.SetGoal(ctx, in.Thread, in.Goal)
		}),
		threadapi.GoalClear.Handle(func(ctx context.Context, in threadapi.ThreadInput) (threadapi.Thread, error) {
			return e.SetGoal(ctx, in.Thread, "")
		}),
		threadapi.Discard.Handle(func(ctx context.Context, in threadapi.ThreadInput) (kernelcontract.None, error) {
			return kernelcontract.None{}, e.Discard(ctx, in.Thread)
		}),
		threadapi.Events.Handle(func(ctx context.Context, in threadapi.EventsInput) (iter.Seq2[threadapi.Event, error], error) {
			return e.Events(ctx, in, kernelcontract.CallFrom(ctx).Since)
		}),
		threadapi.Timeline.Handle(e.Timeline),
	)
	h.Provide(threadapi.Interactions,
		threadapi.ListInteractions.Handle(e.Interactions),
		threadapi.GetInteraction.Handle(func(ctx context.Context, in threadapi.InteractionInput) (threadapi.Interaction, error) {
			return e.Interaction(ctx, in.ID)
		}),
		threadapi.Resolve.Handle(func(ctx context.Context, in threadapi.ResolveInput) (threadapi.Interaction, error) {
			return e.Resolve(ctx, in, kernelcontract.CallFrom(ctx).Principal.Actor)
		}),
	)
}

func provideProviders(h *pluginsdk.Host, e *engine.Engine) {
	p := e.Pool()
	h.Provide(threadapi.Providers,
		threadapi.ListProviders.Handle(func(ctx context.Context, in threadapi.ListProvidersInput) ([]threadapi.Provider, error) {
			return p.List(ctx, in.All), nil
		}),
		threadapi.GetProvider.Handle(func(ctx context.Context, in threadapi.ProviderInput) (threadapi.Provider, error) {
			return p.Get(ctx, in.ID)
		}),
		threadapi.Models.Handle(p.Models),
		threadapi.GetHealth.Handle(func(ctx context.Context, in threadapi.ProviderInput) (threadapi.Health, error) {
			return p.Health(ctx, in.ID)
		}),
		threadapi.GetUsage.Handle(func(ctx context.Context, in threadapi.ProviderInput) (json.RawMessage, error) {
			return p.Usage(ctx, in.ID)
		}),
		threadapi.InstallationStatus.Handle(p.InstallationStatus),
		threadapi.Install.Handle(p.Install),
		threadapi.Restart.Handle(func(ctx context.Context, in threadapi.ProviderInput) (threadapi.Provider, error) {
			return p.Restart(ctx, in.ID)
		}),
	)
}

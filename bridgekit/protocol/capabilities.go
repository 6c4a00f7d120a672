package protocol

// Capabilities are what a bridge reports in its handshake, below the ceiling of its declarations.
type Capabilities struct {
	SessionRestore     bool     `json:"sessionRestore"` // thread/resume
	ThreadArchive      bool     `json:"threadArchive"`  // thread/archive, thread/unarchive
	ThreadRename       bool     `json:"threadRename"`   // thread/name/set
	ThreadGoal         bool     `json:"threadGoal"`     // thread/goal/set, thread/goal/clear
	Fork               Fork     `json:"fork"`
	ApprovalEnforcedBy Enforcer `json:"approvalEnforcedBy"`
	Steer              Steer    `json:"steer"`
	Extra              Extra    `json:"-"`
}

// Fork says where a session can be forked.
type Fork string

// The values of Fork, the narrowest first.
const (
	ForkNone       Fork = "none"
	ForkTip        Fork = "tip"        // at its end
	ForkCheckpoint Fork = "checkpoint" // also at a checkpoint of an earlier turn
)

func (Fork) values() []string { return []string{"none", "tip", "checkpoint"} }

// Enforcer says who refuses what a permission policy forbids.
type Enforcer string

// The values of Enforcer.
const (
	EnforcedByRuntime  Enforcer = "runtime"
	EnforcedByProvider Enforcer = "provider"
)

func (Enforcer) values() []string { return []string{"runtime", "provider"} }

// Steer says what input during a turn does.
type Steer string

// The values of Steer, the narrowest first.
const (
	SteerNone   Steer = "none"   // core queues it and starts a turn after settlement
	SteerQueue  Steer = "queue"  // the agent queues it as a turn of its own
	SteerNative Steer = "native" // it joins the open turn
)

func (Steer) values() []string { return []string{"none", "queue", "native"} }

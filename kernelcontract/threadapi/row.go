package threadapi

import (
	"encoding/json"
	"time"
)

// RowKind says what a row of a timeline shows. Extension items have their own kind, <pluginId>/<name>.
type RowKind = string

// The kinds of rows beside extension items.
const (
	RowUser        RowKind = "user"        // what was sent
	RowMessage     RowKind = "message"     // what the agent said
	RowReasoning   RowKind = "reasoning"   // what it thought
	RowPlan        RowKind = "plan"        // a plan that it wrote
	RowCompaction  RowKind = "compaction"  // its context was compacted
	RowCommand     RowKind = "command"     // a shell command
	RowTool        RowKind = "tool"        // a call of a tool
	RowFileChange  RowKind = "file_change" // files that it changed
	RowTask        RowKind = "task"        // a sub-agent or work in the background; its items have it as parent
	RowTodo        RowKind = "todo"        // its list of steps, the latest of the turn
	RowUsage       RowKind = "usage"       // tokens, the latest of the turn
	RowInteraction RowKind = "interaction" // something that it asked
	RowTurn        RowKind = "turn"        // a turn that failed or was interrupted
	RowNotice      RowKind = "notice"      // a warning, an error, a change of model, of the session or of the thread
)

// Row is what a timeline shows of one item or fact, with its latest state.
type Row struct {
	ID        string          `json:"id"`      // of the item or interaction, else seq-<Seq>
	Seq       int64           `json:"seq"`     // of the event that began it: rows are in this order
	LastSeq   int64           `json:"lastSeq"` // of the last event that changed it
	Kind      string          `json:"kind"`
	Type      string          `json:"type,omitempty"` // of the event, for rows that show a fact and no item
	Status    string          `json:"status" enum:"open,completed,failed,interrupted"`
	TurnID    string          `json:"turnId,omitempty"`
	ParentID  string          `json:"parentId,omitempty"` // the row of the task that it belongs to
	Label     string          `json:"label,omitempty"`
	Icon      string          `json:"icon,omitempty"`
	Title     string          `json:"title,omitempty"`
	Detail    string          `json:"detail,omitempty"`
	Tint      string          `json:"tint,omitempty"`
	Suppress  bool            `json:"suppress,omitempty"`  // its presentation asks to leave it out
	Partial   bool            `json:"partial,omitempty"`   // the agent never closed it: the data is what came until then
	Truncated bool            `json:"truncated,omitempty"` // more text or output came than the data has
	StartedAt time.Time       `json:"startedAt"`
	SettledAt *time.Time      `json:"settledAt"`
	Data      json.RawMessage `json:"data"` // the item with text and output folded in, or the fact's payload
}

// TimelineInput says which rows of a thread to show.
type TimelineInput struct {
	Thread string `json:"thread" minLength:"1" maxLength:"64" description:"The id of the thread"`
	Limit  int    `json:"limit,omitempty" default:"100" minimum:"1" maximum:"500" description:"At most so many rows"`
	Before int64  `json:"before,omitempty" minimum:"1" description:"Only rows that began before this seq; the newest are shown"`
	After  int64  `json:"after,omitempty" minimum:"0" description:"Only rows that began after this seq; the oldest are shown"`
	Turn   string `json:"turn,omitempty" maxLength:"64" description:"Only rows of this turn"`
}

// TimelineOutput is a page of a timeline, the oldest row first.
type TimelineOutput struct {
	Thread  Thread `json:"thread"`
	Rows    []Row  `json:"rows"`
	Earlier bool   `json:"earlier"` // there are rows before these
	Later   bool   `json:"later"`   // there are rows after these
	LastSeq int64  `json:"lastSeq"` // what the rows show: follow events from here
}

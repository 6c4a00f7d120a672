package kernelapi

import (
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// HostInput names a host.
type HostInput struct {
	Host string `json:"host" description:"The host's id or name"`
}

// EnrollInput says what host to admit.
type EnrollInput struct {
	Name  string `json:"name" description:"The host's name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._@-]*$"`
	Proxy bool   `json:"proxy,omitempty" description:"Let it pass on calls of the threads and people on it"`
}

// EnrolledHost is a new host with its key, which is shown once.
type EnrolledHost struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Proxy bool   `json:"proxy"`
	Key   string `json:"key"`
}

// HostInfo is a host without its key.
type HostInfo struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Proxy     bool       `json:"proxy"`
	CreatedAt time.Time  `json:"createdAt"`
	LastUse   *time.Time `json:"lastUse"`
}

// ListHosts lists the hosts.
var ListHosts = &kernelcontract.Query[kernelcontract.None, []HostInfo]{
	Ref: "kernel/host.list", Summary: "List the hosts", Access: people,
}

// EnrollHost admits a host. Its key is in the result and nowhere else.
var EnrollHost = &kernelcontract.Mutation[EnrollInput, EnrolledHost]{
	Ref: "kernel/host.enroll", Summary: "Admit a host and show its key once",
	CLI: kernelcontract.CLI{Args: []string{"name"}}, Access: people,
	RenderText: func(h EnrolledHost, _ kernelcontract.Render) string {
		return h.Key + "\n\nKeep it now: it is not shown again. The host " + h.Name + " sends it as its bearer."
	},
}

// RemoveHost takes a host's key away.
var RemoveHost = &kernelcontract.Mutation[HostInput, kernelcontract.None]{
	Ref: "kernel/host.remove", Summary: "Take a host's key away",
	CLI: kernelcontract.CLI{Args: []string{"host"}}, Access: people, Destructive: true,
	RenderText: func(kernelcontract.None, kernelcontract.Render) string { return "the host's key is no longer valid" },
}

// Host admits machines that run methods for the server.
var Host = &kernelcontract.Service{
	ID: "kernel/host", Summary: "Manage hosts",
	Methods: []kernelcontract.Method{ListHosts, EnrollHost, RemoveHost},
}

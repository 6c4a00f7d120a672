package kernelapi

import (
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// SecretInput names a secret.
type SecretInput struct {
	Name string `json:"name" description:"The secret's name" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$"`
}

// SecretSetInput names a secret and its value, of at most 64 KiB: keys and certificates fit.
type SecretSetInput struct {
	Name  string `json:"name" description:"The secret's name" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$"`
	Value string `json:"value" description:"The value" minLength:"1" maxLength:"65536"`
}

// SecretInfo is a secret without its value, which no method returns.
type SecretInfo struct {
	Name      string    `json:"name"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// SetSecret stores a secret. On the command line the value comes from standard input or a prompt, never from an argument:
// its field is hidden and read from standard input.
var SetSecret = &kernelcontract.Mutation[SecretSetInput, SecretInfo]{
	Ref: "kernel/secret.set", Summary: "Store a secret, read from standard input or a prompt",
	CLI: kernelcontract.CLI{
		Args:  []string{"name"},
		Flags: map[string]kernelcontract.Flag{"value": {Hidden: true, Stdin: true}},
	},
	Access: people,
	RenderText: func(s SecretInfo, _ kernelcontract.Render) string {
		return s.Name + " is stored"
	},
}

// ListSecrets lists the names of the secrets.
var ListSecrets = &kernelcontract.Query[kernelcontract.None, []SecretInfo]{
	Ref: "kernel/secret.list", Summary: "List the names of the secrets", Access: people,
}

// DeleteSecret deletes a secret.
var DeleteSecret = &kernelcontract.Mutation[SecretInput, kernelcontract.None]{
	Ref: "kernel/secret.delete", Summary: "Delete a secret",
	CLI: kernelcontract.CLI{Args: []string{"name"}}, Access: people, Destructive: true,
	RenderText: func(kernelcontract.None, kernelcontract.Render) string { return "the secret is deleted" },
}

// Secret keeps what plugins must know and nobody else.
var Secret = &kernelcontract.Service{
	ID: "kernel/secret", Summary: "Keep secrets for plugins",
	Methods: []kernelcontract.Method{SetSecret, ListSecrets, DeleteSecret},
}

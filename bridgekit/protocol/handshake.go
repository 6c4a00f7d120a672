package protocol

// InitializeParams opens a connection.
type InitializeParams struct {
	Protocol    VersionRange `json:"protocol"`
	Client      ClientInfo   `json:"client"`
	Plugin      PluginInfo   `json:"plugin"`
	ProviderIDs []string     `json:"providerIds" rule:"min=1,unique"`
	Extra       Extra        `json:"-"`
}

// VersionRange is the range of protocol versions that one side speaks.
type VersionRange struct {
	Min   int   `json:"min"`
	Max   int   `json:"max"` // at least Min
	Extra Extra `json:"-"`
}

// ClientInfo names the program on core's side; Name is "bb".
type ClientInfo struct {
	Name    string `json:"name" rule:"nonempty"`
	Version string `json:"version" rule:"nonempty"`
	Extra   Extra  `json:"-"`
}

// PluginInfo names the plugin that the bridge belongs to.
type PluginInfo struct {
	ID      string `json:"id" rule:"nonempty"`
	Version string `json:"version" rule:"nonempty"`
	Extra   Extra  `json:"-"`
}

// InitializeResult answers initialize.
type InitializeResult struct {
	Protocol     int          `json:"protocol"` // the version that both sides now speak
	Capabilities Capabilities `json:"capabilities"`
	Extra        Extra        `json:"-"`
}

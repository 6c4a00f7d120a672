package metadata_test

import (
	"fmt"

	"github.com/bb-kernel/bb/pluginsdk/bundle/metadata"
)

func Example() {
	m, err := metadata.Decode([]byte(`{"name": "helper", "capabilityIds": ["skills"], "surfaces": {
		"httpRoutes": [{"method": "GET", "path": "/skills/:name", "capabilityId": "skills"}]}}`))
	fmt.Println(err, m.Check())
	found := metadata.NewTable(m.Surfaces.HTTPRoutes).Match("GET", "/skills/deep%2Ffry")
	fmt.Println(found.Route.CapabilityID, found.Params)
	// Output:
	// <nil> <nil>
	// skills map[name:deep/fry]
}

package report

import (
	"embed"
	"fmt"
)

//go:embed schema/*.schema.json
var schemas embed.FS

// Schema returns a JSON Schema (draft 2020-12): "result" of what [JSON] writes,
// "evidence" of what [InspectJSON] writes.
func Schema(name string) ([]byte, error) {
	p, err := schemas.ReadFile("schema/" + name + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("report: there is no schema %q, only result and evidence", name)
	}
	return p, nil
}

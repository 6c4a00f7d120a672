package protocol

import "encoding/json"

// errorData is the member data of an error.
type errorData struct {
	Issues   Issues        `json:"issues,omitzero"`
	Recovery RecoveryHint  `json:"recovery,omitempty"`
	Core     *VersionRange `json:"core,omitempty"`
	Bridge   *VersionRange `json:"bridge,omitempty"`
}

// WireData returns the member data of the error on the wire: {"issues": […]} with InvalidParams, [] when none is known, {"recovery": …} with
// BridgeError, {"core": …, "bridge": …} with ProtocolUnsupported, else Data. Nil stands for no data.
func (e *Error) WireData() json.RawMessage {
	var d errorData
	switch {
	case e.Code == InvalidParams && (e.Issues != nil || e.Data == nil):
		d.Issues = e.Issues
		if d.Issues == nil {
			d.Issues = Issues{}
		}
	case e.Code == BridgeError && e.Recovery != "":
		d.Recovery = e.Recovery
	case e.Code == ProtocolUnsupported && e.Versions != nil:
		d.Core, d.Bridge = &e.Versions.Core, &e.Versions.Bridge
	default:
		return e.Data
	}
	raw, err := json.Marshal(d)
	if err != nil { // an Extra of the versions that is not JSON
		return e.Data
	}
	return raw
}

// ErrorFromWire makes the error that the other side sent. Data that is not what the code's data should be is kept as
// Data only: an error is never lost because of its data.
func ErrorFromWire(code int, message string, data json.RawMessage) *Error {
	e := &Error{Code: Code(code), Message: message}
	if len(data) == 0 || string(data) == "null" {
		return e
	}
	e.Data = append(json.RawMessage(nil), data...)
	switch e.Code {
	case InvalidParams:
		var d struct{ Issues []Issue }
		if json.Unmarshal(data, &d) == nil {
			e.Issues = d.Issues
		}
	case BridgeError:
		var d struct{ Recovery RecoveryHint }
		if json.Unmarshal(data, &d) == nil && rank(d.Recovery.values(), string(d.Recovery)) < len(d.Recovery.values()) {
			e.Recovery = d.Recovery
		}
	case ProtocolUnsupported:
		if v, err := Decode[Versions](data); err == nil {
			e.Versions = &v
		}
	}
	return e
}

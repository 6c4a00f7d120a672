package services

import (
	"encoding/json"
	"net/http"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcore/internal/uploads"
)

// putUpload takes a file of up to uploads.MaxSize bytes by PUT, and answers {"uploadId": …}. It is no method with an input,
// since a file is not JSON.
var putUpload = &kernelcontract.Custom[http.Handler]{
	Ref: "kernel/uploads.put", Summary: "Send a file that a method then takes by its id", Path: "/internal/uploads",
	Access: kernelcontract.Access{Actors: []kernelcontract.ActorKind{kernelcontract.User}},
}

// uploadService takes files.
var uploadService = &kernelcontract.Service{
	ID: "kernel/uploads", Summary: "Take files", Methods: []kernelcontract.Method{putUpload},
}

// uploaded is the result of putUpload.
type uploaded struct {
	UploadID string `json:"uploadId"`
}

// putUpload answers PUT /internal/uploads. The verb protects it from other sites: no page can send it without asking first.
func (a *answers) putUpload(w http.ResponseWriter, r *http.Request) {
	fail := func(err error) {
		e := kernelcontract.AsError(err)
		if e.Code == kernelcontract.Internal {
			e = &kernelcontract.Error{Code: kernelcontract.Internal, Message: e.Message}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.Row().HTTPStatus)
		_, _ = w.Write(kernelcontract.MarshalFailure(e))
	}
	if r.Method != http.MethodPut {
		w.Header().Set("Allow", http.MethodPut)
		e := kernelcontract.InvalidInput.Errorf("a file is sent with PUT, not %.20s", r.Method)
		e.Refusal = kernelcontract.WrongVerb
		fail(e)
		return
	}
	if r.ContentLength > uploads.MaxSize {
		fail(uploads.TooLarge())
		return
	}
	id, err := a.Uploads.Put(r.Context(), kernelcontract.CallFrom(r.Context()).Principal.Actor, r.Body)
	if err != nil {
		fail(err)
		return
	}
	raw, err := json.Marshal(struct {
		OK     bool     `json:"ok"`
		Result uploaded `json:"result"`
	}{true, uploaded{id}})
	if err != nil {
		fail(err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}

package notes

import (
	"context"
	"errors"
	"mime"

	"github.com/bb-kernel/bb/examples/notes-fixture/notesapi"
	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/pluginsdk"
)

const attachmentPrefix = "attachment/"

// attachments keeps files in the plugin's store.
type attachments struct{ kv pluginsdk.KV }

func (a attachments) put(ctx context.Context, in notesapi.PutInput) (notesapi.PutOutput, error) {
	if _, _, err := mime.ParseMediaType(in.MIMEType); err != nil {
		return notesapi.PutOutput{}, kernelcontract.InvalidIssues([]kernelcontract.Issue{{
			Path: []any{"mimeType"}, Code: "invalid_format", Message: "must be a media type, such as image/png",
		}})
	}
	err := a.kv.Put(ctx, attachmentPrefix+in.ID, kernelcontract.Bytes{MIMEType: in.MIMEType, Data: in.Base64})
	return notesapi.PutOutput{ID: in.ID, MIMEType: in.MIMEType, Bytes: len(in.Base64)}, err
}

func (a attachments) get(ctx context.Context, in notesapi.AttachmentInput) (b kernelcontract.Bytes, err error) {
	if err = a.kv.Get(ctx, attachmentPrefix+in.ID, &b); errors.Is(err, kernelcontract.NotFound) {
		err = kernelcontract.NotFound.Errorf("there is no attachment %s", in.ID)
	}
	return b, err
}

package notesapi

import "github.com/bb-kernel/bb/kernelcontract"

// PutInput is the input of Put.
type PutInput struct {
	ID       string `json:"id" pattern:"^[a-z0-9][a-z0-9._-]{0,63}$" description:"The name under which to keep it"`
	MIMEType string `json:"mimeType" minLength:"3" maxLength:"255" description:"What it is, such as image/png"`
	Base64   []byte `json:"base64" description:"The content"`
}

// PutOutput is the result of Put.
type PutOutput struct {
	ID       string `json:"id"`
	MIMEType string `json:"mimeType"`
	Bytes    int    `json:"bytes"`
}

// AttachmentInput names an attachment.
type AttachmentInput struct {
	ID string `json:"id" pattern:"^[a-z0-9][a-z0-9._-]{0,63}$" description:"The name of the attachment"`
}

// Put keeps an attachment, in place of one of the same name.
var Put = &kernelcontract.Mutation[PutInput, PutOutput]{
	Ref: "notes-fixture/attachments.put", Summary: "Keep an attachment",
	CLI: kernelcontract.CLI{Flags: map[string]kernelcontract.Flag{"base64": {File: true, Stdin: true}}},
	Examples: []kernelcontract.Example[PutInput]{{
		Input: PutInput{ID: "hello.txt", MIMEType: "text/plain", Base64: []byte("hello")}, Note: "five bytes",
	}},
}

// GetAttachment returns an attachment as a file.
var GetAttachment = &kernelcontract.Query[AttachmentInput, kernelcontract.Bytes]{
	Ref: "notes-fixture/attachments.get", Summary: "Fetch an attachment",
}

// Attachments keeps files.
var Attachments = &kernelcontract.Service{
	ID: "notes-fixture/attachments", Summary: "Keep files",
	Methods: []kernelcontract.Method{Put, GetAttachment},
}

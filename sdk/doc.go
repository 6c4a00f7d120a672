// Package sdk is the client of a kernel over HTTP.
//
// Connect returns a Client, which carries typed calls as every kernelcontract.Caller does:
//
//	client, err := sdk.Connect(sdk.Options{}) // BB_SERVER_URL, BB_TOKEN and BB_THREAD_ID… from the environment
//	out, err := contracts.Greet.Call(ctx, client, contracts.GreetInput{Name: "bb"})
//
// Where there are no Go types, Client.Call and Client.Open take a method by name. Failures are *kernelcontract.Error and
// match their code with errors.Is; a server that cannot be reached is an *UnreachableError besides. Cancelling the
// context closes the request at once, which cancels the handler's context on the other side.
//
// Nothing is repeated by the client: a mutation never, a query neither, except that net/http sends a request again whose
// kept connection turned out to be closed before any of it was written, or, for a query, before any answer came. Resumable
// streams go on by themselves after a break, from the cursor of the last item, without gap or repeat. The rules are in
// docs/spec/sdk.md.
package sdk

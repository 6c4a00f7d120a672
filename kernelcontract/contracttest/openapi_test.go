package contracttest_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/contracttest"
)

func TestTheOpenAPIOperationIsValid(t *testing.T) {
	is := is.New(t)
	s := service(greet())
	def, err := s.Def()
	is.NoErr(err)
	is.Equal(contracttest.CheckOpenAPI(def.Methods[0], def), nil)

	elsewhere := *def.Methods[0]
	elsewhere.Path = "/internal/{name}"
	problems := contracttest.CheckOpenAPI(&elsewhere, def)
	is.Equal(len(problems), 1)
	is.Equal(problems[0].String(), "hello-slot/greeter.greet openapi: /internal/{name}: it is not a path without templates")

	def.Methods[0].Path = "/internal/{name}" // as Check sees it
	found := false
	for _, p := range contracttest.Check(s, samples) {
		found = found || p.Surface == contracttest.OpenAPI && strings.Contains(p.Message, "/internal/{name}")
	}
	is.True(found)
}

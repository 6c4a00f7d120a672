package threadapi_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract/threadapi"
)

func TestSurfaces(t *testing.T) {
	for _, s := range threadapi.Services() {
		t.Run(s.ID, func(t *testing.T) {
			_, err := s.Def()
			is.New(t).NoErr(err)
		})
	}
}

package httpapi_test

import (
	"fmt"
	"testing"

	"github.com/matryer/is"
)

func TestQueryStringsReportEveryIssueAtOnce(t *testing.T) {
	for _, tt := range []struct{ name, query, want string }{
		{"unknown and missing", "greet?zz=1", "[{[zz] unrecognized_key} {[name] required}]"},
		{"unknown and wrong", "greet?name=&zz=1", "[{[zz] unrecognized_key} {[name] too_small}]"},
		{"of a field and beyond it", "greet?name=a&name=b&tags=x&aa=1", "[{[aa] unrecognized_key} {[name] duplicate_key}]"},
		{"in a stream", "follow?limit=x&zz=1", "[{[zz] unrecognized_key} {[limit] invalid_type}]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			s := start(t, setup{})
			got := []string{}
			for _, i := range s.do(request{path: things + tt.query}).failure(t).Error.Issues {
				got = append(got, fmt.Sprintf("{%v %s}", i.Path, i.Code))
			}
			is.Equal(fmt.Sprint(got), tt.want)
			is.Equal(s.plugin.executed.Load(), int64(0))
		})
	}
}

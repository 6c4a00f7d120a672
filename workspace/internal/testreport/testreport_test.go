package testreport_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bb-kernel/bb/workspace/internal/testreport"
)

const run = `go: downloading something
{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0}
{"Action":"run","Package":"m/a","Test":"TestLeft"}
{"Action":"skip","Package":"m/a","Test":"TestLeft","Elapsed":0}
{"Action":"run","Package":"m/a","Test":"TestBad"}
{"Action":"output","Package":"m/a","Test":"TestBad/case_1","Output":"    a_test.go:1: it broke\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad/case_1","Elapsed":0}
{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":0}
{"Action":"fail","Package":"m/a","Elapsed":0}
{"Action":"skip","Package":"m/none","Elapsed":0}
{"ImportPath":"m/b","Action":"build-output","Output":"b.go:1: syntax error\n"}
{"ImportPath":"m/b","Action":"build-fail"}
{"Action":"fail","Package":"m/b","Elapsed":0,"FailedBuild":"m/b"}
{"Action":"output","Package":"m/c","Test":"TestCrash","Output":"panic: gone\n"}
{"Action":"fail","Package":"m/c","Elapsed":0}
`

func TestReport(t *testing.T) {
	r, err := testreport.Read(strings.NewReader(run))
	if err != nil {
		t.Fatal(err)
	}
	if p, f, s := r.Count(); p != 1 || f != 4 || s != 1 {
		t.Errorf("counted %d passed, %d failed, %d skipped; want 1, 4 (two tests, a build, a crash), 1", p, f, s)
	}
	if got := r.Skipped(); !slices.Equal(got, []string{"m/a TestLeft"}) {
		t.Errorf("skipped: %q; a package without tests is not a skipped test", got)
	}
	var out strings.Builder
	if err := r.WriteFailures(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"it broke", "syntax error", "panic: gone"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the failures lack %q:\n%s", want, out.String())
		}
	}
}

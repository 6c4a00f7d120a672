package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	"github.com/bb-kernel/bb/conformance/bridgecheck"
)

// junitSuite is the root of a JUnit report: one case a rule.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitDetail `xml:"failure"`
	Skipped *junitDetail `xml:"skipped"`
}

type junitDetail struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes the report to a file.
func writeJUnit(path string, r *bridgecheck.Report) error {
	suite := junitSuite{
		Name: "bb-conformance bridge " + strings.Join(r.Command, " "), Tests: len(r.Results), Failures: r.Failed, Skipped: r.Skipped,
		Time: seconds(r.DurationMs),
	}
	for _, result := range r.Results {
		c := junitCase{Class: "bridge", Name: result.Rule, Time: seconds(result.DurationMs)}
		detail := &junitDetail{Message: printable(firstLine(result.Detail))}
		switch result.Status {
		case bridgecheck.Fail:
			var b strings.Builder
			for _, o := range result.Profiles {
				if o.Status == bridgecheck.Fail {
					writeFailure(&b, result.Rule, o)
				}
			}
			detail.Text = b.String()
			c.Failure = detail
		case bridgecheck.Skip:
			c.Skipped = detail
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }

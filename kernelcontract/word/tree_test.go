package word_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/bb-kernel/bb/kernelcontract"
	"github.com/bb-kernel/bb/kernelcontract/word"
)

func method(ref string, cli kernelcontract.CLI) *kernelcontract.Query[greetInput, kernelcontract.None] {
	return &kernelcontract.Query[greetInput, kernelcontract.None]{Ref: ref, Summary: "Does " + ref, CLI: cli}
}

func tool(name string) *kernelcontract.Tool {
	return &kernelcontract.Tool{Name: name, Presentation: kernelcontract.Presentation{Pending: "a", Completed: "b", Icon: "c", Intent: "d"}}
}

func defs(t testing.TB, services ...*kernelcontract.Service) []*kernelcontract.ServiceDef {
	t.Helper()
	out := make([]*kernelcontract.ServiceDef, len(services))
	for i, s := range services {
		s.Summary = "Service " + s.ID
		def, err := s.Def()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = def
	}
	return out
}

type ms = []kernelcontract.Method

func TestTree(t *testing.T) {
	is := is.New(t)
	tree, conflicts := word.BuildTree(defs(t,
		&kernelcontract.Service{ID: "a/main", Group: []string{"hello"}, Aliases: [][]string{{"hi"}}, Methods: ms{
			method("a/main.greet", kernelcontract.CLI{Aliases: []string{"hail"}}),
			method("a/main.status", kernelcontract.CLI{Group: []string{}}),
		}},
		&kernelcontract.Service{ID: "b/other", Methods: ms{
			method("b/other.enter", kernelcontract.CLI{Group: []string{"hello"}}),
			method("b/other.deep", kernelcontract.CLI{Group: []string{"hello", "sub"}, FlagAlias: &kernelcontract.FlagAlias{Group: []string{"hello"}, Name: "greet", Flag: "deep"}}),
		}},
	))
	is.Equal(len(conflicts), 0)
	is.Equal(tree.Ref([]string{"hello"}, "greet"), "a/main.greet")
	is.Equal(tree.Ref([]string{"hi"}, "hail"), "a/main.greet") // aliases of group and word
	is.Equal(tree.Ref(nil, "status"), "a/main.status")         // [] is the top level
	is.Equal(tree.Ref([]string{"hello"}, "enter"), "b/other.enter")
	is.Equal(tree.Ref([]string{"hello", "sub"}, "deep"), "b/other.deep")
	is.Equal(tree.Ref([]string{"other"}, "enter"), "")
	is.Equal(tree.FlagAlias([]string{"hello"}, "greet", "deep"), "b/other.deep")
	is.Equal(tree.Group("hello").Service, "a/main")
	is.Equal(tree.Group("hi").AliasOf, []string{"hello"})
	var words []string
	for _, e := range tree.Group("hello").Words {
		words = append(words, fmt.Sprint(e.Name, e.Alias))
	}
	is.Equal(words, []string{"greetfalse", "hailtrue", "enterfalse"})
}

// TestCollisions proves that the earlier claimant wins each collision and the later one is reported.
func TestCollisions(t *testing.T) {
	for _, c := range []struct {
		rule     string
		services []*kernelcontract.Service
		want     []string // "claimant|claim|owner"
		left     string   // a word that must still be there, "ref path…"
	}{
		{"group", []*kernelcontract.Service{
			{ID: "a/s", Group: []string{"g"}, Methods: ms{method("a/s.one", kernelcontract.CLI{})}},
			{ID: "b/s", Group: []string{"g"}, Methods: ms{method("b/s.two", kernelcontract.CLI{})}},
		}, []string{`b/s|group "g"|a/s`}, "a/s.one g one"},
		{"group by alias", []*kernelcontract.Service{
			{ID: "a/s", Group: []string{"g"}, Methods: ms{method("a/s.one", kernelcontract.CLI{})}},
			{ID: "b/s", Group: []string{"h"}, Aliases: [][]string{{"g"}}, Methods: ms{method("b/s.two", kernelcontract.CLI{})}},
		}, []string{`b/s|group "g"|a/s`}, "b/s.two h two"},
		{"word", []*kernelcontract.Service{
			{ID: "a/s", Group: []string{"g"}, Methods: ms{method("a/s.one", kernelcontract.CLI{})}},
			{ID: "b/s", Group: []string{"h"}, Methods: ms{method("b/s.two", kernelcontract.CLI{Group: []string{"g"}, Name: "one", Aliases: []string{"uno"}})}},
		}, []string{`b/s.two|word "g one"|a/s.one`}, "b/s.two g uno"},
		{"flag alias", []*kernelcontract.Service{
			{ID: "a/s", Group: []string{"g"}, Methods: ms{
				method("a/s.one", kernelcontract.CLI{}),
				method("a/s.two", kernelcontract.CLI{FlagAlias: &kernelcontract.FlagAlias{Group: []string{"g"}, Name: "one", Flag: "x"}}),
				method("a/s.three", kernelcontract.CLI{FlagAlias: &kernelcontract.FlagAlias{Group: []string{"g"}, Name: "one", Flag: "x"}}),
			}},
		}, []string{`a/s.three|flag "g one --x"|a/s.two`}, "a/s.three g three"},
		{"flag alias that is a flag", []*kernelcontract.Service{
			{ID: "a/s", Group: []string{"g"}, Methods: ms{
				method("a/s.two", kernelcontract.CLI{FlagAlias: &kernelcontract.FlagAlias{Group: []string{"g"}, Name: "one", Flag: "salutation"}}),
				method("a/s.one", kernelcontract.CLI{Args: []string{"name"}}),
			}},
		}, []string{`a/s.two|flag "g one --salutation"|a/s.one`}, "a/s.two g two"},
		{"flag alias that is a global flag", []*kernelcontract.Service{
			{ID: "a/s", Group: []string{"g"}, Methods: ms{
				method("a/s.two", kernelcontract.CLI{FlagAlias: &kernelcontract.FlagAlias{Group: []string{"g"}, Name: "one", Flag: "json"}}),
			}},
		}, []string{`a/s.two|flag "g one --json"|bb itself`}, "a/s.two g two"},
		{"kernel group", []*kernelcontract.Service{
			{ID: "kernel/x", Group: []string{"closed"}, Methods: ms{method("kernel/x.one", kernelcontract.CLI{})}},
			{ID: "b/s", Group: []string{"closed", "sub"}, Methods: ms{method("b/s.two", kernelcontract.CLI{}), method("b/s.three", kernelcontract.CLI{Group: []string{"closed"}})}},
		}, []string{`b/s|group "closed sub"|kernel/x`, `b/s.three|a word in group "closed"|kernel/x`}, "kernel/x.one closed one"},
		{"extensible kernel group", []*kernelcontract.Service{
			{ID: "kernel/runtime", Group: []string{"runtime"}, Methods: ms{method("kernel/runtime.status", kernelcontract.CLI{})}},
			{ID: "b/s", Group: []string{"h"}, Methods: ms{method("b/s.two", kernelcontract.CLI{Group: []string{"runtime"}})}},
		}, nil, "b/s.two runtime two"},
		{"word of bb itself", []*kernelcontract.Service{
			{ID: "b/s", Group: []string{"h"}, Methods: ms{method("b/s.login", kernelcontract.CLI{Group: []string{}})}},
		}, []string{`b/s.login|word "login"|bb itself`}, ""},
		{"group of bb itself", []*kernelcontract.Service{
			{ID: "b/s", Group: []string{"guide"}, Methods: ms{method("b/s.two", kernelcontract.CLI{})}},
			{ID: "c/s", Group: []string{"sdk"}, Methods: ms{method("c/s.two", kernelcontract.CLI{})}},
		}, []string{`b/s|group "guide"|bb itself`, `c/s|group "sdk"|bb itself`}, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			tree, conflicts := word.BuildTree(defs(t, c.services...))
			var got []string
			for _, x := range conflicts {
				got = append(got, x.Claimant+"|"+x.Claim+"|"+x.Owner)
				is.True(word.IsConflict(x.String()))
			}
			is.Equal(got, c.want)
			if ref, path, ok := strings.Cut(c.left, " "); ok {
				parts := strings.Fields(path)
				is.Equal(tree.Ref(parts[:len(parts)-1], parts[len(parts)-1]), ref)
			}
		})
	}
}

func TestToolCollision(t *testing.T) {
	is := is.New(t)
	first, second := method("a/s.one", kernelcontract.CLI{}), method("b/s.two", kernelcontract.CLI{})
	first.Tool, second.Tool = tool("same"), tool("same")
	tree, conflicts := word.BuildTree(defs(t,
		&kernelcontract.Service{ID: "a/s", Group: []string{"g"}, Methods: ms{first}},
		&kernelcontract.Service{ID: "b/s", Group: []string{"h"}, Methods: ms{second}}))
	is.Equal(len(conflicts), 1)
	is.Equal(conflicts[0], word.Conflict{Claimant: "b/s.two", Claim: `tool "same"`, Owner: "a/s.one"})
	is.True(tree.HasTool("a/s.one"))
	is.True(!tree.HasTool("b/s.two"))
	is.Equal(tree.Ref([]string{"h"}, "two"), "b/s.two") // the word stays
}

func TestTrim(t *testing.T) {
	is := is.New(t)
	all := defs(t,
		&kernelcontract.Service{ID: "a/s", Group: []string{"g"}, Methods: ms{method("a/s.one", kernelcontract.CLI{})}},
		&kernelcontract.Service{ID: "b/s", Group: []string{"g"}, Aliases: [][]string{{"h"}}, Methods: ms{method("b/s.two", kernelcontract.CLI{})}},
		&kernelcontract.Service{ID: "c/s", Group: []string{"i"}, Methods: ms{method("c/s.one", kernelcontract.CLI{Group: []string{"g"}, Aliases: []string{"uno"}})}},
		&kernelcontract.Service{ID: "d/s", Group: []string{"g"}, Methods: ms{method("d/s.two", kernelcontract.CLI{})}})
	tree, _ := word.BuildTree(all)
	trim := func(i int) *word.Word {
		w, err := word.Of(all[i].Methods[0], all[i])
		is.NoErr(err)
		return tree.Trim(w)
	}
	is.Equal(strings.Join(trim(0).Path(), " "), "g one")
	is.Equal(strings.Join(trim(1).Path(), " "), "h two") // the alias is all it got
	is.Equal(strings.Join(trim(2).Path(), " "), "g uno")
	is.Equal(trim(3), nil)
	is.Equal(tree.Trim(nil), nil)
}

func BenchmarkBuildTree(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n, " methods"), func(b *testing.B) {
			services := make([]*kernelcontract.Service, n/10)
			for i := range services {
				s := &kernelcontract.Service{ID: fmt.Sprintf("p%d/s%d", i, i), Summary: "S"}
				for j := range 10 {
					s.Methods = append(s.Methods, method(fmt.Sprintf("%s.m%d", s.ID, j), kernelcontract.CLI{Args: []string{"name"}}))
				}
				services[i] = s
			}
			all := defs(b, services...)
			b.ReportAllocs()
			for b.Loop() {
				word.BuildTree(all)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/method")
		})
	}
}

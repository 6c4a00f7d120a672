package order_test

import (
	"testing"

	"github.com/bb-kernel/bb/bridgekit/internal/order"
	"github.com/matryer/is"
)

func values(l *order.List[int]) []int {
	got := []int{}
	for n := l.Front(); n != nil; n = n.Next() {
		if n.List() != l || (n.Prev() == nil) != (n == l.Front()) || n.Prev() != nil && n.Prev().Next() != n {
			panic("broken links")
		}
		got = append(got, n.Value)
	}
	if len(got) != l.Len() {
		panic("wrong length")
	}
	return got
}

func TestList(t *testing.T) {
	is := is.New(t)
	var l order.List[int]
	nodes := make([]order.Node[int], 5)
	for i := range nodes {
		nodes[i].Value = i
	}
	is.Equal(values(&l), []int{})
	for i := range 4 {
		l.PushBack(&nodes[i])
	}
	is.Equal(values(&l), []int{0, 1, 2, 3})
	nodes[0].Remove()
	nodes[2].Remove()
	nodes[3].Remove()
	nodes[3].Remove() // not in a list: nothing happens
	is.Equal(values(&l), []int{1})
	l.InsertAfter(&nodes[0], nil)
	l.InsertAfter(&nodes[4], &nodes[0])
	l.InsertAfter(&nodes[2], &nodes[1])
	is.Equal(values(&l), []int{0, 4, 1, 2})
	for l.Front() != nil {
		l.Front().Remove()
	}
	is.Equal(values(&l), []int{})
}

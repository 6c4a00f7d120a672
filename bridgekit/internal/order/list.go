// Package order keeps things in the order in which they came, so that a bounded table knows its oldest entry. Every
// operation takes constant time and allocates nothing.
package order

// List is a list of nodes, oldest first. The zero value is an empty list. It is not safe for concurrent use.
type List[T any] struct {
	front, back *Node[T]
	n           int
}

// Node is a place in at most one list. It is meant to be a field of the value that it carries.
type Node[T any] struct {
	Value      T
	prev, next *Node[T]
	list       *List[T]
}

// Len returns the number of nodes.
func (l *List[T]) Len() int { return l.n }

// Front returns the oldest node, nil for an empty list.
func (l *List[T]) Front() *Node[T] { return l.front }

// PushBack adds n, which is in no list, as the newest.
func (l *List[T]) PushBack(n *Node[T]) { l.InsertAfter(n, l.back) }

// InsertAfter adds n, which is in no list, behind prev, or as the oldest when prev is nil.
func (l *List[T]) InsertAfter(n, prev *Node[T]) {
	n.list, n.prev = l, prev
	if prev == nil {
		n.next, l.front = l.front, n
	} else {
		n.next, prev.next = prev.next, n
	}
	if n.next == nil {
		l.back = n
	} else {
		n.next.prev = n
	}
	l.n++
}

// Next returns the node after n, nil when n is the newest.
func (n *Node[T]) Next() *Node[T] { return n.next }

// Prev returns the node before n, nil when n is the oldest.
func (n *Node[T]) Prev() *Node[T] { return n.prev }

// List returns the list that holds n, nil when none does.
func (n *Node[T]) List() *List[T] { return n.list }

// Remove takes n out of its list, if it is in one.
func (n *Node[T]) Remove() {
	l := n.list
	if l == nil {
		return
	}
	if n.prev == nil {
		l.front = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		l.back = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.list, n.prev, n.next = nil, nil, nil
	l.n--
}

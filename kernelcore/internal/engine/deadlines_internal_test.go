package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

// A call that is answered just when its time is up leaves nothing behind that the next call of its job would take for its
// own deadline.
func TestRemovedJobKeepsNoSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var d deadlines
		defer d.stop()
		j := (&Engine{}).newJob()
		for range 3 {
			j.ctx = &callContext{deadline: time.Now().Add(time.Second)}
			d.add(j)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			is.Equal(len(j.late), 1)
			d.remove(j)
			is.Equal(len(j.late), 0)
			d.add(j) // its deadline has passed
			<-j.late
			d.remove(j)
			d.add(j)
			d.remove(j) // before it rings
			time.Sleep(time.Second)
			is.Equal(len(j.late), 0)
			is.Equal(len(d.jobs), 0)
		}
	})
}

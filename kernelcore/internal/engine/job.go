package engine

import (
	"time"

	"github.com/bb-kernel/bb/kernelcontract"
)

// job is the part of a call that runs on a worker: the handler and all that is around it. One that has answered is used
// again, with its channel and its timer.
type job struct {
	engine  *Engine
	ctx     *callContext
	request *Request
	method  *Method // that was entered
	input   []byte

	res  Result
	err  *kernelcontract.Error
	done chan struct{} // gets one value when res and err are there
	late *time.Timer   // stopped between calls
}

func (e *Engine) newJob() *job {
	if j, ok := e.jobs.Get().(*job); ok {
		return j
	}
	j := &job{engine: e, done: make(chan struct{}, 1), late: time.NewTimer(time.Hour)}
	j.late.Stop()
	return j
}

// answer returns the outcome of a job that is done and keeps the job for another call.
func (j *job) answer() (Result, *kernelcontract.Error) {
	res, err := j.res, j.err
	j.late.Stop()
	*j = job{engine: j.engine, done: j.done, late: j.late}
	j.engine.jobs.Put(j)
	return res, err
}

// run runs the handler. The end of the method's instance waits until it returns.
func (j *job) run() {
	instance := j.method.instance // the job belongs to the caller again once it is done
	defer instance.leave()
	returned := false
	defer func() {
		if !returned {
			j.res, j.err = Result{}, j.engine.pluginFault(j.method, j.ctx.info.ID, errGoexit)
		}
		j.done <- struct{}{}
	}()
	j.res, j.err = j.engine.run(j.ctx, j.request, j.method, &j.ctx.info, j.input)
	returned = true
}

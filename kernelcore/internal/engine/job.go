package engine

import "github.com/bb-kernel/bb/kernelcontract"

// job is the part of a call that runs on a worker: the handler and all that is around it. One that has answered is used
// again, with its channels.
type job struct {
	engine  *Engine
	ctx     *callContext
	request *Request
	method  *Method // that was entered
	input   []byte

	res  Result
	err  *kernelcontract.Error
	done chan struct{} // gets one value when res and err are there

	late  chan struct{} // gets one value at the deadline
	place int           // in the engine's deadlines, -1 for none
}

func (e *Engine) newJob() *job {
	if j, ok := e.jobs.Get().(*job); ok {
		return j
	}
	return &job{engine: e, done: make(chan struct{}, 1), late: make(chan struct{}, 1)}
}

// answer returns the outcome of a job that is done and that no deadline waits for, and keeps the job for another call.
func (j *job) answer() (Result, *kernelcontract.Error) {
	res, err := j.res, j.err
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

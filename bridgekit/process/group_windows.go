package process

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is the job object that holds a child and everything it starts. Closing it, which the system does when this
// process ends, kills them all.
type group struct{ job windows.Handle }

// start starts the child suspended, so that it can start nothing before it is in the job.
func (g *group) start(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return os.NewSyscallError("SetInformationJobObject", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return err
	}
	if err := adopt(job, uint32(cmd.Process.Pid)); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		windows.CloseHandle(job)
		return err
	}
	g.job = job
	return nil
}

// adopt puts a suspended process into the job and lets it run.
func adopt(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|windows.PROCESS_SUSPEND_RESUME, false, pid)
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return os.NewSyscallError("AssignProcessToJobObject", err)
	}
	resume := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")
	if err := resume.Find(); err != nil {
		return err
	}
	if status, _, _ := resume.Call(uintptr(process)); status != 0 {
		return os.NewSyscallError("NtResumeProcess", windows.NTStatus(status))
	}
	return nil
}

func (g *group) terminate(cmd *exec.Cmd) {
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid))
}

func (g *group) kill(*exec.Cmd) { windows.TerminateJobObject(g.job, 1) }

func (g *group) awaitExit(cmd *exec.Cmd) { cmd.Wait() }

func (g *group) close() { windows.CloseHandle(g.job) }

func exitOf(s *os.ProcessState) Exit { return Exit{Code: s.ExitCode()} }

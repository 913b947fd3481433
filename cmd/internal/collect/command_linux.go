package collect

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// command is a process that this one starts to measure it.
type command struct {
	cmd    *exec.Cmd
	resume chan struct{} // closed to let the command run
	gone   chan struct{} // closed when it has ended
	once   sync.Once
	err    error // of Wait, when gone
}

// startStopped starts the command and stops it when it has its own program but
// has not run an instruction of it, so that events can be attached to it
// before. The command is stopped by being traced until release.
func startStopped(opt *Options) (*command, error) {
	c := &command{resume: make(chan struct{}), gone: make(chan struct{})}
	c.cmd = exec.Command(opt.Command[0], opt.Command[1:]...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = opt.Stdin, opt.Stdout, opt.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run stays on one thread until the command is let go, as only the thread that
// traces may do that.
func (c *command) run(started chan<- error) {
	defer close(c.gone)
	err := func() error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := c.cmd.Start(); err != nil {
			started <- err
			return err
		}
		if err := stopped(c.cmd.Process.Pid); err != nil {
			err = errors.Join(err, c.cmd.Process.Kill())
			started <- err
			return err
		}
		started <- nil
		<-c.resume
		return unix.PtraceDetach(c.cmd.Process.Pid)
	}()
	if c.cmd.Process != nil {
		err = errors.Join(err, c.cmd.Wait())
	}
	c.err = err
}

// stopped waits for the stop that follows the exec of a traced process.
func stopped(pid int) error {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("waiting for it to start: %w", err)
		case ws.Stopped() && ws.StopSignal() == unix.SIGTRAP:
			return nil
		}
		return fmt.Errorf("it ended before it began (status %#x)", uint32(ws))
	}
}

func (c *command) pid() int { return c.cmd.Process.Pid }

// release lets the command run.
func (c *command) release() { c.once.Do(func() { close(c.resume) }) }

// kill ends a command that never came to run.
func (c *command) kill() {
	_ = c.cmd.Process.Kill() // it may have ended by itself
	c.release()
	<-c.gone
}

// status waits for the command and returns its exit status as a shell has it:
// 128+N for the end by signal N.
func (c *command) status() int {
	<-c.gone
	ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

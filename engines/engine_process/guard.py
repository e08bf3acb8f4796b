"""The guard of one engine, a process between it and its worker: no crash leaves processes behind.

    worker  --lifeline (stdin)-->  guard  --fork-->  engine (a process group of its own)
            <----- status pipe ---

It runs by its path: `python -I -S guard.py STATUS_FD KEEP_FDS COMMAND...`. The engine inherits its
environment, working directory, stdout, stderr and the KEEP_FDS (numbers separated by commas, may be empty).

The guard starts in about 15 ms because it imports only a few modules of the standard library. `-S` hides
site-packages, so it cannot use psutil and reads /proc itself.

The guard is a process because PR_SET_PDEATHSIG fires when the *thread* that forked ends, so a worker with
many threads cannot use it. The kernel closes the lifeline however the worker dies. The guard has one thread
and can use PR_SET_PDEATHSIG: killing the guard kills the engine.

Python's `multiprocessing` has a helper process, the resource tracker, which removes shared memory and
semaphores from /dev/shm when all processes that used them have ended. Only the tracker knows their names, so
it gets a moment to do so before it is killed with the rest of the group.

An engine keeps files of requests, if any, in `requests` of its working directory. The guard removes that
folder at the end, so that nothing of a request is left when the worker is killed.

Lines on the lifeline: `stop SECONDS` (SIGTERM to the group, SIGKILL after the time), `kill` (SIGKILL to the
group). When the lifeline closes, the worker has ended: SIGKILL to the group.

JSON lines on the status pipe: `{"pid": n}` after the start or `{"error": text}` instead of it; `{"exit": code
or null, "signal": n or null, "stop_requested": whether a stop was received before}` as soon as the engine has
ended. The pipe closes when all processes that the engine left behind have ended.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIFELINE = 0
TRACKER_COMMAND = b"from multiprocessing.resource_tracker import main"
TRACKER_S = 1.0
REQUESTS = "requests"  # `REQUEST_FILES` of the worker
CLEANUP_S = 5.0  # a process in the middle of a driver call can outlive its SIGKILL for a while


def main(arguments: list[str]) -> None:
    """Start the engine, wait until it has ended, then kill the processes that it left behind."""
    status_fd, kept_fds = int(arguments[0]), [int(fd) for fd in arguments[1].split(",") if fd]
    os.set_inheritable(status_fd, False)
    prctl = _prctl()
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans of the engine become children of the guard, not of init
    child_ended = _child_ended_pipe()
    try:
        engine = _start(arguments[2:], kept_fds, prctl)
    except OSError as error:
        import json  # noqa: PLC0415 - rarely needed, and slow to import

        _report(status_fd, f'{{"error": {json.dumps(str(error))}}}')
        return
    watch = EngineWatch(engine, child_ended)
    _report(status_fd, f'{{"pid": {engine}}}')
    code, stop_requested = watch.run()
    ended = f'"exit": {code}, "signal": null' if code >= 0 else f'"exit": null, "signal": {-code}'
    _report(status_fd, f'{{{ended}, "stop_requested": {"true" if stop_requested else "false"}}}')
    _kill_leftovers(engine, child_ended)
    if os.path.isdir(REQUESTS):  # noqa: PTH112 - importing pathlib is slow
        import shutil  # noqa: PLC0415 - rarely needed, and slow to import

        shutil.rmtree(REQUESTS, ignore_errors=True)


def _prctl() -> Callable[[int, int], int]:
    """prctl(2) of Linux. On other systems a function that does nothing: only the lifeline protects there."""
    if sys.platform != "linux":
        return lambda *_: 0
    import ctypes  # noqa: PLC0415 - needed on Linux only

    prctl = ctypes.CDLL(None).prctl
    return lambda option, value: int(prctl(option, value, 0, 0, 0))


def _child_ended_pipe() -> int:
    """The end of a pipe that becomes readable when a child process ends."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _start(command: list[str], kept_fds: list[int], prctl: Callable[[int, int], int]) -> int:
    """Fork the engine and return its pid once the command runs. Raises `OSError` when it cannot be run."""
    guard = os.getpid()
    error_pipe, error_end = os.pipe()  # a successful exec closes its second end
    engine = os.fork()
    if engine == 0:
        try:
            os.setpgid(0, 0)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guard:
                os._exit(127)  # the guard died before the line above
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            # Python ignores SIGPIPE, and exec would keep that
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(error_end, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(error_end)
    for fd in kept_fds:
        os.close(fd)  # otherwise the worker would not see them close when the engine ends
    errno = os.read(error_pipe, 16)
    os.close(error_pipe)
    if errno:
        raise OSError(int(errno), os.strerror(int(errno)), command[0])
    return engine


class EngineWatch:
    """Carries out the lines of the lifeline while the engine runs.

    `engine` is the pid of the engine, `child_ended` a descriptor that is readable when a child has ended.
    """

    def __init__(self, engine: int, child_ended: int) -> None:
        self.engine = engine
        self.child_ended = child_ended
        self.stop_requested = False
        self.deadline: float | None = None  # when SIGTERM has had its time, by time.monotonic()
        self.sources = [LIFELINE, child_ended]
        self.buffer = b""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._signal(signal.SIGKILL))

    def run(self) -> tuple[int, bool]:
        """Wait until the engine ends. Returns (exit code, whether a stop was received).

        A negative exit code is the signal that ended the engine.
        """
        while True:
            timeout = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
            readable, _, _ = select.select(self.sources, [], [], timeout)
            _drain(self.child_ended)
            # before the lifeline is read: a stop request does not make an earlier end an expected one
            code = _reap(self.engine)
            if code is not None:
                return code, self.stop_requested
            if LIFELINE in readable:
                self._read_lifeline()
            if self.deadline is not None and time.monotonic() >= self.deadline:
                self.deadline = None
                self._signal(signal.SIGKILL)

    def _read_lifeline(self) -> None:
        data = os.read(LIFELINE, 4096)
        if not data:
            self.sources.remove(LIFELINE)
            self._signal(signal.SIGKILL)
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            word, _, argument = line.partition(b" ")
            if word == b"kill":
                self._signal(signal.SIGKILL)
            elif word == b"stop":
                self._stop(float(argument))

    def _stop(self, timeout_s: float) -> None:
        if not self.stop_requested:
            self._signal(signal.SIGTERM)
        self.stop_requested = True
        until = time.monotonic() + timeout_s
        self.deadline = until if self.deadline is None else min(self.deadline, until)

    def _signal(self, number: int) -> None:
        """Signal the whole group. The engine is not reaped yet, so its pid cannot have been reused."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if number == signal.SIGKILL:
                _kill(self.engine)
            else:
                os.killpg(self.engine, number)


def _reap(engine: int) -> int | None:
    """Reap all ended children, adopted orphans included. Returns the engine's exit code if it ended."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == engine:
                code = os.waitstatus_to_exitcode(ended[1])
    return code


def _kill_leftovers(engine: int, child_ended: int) -> None:
    """Kill and reap the engine's group and (on Linux) the processes that left the group and were adopted."""
    began = time.monotonic()
    while (took_s := time.monotonic() - began) < CLEANUP_S:
        spare_trackers = took_s < TRACKER_S
        orphans = _children()
        for child in orphans:
            if not (spare_trackers and _is_tracker(child)):
                os.kill(child, signal.SIGKILL)
        try:
            _kill(engine, spare_trackers=spare_trackers)
        except ProcessLookupError:
            if not orphans:
                return
        except PermissionError:
            return  # on macOS: the group has only zombies
        select.select([child_ended], [], [], 0.02)
        _drain(child_ended)
        _reap(engine)


def _kill(engine: int, *, spare_trackers: bool = True) -> None:
    """Kill the group; `spare_trackers` spares its resource trackers. Raises `OSError` without a group."""
    group = _group(engine) if spare_trackers else []
    trackers = [pid for pid in group if pid != engine and _is_tracker(pid)]
    if not trackers:
        os.killpg(engine, signal.SIGKILL)  # all at once, so that none can fork meanwhile
        return
    for pid in group:
        if pid not in trackers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _group(engine: int) -> list[int]:
    """The pids of the engine's group; empty where there is no /proc."""
    group = []
    with contextlib.suppress(OSError):
        for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:  # noqa: PTH208 - see below
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(pid) == engine:
                    group.append(pid)
    return group


def _is_tracker(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - importing pathlib is slow
            return TRACKER_COMMAND in file.read()
    except OSError:
        return False


def _children() -> list[int]:
    try:
        with open("/proc/thread-self/children") as file:  # noqa: PTH123 - importing pathlib is slow
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def _drain(child_ended: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(child_ended, 512)


def _report(status_fd: int, line: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # the worker has ended
        os.write(status_fd, line.encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The guard of one engine: a process between it and its worker, so that no death leaves a process behind.

    worker  --lifeline (stdin)-->  guard  --fork-->  engine (a process group of its own)
            <----- status pipe ---

It runs by its path (`python -I -S guard.py STATUS_FD KEEP_FDS COMMAND...`), imports little and nothing of
ours, and is up in about 15 ms. The engine inherits its environment, folder, stdout, stderr and the KEEP_FDS
(numbers with commas between, may be empty).

Why a process: PR_SET_PDEATHSIG fires when the *thread* that forked ends, so a worker full of threads cannot
use it; a pipe does what it cannot, for its end is closed by the kernel however the worker dies. The guard
has one thread, so it can: killing the guard kills the engine.

Python's `multiprocessing` has a helper process, the resource tracker: when all who used shared memory and
semaphores are gone, it removes what they left in /dev/shm. Nobody else knows what was theirs, so a SIGKILL to
the group spares it for a moment.

Lifeline, lines: `stop SECONDS` (SIGTERM to the group, SIGKILL after the time), `kill` (SIGKILL to the group).
Its end means that the worker is gone: SIGKILL to the group.
Status, JSON lines: `{"pid": n}` after the start or `{"error": text}` instead of it, `{"exit": code or null,
"signal": n or null, "asked": whether a stop was asked for before}` as soon as the engine has ended. Its end
means that all which the engine left behind is gone too.
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
TRACKER = b"from multiprocessing.resource_tracker import main"
TRACKER_S = 1.0
CLEARING_S = 5.0  # a process in the middle of a driver call can outlive its SIGKILL for a while


def main(arguments: list[str]) -> None:
    """Start the engine, watch over it until it has ended, then clear what is left of it."""
    status_fd, kept = int(arguments[0]), [int(fd) for fd in arguments[1].split(",") if fd]
    os.set_inheritable(status_fd, False)
    prctl = _prctl()
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # whoever the engine orphans becomes our child, not init's
    wake_up_message = _bell()
    try:
        engine = _start(arguments[2:], kept, prctl)
    except OSError as error:
        import json  # noqa: PLC0415 - the rare case pays for it

        _report(status_fd, f'{{"error": {json.dumps(str(error))}}}')
        return
    watch = Watch(engine, wake_up_message)
    _report(status_fd, f'{{"pid": {engine}}}')
    code, asked = watch.until_the_end()
    ended = f'"exit": {code}, "signal": null' if code >= 0 else f'"exit": null, "signal": {-code}'
    _report(status_fd, f'{{{ended}, "asked": {"true" if asked else "false"}}}')
    _clear(engine, wake_up_message)


def _prctl() -> Callable[[int, int], int]:
    """Linux' prctl; elsewhere a function that does nothing, and the lifeline alone must do."""
    if sys.platform != "linux":
        return lambda *_: 0
    import ctypes  # noqa: PLC0415 - not needed elsewhere

    prctl = ctypes.CDLL(None).prctl
    return lambda option, value: int(prctl(option, value, 0, 0, 0))


def _bell() -> int:
    """A pipe's end that becomes readable when a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reading


def _start(command: list[str], kept: list[int], prctl: Callable[[int, int], int]) -> int:
    """Fork the engine and return its pid once the command runs. Raises `OSError` when it cannot be run."""
    guard = os.getpid()
    trouble, tell = os.pipe()  # a successful exec closes it
    engine = os.fork()
    if engine == 0:
        try:
            os.setpgid(0, 0)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guard:
                os._exit(127)  # the guard died before the line above
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec keeps what is ignored
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(tell, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(tell)
    for fd in kept:
        os.close(fd)  # or the worker would not see the engine's end on them
    errno = os.read(trouble, 16)
    os.close(trouble)
    if errno:
        raise OSError(int(errno), os.strerror(int(errno)), command[0])
    return engine


class Watch:
    """The time while the engine runs."""

    def __init__(self, engine: int, wake_up_message: int) -> None:
        self.engine = engine
        self.wake_up_message = wake_up_message
        self.asked = False
        self.deadline: float | None = None  # when SIGTERM has had its time, by time.monotonic()
        self.sources = [LIFELINE, wake_up_message]
        self.buffer = b""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._signal(signal.SIGKILL))

    def until_the_end(self) -> tuple[int, bool]:
        """Obey the lifeline until the engine ends: its exit code (negative: the signal), and `asked`."""
        while True:
            timeout = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
            readable, _, _ = select.select(self.sources, [], [], timeout)
            _silence(self.wake_up_message)
            code = _reap(self.engine)  # first: a request to end does not excuse an end that came before it
            if code is not None:
                return code, self.asked
            if LIFELINE in readable:
                self._listen()
            if self.deadline is not None and time.monotonic() >= self.deadline:
                self.deadline = None
                self._signal(signal.SIGKILL)

    def _listen(self) -> None:
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
        if not self.asked:
            self._signal(signal.SIGTERM)
        self.asked = True
        until = time.monotonic() + timeout_s
        self.deadline = until if self.deadline is None else min(self.deadline, until)

    def _signal(self, number: int) -> None:
        """Signal the whole group. The engine is not reaped yet, so the number is surely still its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if number == signal.SIGKILL:
                _kill(self.engine)
            else:
                os.killpg(self.engine, number)


def _reap(engine: int) -> int | None:
    """Bury who has ended, orphans we were given included; the engine's exit code when it was among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == engine:
                code = os.waitstatus_to_exitcode(ended[1])
    return code


def _clear(engine: int, wake_up_message: int) -> None:
    """Kill and bury the rest: the engine's group, and (Linux) those that left the group and came to us."""
    began = time.monotonic()
    while (took_s := time.monotonic() - began) < CLEARING_S:
        spare = took_s < TRACKER_S
        strays = _children()
        for child in strays:
            if not (spare and _is_tracker(child)):
                os.kill(child, signal.SIGKILL)
        try:
            _kill(engine, spare=spare)
        except ProcessLookupError:
            if not strays:
                return
        except PermissionError:
            return  # what macOS says of a group of zombies
        select.select([wake_up_message], [], [], 0.02)
        _silence(wake_up_message)
        _reap(engine)


def _kill(engine: int, *, spare: bool = True) -> None:
    """SIGKILL to the group, resource trackers spared if wanted. Raises `OSError` where there is no group."""
    group = _group(engine) if spare else []
    trackers = [pid for pid in group if pid != engine and _is_tracker(pid)]
    if not trackers:
        os.killpg(engine, signal.SIGKILL)  # at once, so that nobody can fork meanwhile
        return
    for pid in group:
        if pid not in trackers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _group(engine: int) -> list[int]:
    """Who is in the engine's group; nobody where that cannot be read."""
    group = []
    with contextlib.suppress(OSError):
        for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:  # noqa: PTH208 - as below
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(pid) == engine:
                    group.append(pid)
    return group


def _is_tracker(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - pathlib costs our start
            return TRACKER in file.read()
    except OSError:
        return False


def _children() -> list[int]:
    try:
        with open("/proc/thread-self/children") as file:  # noqa: PTH123 - pathlib costs our start
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def _silence(wake_up_message: int) -> None:
    with contextlib.suppress(BlockingIOError):
        os.read(wake_up_message, 512)


def _report(status_fd: int, line: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody listens any more
        os.write(status_fd, line.encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])

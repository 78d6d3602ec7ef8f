"""Running a command with its streams untouched, while a copy of its output is kept.

The child inherits standard input and stays in our process group, so the terminal's
keyboard, job control and foreground rules apply to it as without us. Each of its
output streams is a pipe, or a terminal of its own where ours is a terminal; both are
one where ours lead to the same place, which keeps their order exact.
"""

from __future__ import annotations

import errno
import os
import re
import select
import selectors
import signal
import subprocess
import sys
import termios
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from reflexion_client.errors import ReflexionError

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD_BYTES = 64 * 1024
KEPT_BYTES = 256 * 1024
_READ_BYTES = 64 * 1024
_STDOUT, _STDERR = 1, 2

GRACE_S = 0.2
"""How long output may stay silent after the child's end before we leave. Something that
it left in the background may hold its streams open for ever."""

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])"
)
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n)")


class NotRunnable(ReflexionError):  # noqa: N818 - named for what happened
    """The command could not be started. `exit_code` is what a shell would return."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended.

    `exit_code` is its own, or 128 + n when signal n killed it. `output` is what it
    printed, the middle left out when it was long. `interrupted` says that its user
    stopped it, with the keyboard or by hanging up.
    """

    exit_code: int
    output: str
    interrupted: bool


@dataclass(slots=True)
class Kept:
    """The first and the last bytes of a stream.

    Args:
        head_bytes: how much of its beginning is kept.
        tail_bytes: how much of its end is kept.
    """

    head_bytes: int = HEAD_BYTES
    tail_bytes: int = KEPT_BYTES - HEAD_BYTES
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _dropped: int = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self.head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Trimmed only now and then: moving the tail for every small read would be slow.
        if len(self._tail) > 2 * self.tail_bytes:
            self._trim()

    def text(self) -> str:
        """Return what was kept, as a reader would have seen it on a terminal."""
        self._trim()
        gap = f"\n[… {self._dropped} bytes left out …]\n" if self._dropped else ""
        return plain((self._head + gap.encode() + self._tail).decode("utf-8", "replace"))

    def _trim(self) -> None:
        excess = len(self._tail) - self.tail_bytes
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess


def plain(text: str) -> str:
    """Return terminal output without colours, cursor movements and overwritten lines."""
    return _OVERWRITTEN.sub("", _ESCAPES.sub("", text).replace("\r\n", "\n"))


def run_child(command: Sequence[str]) -> Finished:
    """Run a command to its end.

    Raises:
        NotRunnable: there is no such command, or it cannot be executed.
    """
    with _Outputs() as outputs, _Signals() as signals:
        child = _spawn(command, outputs)
        outputs.started()
        signals.attend(child, outputs)
        outputs.forward(signals.child_ended, child)
        code = child.wait()
    return Finished(
        exit_code=code if code >= 0 else 128 - code,
        output=outputs.kept.text(),
        interrupted=signals.interrupted,
    )


def _spawn(command: Sequence[str], outputs: _Outputs) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(list(command), stdout=outputs.stdout, stderr=outputs.stderr)
    except FileNotFoundError as error:
        raise NotRunnable(f"command not found: {command[0]}", 127) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise NotRunnable(f"cannot run {command[0]}: {why}", 126) from error
    except ValueError as error:
        raise NotRunnable(f"cannot run {command[0]!r}: {error}", 126) from error


class _Outputs:
    """The child's output streams: where it writes, where we read, where that goes."""

    def __init__(self) -> None:
        self.kept = Kept()
        self._sinks: dict[int, int] = {}
        self._terminals: dict[int, int] = {}
        self._child_ends: list[int] = []
        self.stdout = self._open(_STDOUT)
        self.stderr = self.stdout if _same_place(_STDOUT, _STDERR) else self._open(_STDERR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.started()
        for source in list(self._sinks):
            self._close(source)

    def started(self) -> None:
        """Let go of the child's ends: only then does its end end the streams."""
        while self._child_ends:
            os.close(self._child_ends.pop())

    def resize(self) -> bool:
        """Give the child's terminals the size of ours; return whether it has any."""
        for source, sink in list(self._terminals.items()):
            try:
                termios.tcsetwinsize(source, termios.tcgetwinsize(sink))
            except (OSError, termios.error):
                continue
        return bool(self._terminals)

    def forward(self, ended: int, child: subprocess.Popen[bytes]) -> None:
        """Copy output until the streams end, or the child has and they are silent.

        Args:
            ended: becomes readable whenever the child may have ended.
            child: the running command.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(ended, selectors.EVENT_READ)
            for source in self._sinks:
                selector.register(source, selectors.EVENT_READ)
            while self._sinks or child.poll() is None:
                timeout = None if child.poll() is None else GRACE_S
                ready = selector.select(timeout)
                if not ready and timeout is not None:
                    return
                for key, _ in ready:
                    if key.fd == ended:
                        os.read(ended, _READ_BYTES)
                    elif not self._copy(key.fd):
                        selector.unregister(key.fd)
                        self._close(key.fd)

    def _copy(self, source: int) -> bool:
        """Copy what is there; return whether more may come."""
        try:
            data = os.read(source, _READ_BYTES)
        except OSError as error:
            # A terminal whose other end is closed says EIO where a pipe says "end".
            if error.errno == errno.EIO:
                return False
            raise
        self.kept.feed(data)
        return bool(data) and _write_all(self._sinks[source], data)

    def _open(self, sink: int) -> int:
        if os.isatty(sink):
            source, child_end = os.openpty()
            _make_transparent(child_end)
            self._terminals[source] = sink
        else:
            source, child_end = os.pipe()
        self._sinks[source] = sink
        self._child_ends.append(child_end)
        self.resize()
        return child_end

    def _close(self, source: int) -> None:
        del self._sinks[source]
        self._terminals.pop(source, None)
        os.close(source)


class _Signals:
    """Passes signals on to the child, and tells when it may have ended.

    Meanwhile they are blocked here, and a thread takes them one by one: it learns who
    sent a signal, and it works while the copying waits for a slow reader.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self.child_ended, self._tell = os.pipe()
        forwarded = [s for s in _FORWARDED if signal.getsignal(s) is not signal.SIG_IGN]
        self._watched = {*forwarded, signal.SIGCHLD, signal.SIGWINCH}
        self._early: list[int] = []
        self._before: dict[int, object] = {}
        self._thread: threading.Thread | None = None
        self._leaving = False

    def __enter__(self) -> Self:
        # Handlers first, blocking second: a blocked signal would stay blocked in the child.
        for number in self._watched:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None and self._thread.ident is not None:
            self._leaving = True
            signal.pthread_kill(self._thread.ident, signal.SIGCHLD)
            self._thread.join()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._watched)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self.child_ended)
        os.close(self._tell)

    def attend(self, child: subprocess.Popen[bytes], outputs: _Outputs) -> None:
        """Start passing signals on, those first that came while the child was started."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self._watched)
        for number in self._early:
            self._pass_on(number, child, outputs, had_it=_from_keyboard(number))
        # One whose end went by before signals were blocked must not be waited for.
        os.write(self._tell, b".")
        self._thread = threading.Thread(
            target=self._attend, args=(child, outputs), name="signals", daemon=True
        )
        self._thread.start()

    def _note(self, number: int, _frame: object) -> None:
        self._early.append(number)

    def _attend(self, child: subprocess.Popen[bytes], outputs: _Outputs) -> None:
        while not self._leaving:
            number, had_it = _next_signal(self._watched)
            if number == signal.SIGCHLD:
                os.write(self._tell, b".")
            else:
                self._pass_on(number, child, outputs, had_it=had_it)

    def _pass_on(
        self, number: int, child: subprocess.Popen[bytes], outputs: _Outputs, *, had_it: bool
    ) -> None:
        if number == signal.SIGCHLD:
            return
        if number == signal.SIGWINCH:
            # The child heard of it together with us, but looked at a terminal whose
            # size is only now right.
            had_it = not outputs.resize() and had_it
        elif number != signal.SIGTERM:
            self.interrupted = True
        if not had_it:
            child.send_signal(number)


def _next_signal(watched: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal; return it, and whether the child has received it as well.

    A signal from the terminal goes to the whole process group. A second one would look
    like a user who presses Ctrl-C twice, which many programs take as "now, and hard".
    """
    if sys.platform == "linux":
        info = signal.sigwaitinfo(watched)
        # Positive: sent by the kernel.
        return info.si_signo, info.si_code > 0
    number = signal.sigwait(watched)
    return number, _from_keyboard(number)


def _from_keyboard(number: int) -> bool:
    """Guess whether a signal came from the terminal, where its sender is not known."""
    if number not in _KEYBOARD:
        return False
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _same_place(one: int, other: int) -> bool:
    first, second = os.fstat(one), os.fstat(other)
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


def _make_transparent(terminal: int) -> None:
    """Let bytes through as they are: our own terminal does the translating."""
    attributes = termios.tcgetattr(terminal)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)


def _write_all(sink: int, data: bytes) -> bool:
    """Write everything; return False when nobody will ever read it."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(sink, rest) :]
        except BlockingIOError:
            select.select([], [sink], [])
        except OSError:
            return False
    return True

"""Running a command with its streams untouched, while a copy of its output is kept.

The child inherits standard input and stays in our process group, so the terminal's
keyboard, job control and foreground rules apply to it as without us. Each of its
output streams is a pipe, or a terminal of its own where ours is a terminal; both are
one where ours lead to the same place, which keeps their order exact.
"""

from __future__ import annotations

import errno
import os
import select
import selectors
import subprocess
import termios
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from reflexion_client.errors import ReflexionError

from .kept import Kept
from .signals import Signals

if TYPE_CHECKING:
    from collections.abc import Sequence

_READ_BYTES = 64 * 1024
_STDOUT, _STDERR = 1, 2

GRACE_S = 0.2
"""How long output may stay silent after the child's end before we leave. Something that
it left in the background may hold its streams open for ever."""


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
    stopped it: with the keyboard, by hanging up, or by reading no further (`| head`).
    """

    exit_code: int
    output: str
    interrupted: bool


def run_child(command: Sequence[str]) -> Finished:
    """Run a command to its end.

    Raises:
        NotRunnable: there is no such command, or it cannot be executed.
    """
    with _Outputs() as outputs, Signals() as signals:
        child = _spawn(command, outputs)
        outputs.started()
        signals.attend(child, outputs.resize)
        outputs.forward(signals.child_ended, child)
        code = child.wait()
    return Finished(
        exit_code=code if code >= 0 else 128 - code,
        output=outputs.kept.text(),
        interrupted=signals.interrupted or outputs.reader_left,
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
        self.reader_left = False
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
        if data and not _write_all(self._sinks[source], data):
            self.reader_left = True
            return False
        return bool(data)

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

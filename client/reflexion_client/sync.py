"""The blocking client."""

from __future__ import annotations

import os
import select
import socket as sockets
import threading
import time
from types import TracebackType
from typing import Any, Self, TypeVar

from . import verbs, wire
from ._address import find_address, workspace_of
from .errors import CallTimeout, ConnectionLost, DaemonUnreachable, RemoteError, from_wire
from .model import Enqueued, Recall, Reflected, Remembered, Trigger

T = TypeVar("T")
Json = dict[str, Any]

CONNECT_TIMEOUT_S = 1.0
CALL_TIMEOUT_S = 10.0
_FOR_EVER_S = 1_000_000.0
"""Longer deadlines mean no deadline, and would overflow the system's timers."""


class Client:
    """A connection to the daemon, made at the first call and again when it breaks.

    Safe to share between threads: calls take turns. Not safe across a fork: make a
    new one in the child.

    Args:
        socket: the daemon's socket; found by itself when None.
        state_dir: the daemon's state folder; the user's own when None.
        source: the name of your tool, kept with every report and lesson.
        workspace: the project you work in; the git root of the current folder when None.
        connect_timeout_s: deadline for connecting, in seconds.
        call_timeout_s: deadline for one call, in seconds.
        autostart: start a daemon when none answers; REFLEXIOND_AUTOSTART when None.
    """

    def __init__(
        self,
        socket: str | os.PathLike[str] | None = None,
        *,
        state_dir: str | os.PathLike[str] | None = None,
        source: str = "",
        workspace: str | os.PathLike[str] | None = None,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        call_timeout_s: float = CALL_TIMEOUT_S,
        autostart: bool | None = None,
    ) -> None:
        self.address, configured = find_address(socket, state_dir)
        self.source = source
        self.workspace = workspace_of(workspace)
        self._connect_timeout_s = connect_timeout_s
        self._call_timeout_s = call_timeout_s
        self._autostart = configured if autostart is None else autostart
        self._lock = threading.Lock()
        self._connection: _Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The next call opens a new one."""
        with self._lock:
            self._drop()

    def perform(self, call: verbs.Call[T], timeout_s: float | None = None) -> T:
        """Carry out one call and return its answer.

        Raises:
            DaemonUnreachable: nobody answers.
            CallTimeout: no answer within the deadline; the call may still be done.
            ConnectionLost: the connection broke; whether the call was done is unknown.
            RemoteError: the daemon refused, see the tree in errors.py.
        """
        timeout_s = self._call_timeout_s if timeout_s is None else timeout_s
        timeout_s = min(timeout_s, _FOR_EVER_S)
        deadline = time.monotonic() + timeout_s
        # Time spent waiting for another thread's call counts against this one's deadline.
        if not self._lock.acquire(timeout=max(timeout_s, 0)):
            raise CallTimeout(f"{call.method}: the client was busy for {timeout_s:g} s")
        try:
            reused = self._connection is not None
            try:
                return call.read(self._exchange(call, deadline))
            except ConnectionLost:
                # The daemon was restarted since the last call: the kept connection was dead.
                if not (reused and call.repeatable):
                    raise
                return call.read(self._exchange(call, deadline))
        finally:
            self._lock.release()

    def _exchange(self, call: verbs.Call[T], deadline: float) -> Any:
        if self._connection is None:
            self._connection = self._connect(deadline)
        try:
            return self._connection.call(call.method, call.params, deadline)
        except (RemoteError, CallTimeout) as error:
            if isinstance(error, _HalfSent):
                self._drop()
            raise
        except BaseException:
            # Half a frame may be on its way, if only because of an interrupt.
            self._drop()
            raise

    def _connect(self, deadline: float) -> _Connection:
        path = self.address.socket()
        budget = min(self._connect_timeout_s, max(deadline - time.monotonic(), 0.001))
        try:
            return _Connection(os.fspath(path), budget)
        except OSError as error:
            if not self._autostart:
                raise DaemonUnreachable(f"no daemon answers at {path} ({error})") from error
            from .autostart import start  # noqa: PLC0415 - rarely needed

            address = self.address
            path = start(
                address.state_dir,
                address.socket,
                arguments=address.arguments(),
                timeout_s=max(deadline - time.monotonic(), 0.0),
            )
            try:
                return _Connection(os.fspath(path), self._connect_timeout_s)
            except OSError as again:
                raise DaemonUnreachable(f"no daemon answers at {path} ({again})") from again

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ping(self) -> Json:
        """Ask whether the daemon is alive. Answers versions, boot id and capabilities."""
        return self.perform(verbs.ping())

    def hello(self, client: str, version: str) -> Json:
        """Introduce the client by name and version."""
        return self.perform(verbs.hello(client, version))

    def status(self) -> Json:
        """Ask how the daemon is."""
        return self.perform(verbs.status())

    def shutdown(self) -> Json:
        """Ask the daemon to drain and stop."""
        return self.perform(verbs.shutdown())

    def config(self) -> Json:
        """Ask for every setting with its value and origin."""
        return self.perform(verbs.config())

    def enqueue(
        self,
        task: str,
        *,
        attempt: str = "",
        outcome: str = "",
        trigger: str = Trigger.ERROR,
        workspace: str | None = None,
        source: str | None = None,
        wait_s: float | None = None,
        timeout_s: float | None = None,
    ) -> Enqueued:
        """Report a failure. When this returns, the report is on disk.

        Args:
            task: what was to be done.
            attempt: what was tried: commands, their output.
            outcome: how it ended, such as "ERROR: exit status 2".
            trigger: one of `Trigger`.
            workspace: the project, when it is not this client's.
            source: the reporting tool, when it is not this client's.
            wait_s: how long to wait for a slot in a full queue; the daemon's block
                timeout when None.
            timeout_s: deadline of the call; the client's when None.
        """
        call = verbs.enqueue(
            task=task,
            attempt=attempt,
            outcome=outcome,
            trigger=trigger,
            workspace=self.workspace if workspace is None else workspace,
            source=self.source if source is None else source,
            wait_s=wait_s,
        )
        return self.perform(call, timeout_s)

    def reflect(
        self,
        tool_name: str,
        *,
        input: str = "",  # noqa: A002 - the field's name in the protocol
        output: str = "",
        error: str = "",
        task: str = "",
        record: bool = True,
    ) -> Reflected:
        """Judge a tool's failure at once; with `record`, a true failure is enqueued too."""
        return self.perform(
            verbs.reflect(
                tool_name=tool_name,
                input=input,
                output=output,
                error=error,
                task=task,
                workspace=self.workspace,
                source=self.source,
                record=record,
            )
        )

    def remember(self, text: str) -> Remembered:
        """Store a lesson of the user's own, now and as written."""
        return self.perform(verbs.remember(text=text, workspace=self.workspace, source=self.source))

    def recall(
        self,
        task: str,
        *,
        limit: int | None = None,
        floor: float | None = None,
        timeout_s: float | None = None,
    ) -> Recall:
        """Ask for the lessons that fit a task. An empty answer means that none does.

        Args:
            task: what is about to be done.
            limit: the most lessons to return; the daemon's default (3) when None.
            floor: the least relevance; that of the embedding model when None.
            timeout_s: deadline of the call; the client's when None.
        """
        call = verbs.recall(
            task=task,
            workspace=self.workspace,
            limit=limit,
            floor=floor,
            timeout_s=timeout_s,
        )
        return self.perform(call, timeout_s)

    def jobs(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List pending, running and parked jobs in order of arrival."""
        return self.perform(verbs.jobs(limit=limit, after=after))

    def failed(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List dead jobs, newest first."""
        return self.perform(verbs.failed(limit=limit, after=after))

    def history(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List ended jobs, newest first."""
        return self.perform(verbs.history(limit=limit, after=after))

    def job(self, job_id: str) -> Json:
        """Show one job, wherever it is, by id or unique prefix."""
        return self.perform(verbs.job(job_id))

    def retry(self, job_id: str | None) -> Json:
        """Move a dead job back into the queue; None moves all of them."""
        return self.perform(verbs.retry(job_id))

    def purge(self, job_id: str | None) -> Json:
        """Give up a dead job for good; None gives up all of them."""
        return self.perform(verbs.purge(job_id))

    def drain(self) -> Json:
        """Make every waiting retry due now, and admit parked jobs where there is room."""
        return self.perform(verbs.drain())

    def lessons(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List lessons, newest first."""
        return self.perform(verbs.lessons(limit=limit, after=after))

    def lesson(self, lesson_id: str) -> Json:
        """Show one lesson by id or unique prefix."""
        return self.perform(verbs.lesson(lesson_id))

    def delete_lesson(self, lesson_id: str) -> Json:
        """Delete one lesson from rows, vectors and text index."""
        return self.perform(verbs.delete_lesson(lesson_id))


class _HalfSent(CallTimeout):
    """The deadline passed inside a frame: the connection cannot be used any more."""


class _Connection:
    """One socket, one call at a time. Answers to calls that were given up are skipped."""

    def __init__(self, path: str, timeout_s: float) -> None:
        self._socket = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(path)
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self._decoder = wire.Decoder()
        self._next_id = 0
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(self._socket, select.POLLOUT)
        self._readable.register(self._socket, select.POLLIN)

    def close(self) -> None:
        self._socket.close()

    def call(self, method: str, params: Json, deadline: float) -> Any:
        request_id, self._next_id = self._next_id, (self._next_id + 1) & wire.MAX_ID
        self._send(wire.encode_request(request_id, method, params), method, deadline)
        while True:
            for message in self._decoder.feed(self._receive(method, deadline)):
                if isinstance(message, wire.Response) and message.id == request_id:
                    if message.error is not None:
                        raise from_wire(message.error)
                    return message.result

    def _send(self, frame: bytes, method: str, deadline: float) -> None:
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                if not self._writable.poll(_ms_left(deadline)):
                    late = f"{method}: the daemon did not take the request in time"
                    started = len(rest) < len(frame)
                    raise (_HalfSent if started else CallTimeout)(late) from None
            except OSError as error:
                raise ConnectionLost(f"{method}: {error}") from error

    def _receive(self, method: str, deadline: float) -> bytes:
        while True:
            if not self._readable.poll(_ms_left(deadline)):
                raise CallTimeout(f"{method}: no answer in time; it may still be carried out")
            try:
                data = self._socket.recv(wire.READ_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                raise ConnectionLost(f"{method}: {error}") from error
            if not data:
                raise ConnectionLost(f"{method}: the daemon closed the connection")
            return data


def _ms_left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.0) * 1000

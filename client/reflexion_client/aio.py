"""The asyncio client: the same verbs, and as many calls under way as you like."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any, Self, TypeVar

from . import verbs, wire
from ._address import find_address, workspace_of
from .errors import CallTimeout, ConnectionLost, DaemonUnreachable, ProtocolError, from_wire
from .model import Enqueued, Recall, Reflected, Remembered, Trigger
from .sync import CALL_TIMEOUT_S, CONNECT_TIMEOUT_S

T = TypeVar("T")
Json = dict[str, Any]

CLOSE_TIMEOUT_S = 1.0
"""How long closing a connection waits for requests that are still being sent."""


class AsyncClient:
    """A pipelining connection to the daemon, made at the first call and again when it breaks.

    Concurrent calls share the connection; answers come as they are ready. Belongs to
    one event loop. Arguments as for `Client`.
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
        self._connecting = asyncio.Lock()
        self._link: _Link | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls under way fail with ConnectionLost."""
        if self._link is not None:
            link, self._link = self._link, None
            await link.close()

    async def perform(self, call: verbs.Call[T], timeout_s: float | None = None) -> T:
        """Carry out one call and return its answer. Raises as `Client.perform`."""
        timeout_s = self._call_timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                reused = self._link is not None
                try:
                    return call.read(await self._exchange(call))
                except ConnectionLost:
                    # A link that broke is still ours; one that was closed is not replaced.
                    if not (reused and call.repeatable and self._link is not None):
                        raise
                    return call.read(await self._exchange(call))
        except TimeoutError:
            raise CallTimeout(
                f"{call.method}: no answer in {timeout_s:g} s; it may still be carried out"
            ) from None

    async def _exchange(self, call: verbs.Call[T]) -> Any:
        link = self._link
        if link is None or link.lost:
            link = await self._connected()
        return await link.call(call.method, call.params)

    async def _connected(self) -> _Link:
        async with self._connecting:
            if self._link is None or self._link.lost:
                self._link = await self._connect()
            return self._link

    async def _connect(self) -> _Link:
        path = self.address.socket()
        try:
            return await self._open(os.fspath(path))
        except OSError as error:
            if not self._autostart:
                raise DaemonUnreachable(f"no daemon answers at {path} ({error})") from error
        from .autostart import start  # noqa: PLC0415 - rarely needed

        address = self.address
        path = await asyncio.to_thread(
            start, address.state_dir, address.socket, arguments=address.arguments()
        )
        try:
            return await self._open(os.fspath(path))
        except OSError as error:
            raise DaemonUnreachable(f"no daemon answers at {path} ({error})") from error

    async def _open(self, path: str) -> _Link:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._connect_timeout_s):
            _, link = await loop.create_unix_connection(_Link, path)
        return link

    async def ping(self) -> Json:
        """Ask whether the daemon is alive. Answers versions, boot id and capabilities."""
        return await self.perform(verbs.ping())

    async def hello(self, client: str, version: str) -> Json:
        """Introduce the client by name and version."""
        return await self.perform(verbs.hello(client, version))

    async def status(self) -> Json:
        """Ask how the daemon is."""
        return await self.perform(verbs.status())

    async def shutdown(self) -> Json:
        """Ask the daemon to drain and stop."""
        return await self.perform(verbs.shutdown())

    async def config(self) -> Json:
        """Ask for every setting with its value and origin."""
        return await self.perform(verbs.config())

    async def enqueue(
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
        """Report a failure. When this returns, the report is on disk. See `Client.enqueue`."""
        call = verbs.enqueue(
            task=task,
            attempt=attempt,
            outcome=outcome,
            trigger=trigger,
            workspace=self.workspace if workspace is None else workspace,
            source=self.source if source is None else source,
            wait_s=wait_s,
        )
        return await self.perform(call, timeout_s)

    async def reflect(
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
        return await self.perform(
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

    async def remember(self, text: str) -> Remembered:
        """Store a lesson of the user's own, now and as written."""
        return await self.perform(
            verbs.remember(text=text, workspace=self.workspace, source=self.source)
        )

    async def recall(
        self,
        task: str,
        *,
        limit: int | None = None,
        floor: float | None = None,
        timeout_s: float | None = None,
    ) -> Recall:
        """Ask for the lessons that fit a task. See `Client.recall`."""
        call = verbs.recall(
            task=task,
            workspace=self.workspace,
            limit=limit,
            floor=floor,
            timeout_s=timeout_s,
        )
        return await self.perform(call, timeout_s)

    async def jobs(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List pending, running and parked jobs in order of arrival."""
        return await self.perform(verbs.jobs(limit=limit, after=after))

    async def failed(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List dead jobs, newest first."""
        return await self.perform(verbs.failed(limit=limit, after=after))

    async def history(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List ended jobs, newest first."""
        return await self.perform(verbs.history(limit=limit, after=after))

    async def job(self, job_id: str) -> Json:
        """Show one job, wherever it is, by id or unique prefix."""
        return await self.perform(verbs.job(job_id))

    async def retry(self, job_id: str | None) -> Json:
        """Move a dead job back into the queue; None moves all of them."""
        return await self.perform(verbs.retry(job_id))

    async def purge(self, job_id: str | None) -> Json:
        """Give up a dead job for good; None gives up all of them."""
        return await self.perform(verbs.purge(job_id))

    async def drain(self) -> Json:
        """Make every waiting retry due now, and admit parked jobs where there is room."""
        return await self.perform(verbs.drain())

    async def lessons(self, *, limit: int = 50, after: int | None = None) -> Json:
        """List lessons, newest first."""
        return await self.perform(verbs.lessons(limit=limit, after=after))

    async def lesson(self, lesson_id: str) -> Json:
        """Show one lesson by id or unique prefix."""
        return await self.perform(verbs.lesson(lesson_id))

    async def delete_lesson(self, lesson_id: str) -> Json:
        """Delete one lesson from rows, vectors and text index."""
        return await self.perform(verbs.delete_lesson(lesson_id))


class _Link(asyncio.Protocol):
    """One socket and the calls under way on it."""

    def __init__(self) -> None:
        self.lost = False
        self._transport: asyncio.Transport | None = None
        self._decoder = wire.Decoder()
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._outbox: list[bytes] = []
        self._closed = asyncio.get_running_loop().create_future()
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's own promise
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._decoder.feed(data):
                if isinstance(message, wire.Response):
                    self._answer(message)
        except ProtocolError as error:
            self._fail(error)
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionLost(str(exc) if exc else "the daemon closed the connection"))
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def call(self, method: str, params: Json) -> Any:
        await self._room.wait()
        if self.lost or self._transport is None:
            raise ConnectionLost(f"{method}: the connection is gone")
        request_id = self._fresh_id()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[request_id] = answer
        try:
            self._send(wire.encode_request(request_id, method, params))
            return await answer
        finally:
            self._calls.pop(request_id, None)

    def _send(self, request: bytes) -> None:
        # Calls made together are sent together.
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outbox.append(request)

    def _flush(self) -> None:
        requests, self._outbox = b"".join(self._outbox), []
        if requests and self._transport is not None:
            self._transport.write(requests)

    async def close(self) -> None:
        self._flush()
        if self._transport is not None:
            self._transport.close()
            # What a daemon that does not read is still owed is given up.
            _, late = await asyncio.wait([self._closed], timeout=CLOSE_TIMEOUT_S)
            if late:
                self._transport.abort()
        await self._closed

    def _fresh_id(self) -> int:
        # Ids wrap after four billion calls; one that is still under way is not reused.
        while self._next_id in self._calls:
            self._next_id = (self._next_id + 1) & wire.MAX_ID
        request_id, self._next_id = self._next_id, (self._next_id + 1) & wire.MAX_ID
        return request_id

    def _answer(self, message: wire.Response) -> None:
        answer = self._calls.get(message.id)
        if answer is None or answer.done():
            return
        if message.error is not None:
            answer.set_exception(from_wire(message.error))
        else:
            answer.set_result(message.result)

    def _fail(self, error: Exception) -> None:
        self.lost = True
        self._room.set()
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(error)

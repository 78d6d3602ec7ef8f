"""Serve MessagePack-RPC on a stream socket. Each connection looks after itself.

Requests of a connection run concurrently and are answered as they are ready. A client
that sends too much is read more slowly; one that does not read its answers is dropped;
a broken frame closes the connection that sent it, and no other.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from reflexion_client import wire
from reflexion_client.errors import (
    BadParams,
    InternalError,
    Overloaded,
    ProtocolError,
    ReflexionError,
    RemoteError,
    StoreUnavailable,
    UnknownMethod,
)
from reflexiond.errors import StoreFailed

log = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any]], Awaitable[Any]]

SLOW_READER_S = 30.0
"""How long a client may leave its answers unread before it is dropped."""
WRITE_BUFFER_BYTES = 1024 * 1024
SENT_AT_ONCE_BYTES = 16 * 1024
"""Larger answers do not wait for others to be sent with."""
MAX_ANSWERING = 8
"""How many requests with large answers one connection may have worked on at once."""
TURN_AWAY_S = 2.0
"""How long a connection over the limit may wait before it asks for anything."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may ask of the server.

    `max_pending` and `max_pending_bytes` bound the requests of a connection that are
    under way; beyond them it is not read until some are answered.
    """

    max_frame_bytes: int = wire.MAX_FRAME_BYTES
    max_connections: int = 256
    max_pending: int = 1024
    max_pending_bytes: int = 2 * wire.MAX_FRAME_BYTES


class Server:
    """Answers calls on a listening socket.

    Args:
        handlers: a function for each method; it is given the params map.
        is_trusted: whether to talk to a peer at all, asked before a byte is parsed.
        limits: what one client may ask.
        prompt: the methods whose answers are small. They are worked on as they come; the
            others only while the client reads its answers, a few at a time.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        is_trusted: Callable[[socket.socket], bool],
        limits: Limits,
        prompt: AbstractSet[str] = frozenset(),
    ) -> None:
        self.handlers = handlers
        self.is_trusted = is_trusted
        self.limits = limits
        self.prompt = prompt
        self.connections: set[_Connection] = set()
        self._server: asyncio.AbstractServer | None = None

    async def start(self, listener: socket.socket) -> None:
        """Begin to answer on a bound, listening socket, which becomes ours to close."""
        loop = asyncio.get_running_loop()
        # The socket's file is removed by whoever made it, never by asyncio.
        options: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
        listener.setblocking(False)
        self._server = await loop.create_unix_server(
            lambda: _Connection(self), sock=listener, **options
        )

    async def stop(self, grace_s: float) -> None:
        """Accept nobody, answer what is under way for up to `grace_s`, hang up. Idempotent."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        waiting = [task for link in self.connections for task in link.tasks()]
        if waiting:
            await asyncio.wait(waiting, timeout=grace_s)
        closed = [link.hang_up() for link in list(self.connections)]
        if closed:
            await asyncio.wait(closed, timeout=1.0)


class _Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._decoder = wire.Decoder(server.limits.max_frame_bytes)
        self._pending: dict[int, asyncio.Task[None]] = {}
        self._pending_bytes = 0
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over_limit = False
        self._inbox: Iterator[wire.Message] = iter(())
        self._outbox: list[bytes] = []
        self._reading = True
        self._writable = asyncio.Event()
        self._writable.set()
        self._answering = asyncio.Semaphore(MAX_ANSWERING)
        self._drop: asyncio.TimerHandle | None = None

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the requests under way."""
        return list(self._pending.values())

    def hang_up(self) -> asyncio.Future[None]:
        """Give up what is under way, send what is answered, close."""
        for task in self._pending.values():
            task.cancel()
        self._close()
        return self._closed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's own promise
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        peer = transport.get_extra_info("socket")
        if not self._server.is_trusted(peer):
            log.warning("a connection of another user was refused")
            transport.abort()
        else:
            inside = sum(not link.over_limit for link in self._server.connections)
            self.over_limit = inside >= self._server.limits.max_connections
            self._server.connections.add(self)
            if self.over_limit:
                loop = asyncio.get_running_loop()
                self._drop = loop.call_later(TURN_AWAY_S, self._close)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.connections.discard(self)
        self._writable.set()
        if self._drop is not None:
            self._drop.cancel()
        # A report whose sender hung up is stored all the same: requests run to their end.
        if not self._closed.done():
            self._closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self not in self._server.connections:
            return
        # Nothing is read while messages are left in the inbox, see `_throttle`.
        self._inbox = self._decoder.feed(data)
        self._work()

    def _work(self) -> None:
        """Begin the requests that were read, as far as the limits allow."""
        try:
            for message in self._inbox:
                if isinstance(message, wire.Request):
                    if self.over_limit:
                        self._turn_away(message)
                        return
                    self._accept(message)
                    if not self._reading:
                        return
                # Notifications ask for nothing that we offer, and no answer is awaited here.
        except wire.BadRequestShape as error:
            self._refuse(error.request_id, BadParams(str(error)))
            self._close()
        except ProtocolError as error:
            log.info("a connection was closed: %s", error)
            self._close()

    def pause_writing(self) -> None:
        self._writable.clear()
        self._throttle()
        loop = asyncio.get_running_loop()
        self._drop = loop.call_later(SLOW_READER_S, self._drop_slow_reader)

    def resume_writing(self) -> None:
        self._writable.set()
        if self._drop is not None:
            self._drop.cancel()
            self._drop = None
        self._throttle()

    def _drop_slow_reader(self) -> None:
        log.warning("a client that left its answers unread for %g s was dropped", SLOW_READER_S)
        if self._transport is not None:
            self._transport.abort()

    def _turn_away(self, request: wire.Request) -> None:
        limit = self._server.limits.max_connections
        log.warning("a connection over the limit of %d was turned away", limit)
        self._refuse(
            request.id, Overloaded(f"{limit} connections are open already: close some, try again")
        )
        self._close()

    def _accept(self, request: wire.Request) -> None:
        if request.id in self._pending:
            self._refuse(request.id, BadParams(f"the id {request.id} is under way already"))
            return
        handler = self._server.handlers.get(request.method)
        if handler is None:
            known = ", ".join(sorted(self._server.handlers))
            self._refuse(
                request.id, UnknownMethod(f"no method {request.method[:80]!r}; there are {known}")
            )
            return
        weight = self._decoder.weight
        task = asyncio.get_running_loop().create_task(self._answer(request, handler))
        self._pending[request.id] = task
        self._pending_bytes += weight
        task.add_done_callback(lambda _: self._finished(request.id, weight))
        self._throttle()

    def _finished(self, request_id: int, weight: int) -> None:
        self._pending.pop(request_id, None)
        self._pending_bytes -= weight
        self._throttle()

    async def _answer(self, request: wire.Request, handler: Handler) -> None:
        if request.method in self._server.prompt:
            self._write(await self._reply(request, handler))
            return
        async with self._answering:
            await self._writable.wait()
            self._write(await self._reply(request, handler))

    async def _reply(self, request: wire.Request, handler: Handler) -> bytes:
        """Carry out a request; return the bytes of its answer."""
        try:
            return wire.encode_result(request.id, await handler(request.params))
        except RemoteError as error:
            return wire.encode_error(request.id, error)
        except StoreFailed as error:
            return wire.encode_error(request.id, StoreUnavailable(str(error), {"full": error.full}))
        except ReflexionError as error:
            return wire.encode_error(request.id, InternalError(str(error)))
        except Exception:
            log.exception("the method %s failed", request.method)
            return wire.encode_error(
                request.id, InternalError(f"{request.method} failed; the daemon's log says why")
            )

    def _refuse(self, request_id: int, error: RemoteError) -> None:
        self._write(wire.encode_error(request_id, error))

    def _write(self, reply: bytes) -> None:
        # Answers of one commit are ready together: one system call sends them all.
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outbox.append(reply)
        if len(reply) >= SENT_AT_ONCE_BYTES:
            self._flush()

    def _flush(self) -> None:
        replies, self._outbox = b"".join(self._outbox), []
        if replies and self._transport is not None and not self._transport.is_closing():
            self._transport.write(replies)

    def _close(self) -> None:
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _throttle(self) -> None:
        """Read from this client only while it is within its limits."""
        limits = self._server.limits
        may_read = (
            self._writable.is_set()
            and len(self._pending) < limits.max_pending
            and self._pending_bytes < limits.max_pending_bytes
        )
        if may_read == self._reading or self._transport is None or self._transport.is_closing():
            return
        self._reading = may_read
        if not may_read:
            self._transport.pause_reading()
            return
        # What was read already comes first, and may be too much again.
        self._work()
        if self._reading:
            self._transport.resume_reading()

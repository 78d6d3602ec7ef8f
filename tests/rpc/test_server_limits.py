"""The server alone, with methods of our making: what one connection may have under way."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest
from raw_client import request

from reflexiond.rpc.server import MAX_ANSWERING, Limits, Server

ANSWER_LIMIT_S = 20.0
HEAVY = 1_000


class Desk:
    """Methods that begin at once and end when they are let go."""

    def __init__(self) -> None:
        self.begun: list[object] = []
        self.go = asyncio.Event()
        self.most = 0
        self._news = asyncio.Event()
        self._under_way = 0

    async def work(self, params: dict[str, Any]) -> object:
        self.begun.append(params.get("n"))
        self._news.set()
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        await self.go.wait()
        self._under_way -= 1
        return {"text": "x" * params.get("size", 0)}

    async def until(self, ask: Callable[[], bool]) -> None:
        """Wait until something holds about what has begun."""
        async with asyncio.timeout(ANSWER_LIMIT_S):
            while not ask():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def serving(path: Path, desk: Desk, **limits: int) -> Any:
    """Serve the desk's `slow` and `prompt`, and give a connection to it."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    server = Server(
        {"slow": desk.work, "prompt": desk.work},
        is_trusted=lambda _: True,
        limits=Limits(**limits),
        prompt=frozenset({"prompt"}),
    )
    await server.start(listener)
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()
        await server.stop(1.0)


async def answers(reader: asyncio.StreamReader, count: int) -> list[Any]:
    """Read this many answers."""
    unpacker = msgpack.Unpacker()
    found: list[Any] = []
    async with asyncio.timeout(ANSWER_LIMIT_S):
        while len(found) < count:
            unpacker.feed(await reader.read(65_536))
            found += list(unpacker)
    return found


@pytest.mark.parametrize(
    "junk",
    ["x" * HEAVY, b"x" * HEAVY, ["x" * HEAVY], [[]] * HEAVY, {"deep": {"er": b"x" * HEAVY}}],
    ids=["text", "bin", "list", "many", "nested"],
)
async def test_heavy_requests_hold_up_the_next(tmp_path: Path, junk: object) -> None:
    """Whatever form a request's weight has, the next one waits until it is answered."""
    desk = Desk()
    async with serving(tmp_path / "s", desk, max_pending_bytes=HEAVY) as (reader, writer):
        writer.write(request(1, "prompt", n=1, junk=junk) + request(2, "prompt", n=2))
        await desk.until(lambda: bool(desk.begun))
        assert [1] == desk.begun
        desk.go.set()
        assert [1, 2] == [answer[1] for answer in await answers(reader, 2)]
        assert [1, 2] == desk.begun


async def test_no_more_than_the_limit_is_under_way(tmp_path: Path) -> None:
    """Of many requests in one write, only as many as allowed begin before one is answered."""
    desk = Desk()
    async with serving(tmp_path / "s", desk, max_pending=3) as (reader, writer):
        writer.write(b"".join(request(n, "prompt", n=n) for n in range(200)))
        await desk.until(lambda: len(desk.begun) == 3)
        desk.go.set()
        assert set(range(200)) == {answer[1] for answer in await answers(reader, 200)}
        assert 3 == desk.most


async def test_large_answers_are_made_a_few_at_a_time(tmp_path: Path) -> None:
    """Methods with large answers share a few places; the prompt ones pass them by."""
    desk = Desk()
    async with serving(tmp_path / "s", desk) as (reader, writer):
        many = 3 * MAX_ANSWERING
        writer.write(b"".join(request(n, "slow", n=n) for n in range(many)))
        writer.write(request(many, "prompt", n="prompt"))
        await desk.until(lambda: len(desk.begun) > MAX_ANSWERING)
        assert [*range(MAX_ANSWERING), "prompt"] == desk.begun
        desk.go.set()
        assert set(range(many + 1)) == {answer[1] for answer in await answers(reader, many + 1)}


async def test_nothing_large_is_made_for_one_who_does_not_read(tmp_path: Path) -> None:
    """While answers lie unread no further large one is made; when they are read, all come."""
    desk = Desk()
    desk.go.set()
    async with serving(tmp_path / "s", desk) as (reader, writer):
        writer.transport.pause_reading()
        size, many = 2 * 2**20, 5 * MAX_ANSWERING
        writer.write(b"".join(request(n, "slow", n=n, size=size) for n in range(many)))
        writer.write(request(many, "prompt", n="prompt"))
        await desk.until(lambda: "prompt" in desk.begun)
        assert [0, "prompt"] == desk.begun
        writer.transport.resume_reading()
        assert set(range(many + 1)) == {answer[1] for answer in await answers(reader, many + 1)}

"""MessagePack-RPC clients that others wrote talk to a real daemon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import aio_msgpack_rpc
import pytest
from aio_msgpack_rpc.error import RPCResponseError
from pynvim import msgpack_rpc
from pynvim.msgpack_rpc.session import Session

REPORT = {"task": "build the service", "outcome": "ERROR: exit status 2", "source": "foreign"}
MANY = 300


@pytest.fixture
def running(new_daemon: Callable[..., Any]) -> Any:
    """Return a running daemon without a model."""
    return new_daemon("--set", "embed.model=off").start()


@pytest.fixture
def nvim(running: Any) -> Iterator[Session]:
    """Return a session of pynvim; it has already sent a notification that nobody asked for."""
    session = msgpack_rpc.socket_session(str(running.socket))
    yield session
    # Its own close forgets to let the loop close the socket: run it until the connection is lost.
    session.loop._transport.close()
    session.loop._loop.run_forever()
    session.close()


@pytest.fixture
async def aio(running: Any) -> AsyncIterator[aio_msgpack_rpc.Client]:
    """Return a client of aio-msgpack-rpc; its first id is 0."""
    reader, writer = await asyncio.open_unix_connection(str(running.socket))
    client = aio_msgpack_rpc.Client(reader, writer, response_timeout=20)
    yield client
    client.close()
    await writer.wait_closed()


def test_pynvim_calls(running: Any, nvim: Session) -> None:
    """Every common verb is answered, without parameters and with one map of them."""
    assert running.pid == nvim.request("ping")["pid"]
    assert running.pid == nvim.request(b"ping", {})["pid"]
    assert "accepted" == nvim.request("enqueue", REPORT)["outcome"]
    assert [] == nvim.request("recall", {"task": "knit a scarf"})["lessons"]
    status = nvim.request("status")
    assert ("running", 1) == (status["state"], status["connections"])


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("nvim_command", [], "no method 'nvim_command'; there are config, "),
        ("recall", [{}], "`task` is missing"),
        ("recall", ["positional", 3], "params must hold one map of names"),
        ("enqueue", [{"task": 7}], "`task` must be a string, not int"),
    ],
)
def test_pynvim_errors(nvim: Session, method: str, params: list[object], message: str) -> None:
    """An error arrives as an array whose second part is the sentence, and the session goes on."""
    with pytest.raises(Exception, match="^" + message):  # pynvim raises a plain Exception
        nvim.request(method, *params)
    assert nvim.request("ping")["pid"]


def test_pynvim_pipelines(nvim: Session) -> None:
    """Many requests written before one answer is read are all answered."""
    answers: list[tuple[object, Any]] = []

    def keep(error: object, result: Any) -> None:
        answers.append((error, result))
        if len(answers) == MANY:
            nvim.stop()

    for number in range(MANY):
        report = {**REPORT, "task": f"task {number}", "wait_s": 0}
        nvim._async_session.request("enqueue", [report], keep)
    nvim._async_session.run(None, None)
    assert {None} == {error for error, _ in answers}
    assert MANY == len({result["id"] for _, result in answers})


async def test_aio_msgpack_rpc_calls(running: Any, aio: aio_msgpack_rpc.Client) -> None:
    """Every common verb is answered, from id 0 on."""
    await aio.notify("hello there", {"n": 1})
    assert running.pid == (await aio.call("ping"))["pid"]
    assert "accepted" == (await aio.call("enqueue", REPORT))["outcome"]
    assert "" == (await aio.call("recall", {"task": "knit a scarf"}))["section"]
    assert "running" == (await aio.call("status", {}))["state"]


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no.such", [], "unknown_method"),
        ("recall", [{"task": "x", "limit": "many"}], "bad_params"),
        ("recall", ["positional"], "bad_params"),
        ("jobs.show", [{"id": "feed"}], "not_found"),
    ],
)
async def test_aio_msgpack_rpc_errors(
    aio: aio_msgpack_rpc.Client, method: str, params: list[object], code: str
) -> None:
    """An error arrives as `[code, message, data]`, and the connection goes on."""
    with pytest.raises(RPCResponseError) as raised:
        await aio.call(method, *params)
    found, message, data = raised.value.args[0]
    assert (code, True, {}) == (found, bool(message), data)
    assert (await aio.call("ping"))["pid"]


async def test_aio_msgpack_rpc_pipelines(aio: aio_msgpack_rpc.Client) -> None:
    """Many concurrent calls of different verbs each get their own answer."""
    reports = [
        aio.call("enqueue", {**REPORT, "task": f"task {number}", "wait_s": 0})
        for number in range(MANY)
    ]
    pings = [aio.call("ping") for _ in range(MANY)]
    answers = await asyncio.gather(*reports, *pings)
    assert MANY == len({answer["id"] for answer in answers[:MANY]})
    assert 1 == len({answer["boot_id"] for answer in answers[MANY:]})

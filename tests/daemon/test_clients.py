"""Both clients against a real daemon: deadlines, broken connections, many at once, autostart."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from reflexion_client import (
    AsyncClient,
    CallTimeout,
    Client,
    ConnectionLost,
    DaemonUnreachable,
    ReflexionError,
    RemoteError,
    derive_job_id,
)

LIGHT = ("--set", "embed.model=off")
SHORT_S = 0.05


@pytest.fixture
def light(new_daemon: Callable[..., Any]) -> Any:
    return new_daemon(*LIGHT).start()


def async_client(daemon: Any, **options: Any) -> AsyncClient:
    return AsyncClient(state_dir=daemon.state_dir, source="tests", workspace="/w", **options)


@contextmanager
def halted(daemon: Any) -> Iterator[None]:
    """Halt the process of a daemon for a while. It may be killed meanwhile."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def report_id(n: int) -> str:
    return derive_job_id(f"task {n}", "error", "", f"ERROR: {n}")


# Deadlines


def test_a_late_answer_is_not_taken_for_the_next(light: Any) -> None:
    """A call that was given up raises CallTimeout; its answer is skipped, the connection kept."""
    with light.client(call_timeout_s=SHORT_S) as client:
        client.ping()
        connection = client._connection
        with halted(light):
            for _ in range(3):
                with pytest.raises(CallTimeout, match="ping: no answer in time"):
                    client.ping()
        client._call_timeout_s = 10.0
        assert report_id(1) == client.enqueue("task 1", outcome="ERROR: 1").id
        assert "counters" in client.status()
        assert connection is client._connection


def test_a_call_may_have_a_deadline_of_its_own(light: Any) -> None:
    """It goes before that of the client."""
    with light.client() as client, halted(light), pytest.raises(CallTimeout, match="enqueue"):
        client.enqueue("task 1", outcome="ERROR: 1", timeout_s=SHORT_S)


def test_a_request_that_was_half_sent_costs_its_connection(light: Any) -> None:
    """A frame too large for the socket's buffer cannot be taken back: the next call reconnects."""
    with light.client() as client:
        client.ping()
        connection = client._connection
        with halted(light), pytest.raises(CallTimeout, match="did not take the request in time"):
            client.enqueue("task 1", attempt="x" * 8_000_000, timeout_s=SHORT_S)
        assert light.pid == client.ping()["pid"]
        assert connection is not client._connection
        assert [] == client.jobs()["jobs"] + client.history()["history"]


def test_waiting_for_another_thread_counts(light: Any) -> None:
    """A call behind another thread's call keeps its own deadline."""
    with light.client() as client, ThreadPoolExecutor(1) as other:
        client.ping()
        with halted(light):
            slow = other.submit(client.ping)
            while not client._lock.locked():
                threading.Event().wait(0.001)
            with pytest.raises(CallTimeout, match="the client was busy"):
                client.enqueue("task 1", timeout_s=SHORT_S)
        assert light.pid == slow.result()["pid"]


async def test_a_late_answer_disturbs_no_other_call(light: Any) -> None:
    """The same for the asyncio client: the connection is kept, later answers find their calls."""
    async with async_client(light, call_timeout_s=SHORT_S) as client:
        await client.ping()
        link = client._link
        with halted(light):
            late = await asyncio.gather(*(client.ping() for _ in range(3)), return_exceptions=True)
            assert [CallTimeout] * 3 == [type(error) for error in late]
            assert "ping: no answer in 0.05 s" in str(late[0])
        client._call_timeout_s = 10.0
        assert report_id(1) == (await client.enqueue("task 1", outcome="ERROR: 1")).id
        assert "counters" in await client.status()
        assert link is client._link


# Broken connections


def test_a_client_outlives_its_daemon(light: Any) -> None:
    """After a restart the next call connects again by itself."""
    with light.client() as client:
        first = client.ping()["boot_id"]
        assert 0 == light.stop()
        with pytest.raises(DaemonUnreachable):
            client.ping()
        light.start()
        again = client.ping()
        assert (True, light.pid) == (first != again["boot_id"], again["pid"])


async def test_an_async_client_outlives_its_daemon(light: Any) -> None:
    """Many calls at once after a restart share one new connection."""
    async with async_client(light) as client:
        first = (await client.ping())["boot_id"]
        await asyncio.to_thread(light.stop)
        with pytest.raises(DaemonUnreachable):
            await client.ping()
        await asyncio.to_thread(light.start)
        answers = await asyncio.gather(*(client.ping() for _ in range(50)))
        assert {light.pid} == {answer["pid"] for answer in answers}
        assert first != answers[0]["boot_id"]
        assert 1 == (await client.status())["connections"]


def test_a_kept_connection_that_died_is_noticed(light: Any) -> None:
    """A repeatable call is sent again; one that must not be done twice raises ConnectionLost."""
    with light.client() as client:
        client.ping()
        light.stop()
        light.start()
        assert "accepted" == client.enqueue("task 1", outcome="ERROR: 1").outcome
        light.stop()
        light.start()
        with pytest.raises(ConnectionLost) as caught:
            client.retry(None)
        assert "repeat the call" in caught.value.hint
        assert light.pid == client.ping()["pid"]


async def test_a_call_under_way_is_lost_with_its_daemon(light: Any) -> None:
    """Whether it was done is unknown: it is told so, and not done again."""
    async with async_client(light) as client:
        await client.ping()
        with halted(light):
            lost = asyncio.create_task(client.purge(None))
            repeated = asyncio.create_task(client.ping())
            await asyncio.sleep(0)
            light.kill()
            with pytest.raises(ConnectionLost):
                await lost
            with pytest.raises(DaemonUnreachable):
                await repeated


async def test_closing_fails_the_calls_under_way(light: Any) -> None:
    """Nobody waits for an answer that cannot come any more."""
    client = async_client(light)
    await client.ping()
    with halted(light):
        waiting = asyncio.create_task(client.ping())
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(ConnectionLost):
            await waiting
        assert client._link is None
    assert light.pid == (await client.ping())["pid"]
    await client.close()


async def test_closing_does_not_wait_for_a_daemon_that_does_not_read(light: Any) -> None:
    """What could not be sent is given up after a moment."""
    client = async_client(light)
    await client.ping()
    with halted(light):
        with pytest.raises(CallTimeout):
            await client.enqueue("task 1", attempt="x" * 8_000_000, timeout_s=SHORT_S)
        await asyncio.wait_for(client.close(), 20)


def test_an_interrupted_call_costs_its_connection(light: Any) -> None:
    """Ctrl-C may strike inside a frame: the next call starts on a new connection."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def strike(client: Client) -> None:
        while not client._lock.locked():
            threading.Event().wait(0.001)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with light.client() as client, ThreadPoolExecutor(1) as other:
            client.ping()
            with halted(light):
                struck = other.submit(strike, client)
                with pytest.raises(KeyboardInterrupt):
                    client.enqueue("task 1", attempt="x" * 8_000_000)
                struck.result()
            assert None is client._connection
            assert light.pid == client.ping()["pid"]
    finally:
        signal.signal(signal.SIGUSR1, before)


# Many at once


def test_threads_may_share_a_client(light: Any) -> None:
    """Each gets the answer to its own call, over one connection."""
    with light.client() as client, ThreadPoolExecutor(8) as threads:
        answers = threads.map(
            lambda n: client.enqueue(f"task {n}", outcome=f"ERROR: {n}", wait_s=0.0).id, range(200)
        )
        assert [report_id(n) for n in range(200)] == list(answers)
        assert 1 == client.status()["connections"]


async def test_hundreds_of_calls_under_way(light: Any) -> None:
    """Five hundred concurrent reports over one connection are each answered as their own."""
    async with async_client(light) as client:
        answers = await asyncio.gather(
            *(client.enqueue(f"task {n}", outcome=f"ERROR: {n}", wait_s=0.0) for n in range(500))
        )
        assert [report_id(n) for n in range(500)] == [answer.id for answer in answers]
        assert {"accepted"} == {answer.outcome for answer in answers}
        assert 1 == (await client.status())["connections"]


# Nobody there


@pytest.mark.parametrize("record", [None, "{", '{"socket": "/nowhere/at/all.sock"}'])
async def test_no_daemon_is_told_with_a_hint(tmp_path: Path, record: str | None) -> None:
    """The message names the socket that was tried, the hint what to do about it."""
    path = f"{tmp_path}/run/reflexiond.sock"
    if record is not None:
        (tmp_path / "daemon.json").write_text(record)
        path = "/nowhere/at/all.sock" if "nowhere" in record else path
    with Client(state_dir=tmp_path) as client, pytest.raises(DaemonUnreachable) as caught:
        client.ping()
    assert f"no daemon answers at {path} (" in str(caught.value)
    assert "reflexionctl start" in caught.value.hint
    assert "REFLEXIOND_AUTOSTART=1" in caught.value.hint
    async with AsyncClient(state_dir=tmp_path) as client_2:
        with pytest.raises(DaemonUnreachable, match=f"no daemon answers at {path}"):
            await client_2.ping()


BLOCKING = """
import sys
from reflexion_client import Client
with Client(state_dir=sys.argv[1]) as client:
    print(client.ping()["pid"])
"""
PIPELINING = """
import asyncio, sys
from reflexion_client import AsyncClient
async def main():
    async with AsyncClient(state_dir=sys.argv[1]) as client:
        print((await client.ping())["pid"])
asyncio.run(main())
"""


def test_ten_at_once_start_one_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_for: Any
) -> None:
    """With autostart all of them are answered, and by the same daemon."""
    monkeypatch.setenv("REFLEXIOND_AUTOSTART", "1")
    monkeypatch.setenv("REFLEXIOND_EMBED_MODEL", "off")
    state = tmp_path / "state"
    callers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(state)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for program in (BLOCKING, PIPELINING) * 5
    ]
    said = [caller.communicate(timeout=50) for caller in callers]
    pids = {int(out) for out, _ in said if out.strip().isdigit()}
    try:
        assert [""] * 10 == [error for _, error in said]
        assert 1 == len(pids)
        with Client(state_dir=state, autostart=False) as client:
            client.shutdown()
        wait_for(lambda: "stopped" in (state / "reflexiond.log").read_text())
        wait_for(lambda: not (state / "daemon.json").exists())
        log = (state / "reflexiond.log").read_text()
        assert (1, 0) == (log.count("ready: pid"), log.count("reflexiond: "))
    finally:
        with suppress(ReflexionError), Client(state_dir=state, autostart=False) as client:
            os.kill(client.ping()["pid"], signal.SIGKILL)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
async def test_a_daemon_that_cannot_start_says_why(kind: Any, tmp_path: Path) -> None:
    """The error quotes what the daemon said: here, a setting that it refuses."""
    config = Path.home() / ".config" / "reflexiond" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[queue]\nworkers = "many"\n')
    client = kind(state_dir=tmp_path / "state", autostart=True)
    with pytest.raises(
        DaemonUnreachable, match=r"did not start: reflexiond: queue\.workers"
    ) as why:
        await client.ping() if kind is AsyncClient else client.ping()
    assert f"{config} = 'many': expected a whole number" in str(why.value)


def test_autostart_finds_the_daemon_that_runs(light: Any) -> None:
    """Where one answers already none is started."""
    with light.client(autostart=True) as client:
        assert light.pid == client.ping()["pid"]
    assert not (light.state_dir / "reflexiond.log").exists()


def test_a_deadline_holds_while_a_daemon_is_started(tmp_path: Path) -> None:
    """Autostart waits no longer than the call may take, and says that the daemon is coming."""
    state = tmp_path / "state"
    state.mkdir()
    with (state / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Client(state_dir=state, autostart=True) as client:
            started = time.monotonic()
            with pytest.raises(DaemonUnreachable, match="another process has been starting"):
                client.recall("x", timeout_s=0.05)
            assert time.monotonic() - started < 5


def test_an_unusable_state_folder_is_a_typed_error(tmp_path: Path) -> None:
    """A tool that catches ReflexionError catches this too."""
    (tmp_path / "file").write_text("in the way")
    client = Client(state_dir=tmp_path / "file", autostart=True)
    with client, pytest.raises(DaemonUnreachable, match="cannot be used"):
        client.ping()


def test_a_deleted_folder_is_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent whose folder was removed can still make a client."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "" == Client(state_dir=tmp_path).workspace


def test_what_cannot_be_sent_is_told_and_breaks_nothing(light: Any) -> None:
    """Too large, or no value of MessagePack: a typed error, and the connection goes on."""
    with light.client() as client:
        with pytest.raises(RemoteError, match="the limit is"):
            client.enqueue("x", attempt="a" * 20_000_000)
        with pytest.raises(RemoteError, match="cannot be sent"):
            client.recall("x", limit=10**30)
        assert light.pid == client.ping()["pid"]

"""What many tests need: a private environment, a real daemon, and a check for what is left over."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from reflexion_client import Client

settings.register_profile(
    "suite", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("suite")

START_LIMIT_S = 20.0


@pytest.fixture(autouse=True)
def private_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the real home folder and from the caller's settings."""
    for name in list(os.environ):
        if name.startswith(("REFLEXIOND_", "CHATCLI_", "XDG_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture(autouse=True)
def nothing_left_over() -> Iterator[None]:
    """Fail a test that leaves a thread or a child process behind."""
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t not in before and not t.daemon and t.is_alive()]
    for thread in left:
        thread.join(5)
    assert [] == [thread.name for thread in left if thread.is_alive()]


@dataclass
class RunningDaemon:
    """A real daemon process over a folder of its own."""

    state_dir: Path
    arguments: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.state_dir / "run" / "reflexiond.sock"

    @property
    def log(self) -> str:
        return (self.state_dir.parent / f"{self.state_dir.name}.log").read_text()

    def start(self) -> RunningDaemon:
        self.spawn()
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise AssertionError(
                    f"the daemon exited with {self.process.returncode}: {self.log}"
                )
            if self.answers():
                return self
            threading.Event().wait(0.01)
        raise AssertionError(f"the daemon did not answer: {self.log}")

    def answers(self) -> bool:
        """Return whether this very process answers a ping."""
        try:
            with self.client() as client:
                return client.ping()["pid"] == self.pid
        except Exception:  # noqa: BLE001 - not yet
            return False

    def spawn(self) -> None:
        log = self.state_dir.parent / f"{self.state_dir.name}.log"
        command = [sys.executable, "-m", "reflexiond", "serve", "--state-dir", str(self.state_dir)]
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*command, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **self.env},
            )

    def client(self, **options: object) -> Client:
        return Client(state_dir=self.state_dir, source="tests", workspace="/w", **options)  # type: ignore[arg-type]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self, limit_s: float = 40.0) -> int:
        """Ask the daemon to stop, wait for it, return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(limit_s)


@pytest.fixture
def new_daemon(tmp_path: Path) -> Iterator[Callable[..., RunningDaemon]]:
    """Return a maker of daemons (not started); whatever still runs is killed at the end."""
    made: list[RunningDaemon] = []

    def make(*arguments: str, name: str = "state", **env: str) -> RunningDaemon:
        daemon = RunningDaemon(tmp_path / name, arguments, env)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()


@pytest.fixture
def daemon(new_daemon: Callable[..., RunningDaemon]) -> RunningDaemon:
    """Return a running daemon with default settings."""
    return new_daemon().start()


@pytest.fixture
def wait_for() -> Callable[..., object]:
    """Return a function that asks until the answer is true, and fails when it never is."""

    def wait(ask: Callable[[], object], limit_s: float = 20.0) -> object:
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            answer = ask()
            if answer:
                return answer
            threading.Event().wait(0.02)
        raise AssertionError(f"not true within {limit_s:g} s: {ask}")

    return wait


@pytest.fixture
async def no_tasks_left() -> object:
    """Fail a test that leaves an asyncio task running."""
    yield
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert [] == [task.get_name() for task in left]

"""What a daemon meets in its life: stops, kills, rivals, bad folders, damaged files, full disks.

Mounts are made in a namespace of the daemon's own and vanish with it.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reflexion_client import Client
from reflexion_client.errors import ReflexionError, StoreUnavailable
from reflexiond.store.sqlite import SqliteStore

LIGHT = ("--set", "embed.model=off")
NAMESPACE = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "-U", "-r", "--mount"]


def works(command: list[str]) -> bool:
    """Return whether a command can be run here, and succeeds."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=10)
    except OSError:
        return False
    return done.returncode == 0


needs_mounts = pytest.mark.skipif(
    not works([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]),
    reason="this system lets us make no mounts of our own",
)


def serve(*prefix: str, state_dir: Path, arguments: tuple[str, ...] = ()) -> list[str]:
    """Return the command of a daemon, behind the command that prepares its world."""
    command = [sys.executable, "-m", "reflexiond", "serve", "--state-dir", str(state_dir)]
    return [*prefix, *command, *LIGHT, *arguments]


def in_namespace(setup: str, state_dir: Path, *arguments: str) -> list[str]:
    """Return the command of a daemon that runs after `setup` in a mount namespace."""
    shell = ["sh", "-c", f'{setup} && exec "$@"', "sh"]
    return serve(*NAMESPACE, *shell, state_dir=state_dir, arguments=arguments)


def refusal(command: list[str], **env: str) -> tuple[int, str]:
    """Run a daemon that must not start; return its exit code and the one line it says."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ, **env},
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("reflexiond: ")
    return done.returncode, line


def all_pages(ask: Callable[..., dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return all rows of a list that comes in pages."""
    page = ask(limit=200)
    rows: list[dict[str, Any]] = page[name]
    while page["next"] is not None:
        page = ask(limit=200, after=page["next"])
        rows += page[name]
    return rows


def idle(client: Client) -> bool:
    queue = client.status()["queue"]
    return not queue["pending"] + queue["running"] + queue["parked"]


async def sound_database(state_dir: Path) -> Path:
    """Make a state folder with an empty, sound database."""
    state_dir.mkdir(mode=0o700)  # noqa: ASYNC240 - nothing else runs in this loop
    path = state_dir / "reflexion.db"
    store = await SqliteStore.open(path)
    await store.close()
    return path


def test_sigterm_under_load(new_daemon: Any, wait_for: Any) -> None:
    """A stop under load takes less than the drain timeout, exits with 0 and loses nothing."""
    limit_s = 10
    daemon = new_daemon(*LIGHT, "--set", f"queue.drain_timeout={limit_s}s").start()
    acknowledged: list[str] = []
    loaded = threading.Event()

    def produce(name: str) -> None:
        with daemon.client() as client, contextlib.suppress(ReflexionError):
            for n in range(10_000):
                report = client.enqueue(
                    f"step {name}-{n}", attempt="the disk controller went away", wait_s=0
                )
                acknowledged.append(report.id)
                if len(acknowledged) > 200:
                    loaded.set()

    producers = [threading.Thread(target=produce, args=(name,)) for name in "abc"]
    for producer in producers:
        producer.start()
    assert loaded.wait(20)
    asked = time.monotonic()
    code = daemon.stop()
    assert (0, True) == (code, time.monotonic() - asked < limit_s)
    for producer in producers:
        producer.join()

    daemon.start()
    with daemon.client() as client:
        wait_for(lambda: idle(client))
        ended = Counter(entry["id"] for entry in all_pages(client.history, "history"))
        lessons = Counter(row["job_id"] for row in all_pages(client.lessons, "lessons"))
    assert dict.fromkeys(acknowledged, 1) == {job_id: ended[job_id] for job_id in acknowledged}
    assert lessons == ended


def test_a_second_daemon_leaves_the_first_alone(new_daemon: Any) -> None:
    """The second exits with 75 and names the first, whose socket and record stay."""
    first = new_daemon(*LIGHT).start()
    before = first.client().address.socket(), (first.state_dir / "daemon.json").read_bytes()
    code, line = refusal(serve(state_dir=first.state_dir))
    assert (75, True) == (code, f"pid {first.pid}" in line)
    after = first.client().address.socket(), (first.state_dir / "daemon.json").read_bytes()
    assert before == after
    with first.client() as client:
        assert first.pid == client.ping()["pid"]
        assert (
            "accepted"
            == client.enqueue("still here", attempt="the disk controller went away").outcome
        )


def test_a_second_daemon_on_the_same_socket(new_daemon: Any, tmp_path: Path) -> None:
    """A living socket is not taken over by a daemon with another state folder."""
    first = new_daemon(*LIGHT).start()
    other = serve(state_dir=tmp_path / "other", arguments=("--socket", str(first.socket)))
    code, line = refusal(other)
    assert (75, True) == (code, str(first.socket) in line)
    assert first.answers()


def test_a_kill_needs_no_help(new_daemon: Any) -> None:
    """Socket, lock and record of a killed daemon do not stand in the next one's way."""
    daemon = new_daemon(*LIGHT).start()
    killed = daemon.pid
    daemon.kill()
    for left in (daemon.socket, daemon.state_dir / "lock", daemon.state_dir / "daemon.json"):
        assert left.exists()
    daemon.start()
    assert killed != daemon.pid
    assert 0 == daemon.stop()
    assert not daemon.socket.exists()


def test_a_socket_path_over_the_limit(tmp_path: Path) -> None:
    """A configured socket of 108 bytes is a bad setting: refused, with both lengths."""
    path = "/tmp/".ljust(108, "s")
    code, line = refusal(serve(state_dir=tmp_path / "state", arguments=("--socket", path)))
    assert (78, True, True) == (code, path in line, "108 bytes" in line)
    assert "107" in line
    assert not Path(path).exists()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Return a temporary folder with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def test_a_state_folder_too_deep_for_a_socket(
    new_daemon: Any, tmp_path: Path, short_folder: Path
) -> None:
    """The socket gets a short path elsewhere, and a client finds it by the record."""
    deep = "/".join(["deep" * 10] * 3)
    (tmp_path / deep).mkdir(parents=True)
    daemon = new_daemon(*LIGHT, name=f"{deep}/state", TMPDIR=str(short_folder)).start()
    with daemon.client() as client:
        socket = Path(client.status()["socket"])
    assert short_folder == socket.parent.parent
    daemon.kill()
    daemon.start()
    assert 0 == daemon.stop()
    assert not socket.exists()


def test_a_file_in_the_way_of_the_state_folder(tmp_path: Path) -> None:
    """A state folder that is a file is refused, and the file stays."""
    path = tmp_path / "state"
    path.write_text("mine")
    code, line = refusal(serve(state_dir=path))
    assert (73, True, "mine") == (code, str(path) in line, path.read_text())


def test_an_unwritable_state_folder(tmp_path: Path) -> None:
    """A folder that may not be written is refused by name, with what to do."""
    path = tmp_path / "state"
    path.mkdir(mode=0o500)
    # A user namespace without a mapping takes from root the right to write everywhere.
    powerless = ["unshare", "--user"] if os.getuid() == 0 else []
    if powerless and not works([*powerless, "true"]):
        pytest.skip("root may write everywhere, and this system has no user namespaces")
    code, line = refusal(serve(*powerless, state_dir=path))
    assert (73, True, True) == (code, str(path) in line, "--state-dir" in line)
    assert "Permission denied" in line
    assert [] == list(path.iterdir())


@needs_mounts
@pytest.mark.parametrize("exists", [True, False])
async def test_a_read_only_file_system(tmp_path: Path, *, exists: bool) -> None:
    """A state folder on a read-only file system is refused by name, whether it exists or not."""
    disk, state = tmp_path / "disk", tmp_path / "disk" / "state"
    disk.mkdir()
    if exists:
        await sound_database(state)
    setup = f"mount --bind '{disk}' '{disk}' && mount -o remount,ro,bind '{disk}'"
    code, line = refusal(in_namespace(setup, state))
    assert (73, True, True) == (code, str(state) in line, "read-only" in line.lower())


def pages_overwritten(content: bytes) -> bytes:
    """Return a database of which every second page, but never the first, is noise."""
    size = int.from_bytes(content[16:18], "big")
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    return b"".join(
        random.randbytes(size) if n % 2 and n else page  # noqa: S311
        for n, page in enumerate(pages)
    )


@pytest.mark.parametrize(
    "damage",
    [
        pages_overwritten,
        lambda content: content[: len(content) // 2],
        lambda content: b"\0" * 4096 + content[4096:],
        lambda _: b"Dear diary, this is a text.\n" * 200,
    ],
    ids=["pages", "cut", "header", "text"],
)
async def test_a_damaged_database(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """A damaged database is refused with 74 and its path, and no byte of it changes."""
    path = await sound_database(tmp_path / "state")
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    code, line = refusal(serve(state_dir=path.parent))
    assert (74, True) == (code, str(path) in line)
    assert damaged == path.read_bytes()
    assert 0 == sum(log.stat().st_size for log in path.parent.glob("*-wal"))


@pytest.mark.parametrize("owner", ["newer", "another program"])
async def test_a_database_that_is_not_ours(tmp_path: Path, owner: str) -> None:
    """A database of a newer program or of another one is refused with 74, and not touched."""
    path = tmp_path / "state" / "reflexion.db"
    if owner == "newer":
        await sound_database(path.parent)
        sql = "PRAGMA user_version = 999"
    else:
        path.parent.mkdir(mode=0o700)
        sql = "CREATE TABLE diary (day, text)"
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute(sql)
        conn.commit()
    before = path.read_bytes()
    code, line = refusal(serve(state_dir=path.parent))
    assert (74, True, True) == (code, str(path) in line, owner in line)
    assert before == path.read_bytes()
    assert 0 == sum(log.stat().st_size for log in path.parent.glob("*-wal"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Client, Path]]:
    """Return a client of a daemon whose disk has 4 MiB, and the disk as seen from outside."""
    disk, socket = tmp_path / "disk", tmp_path / "s"
    disk.mkdir()
    command = in_namespace(
        f"mount -t tmpfs -o size=4m,mode=0700 tmpfs '{disk}'",
        disk / "state",
        *("--socket", str(socket)),
    )
    with (tmp_path / "log").open("wb") as log:
        daemon = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 20
        while not socket.exists():
            assert daemon.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            threading.Event().wait(0.01)
        with Client(socket, source="tests", workspace="/w") as client:
            yield client, Path(f"/proc/{daemon.pid}/root{disk}")
        daemon.send_signal(signal.SIGTERM)
        assert 0 == daemon.wait(30)
    finally:
        daemon.kill()
        daemon.wait()


@needs_mounts
def test_a_full_disk(small_disk: tuple[Client, Path], wait_for: Any) -> None:
    """A full disk refuses reports by name and still reads; with space it recovers by itself."""
    client, disk = small_disk
    kept = client.enqueue("before the flood", attempt="the disk controller went away").id
    wait_for(lambda: client.history()["history"])
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    with pytest.raises(StoreUnavailable) as refused:  # noqa: PT012 - the log has room for some
        for n in range(50):
            client.enqueue(f"report {n}", attempt="boom " * 40_000, wait_s=0)
    assert refused.value.data["full"] is True
    status = client.status()
    assert ("degraded", True) == (status["state"], "disk is full" in status["problem"])
    assert kept == client.history(limit=200)["history"][-1]["id"]
    assert kept in [lesson["job_id"] for lesson in client.lessons()["lessons"]]
    assert client.recall("before the flood").lessons

    filler.unlink()
    wait_for(lambda: client.status()["state"] == "running")
    assert "" == client.status()["problem"]
    assert (
        "accepted"
        == client.enqueue("after the flood", attempt="the disk controller went away").outcome
    )
    wait_for(lambda: idle(client))


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("REFLEXIOND_QUEUE_WORKERS", "many", "whole number"),
        ("CHATCLI_QUALITY_REFLEXION_QUEUE_JOB_TIMEOUT", "120", "duration"),
    ],
)
def test_a_bad_setting(tmp_path: Path, name: str, value: str, form: str) -> None:
    """A value that is refused ends with 78, and the line names variable, value and form."""
    code, line = refusal(serve(state_dir=tmp_path / "state"), **{name: value})
    assert 78 == code
    assert all(part in line for part in (name, value, form)), line
    assert not (tmp_path / "state").exists()


def test_a_queue_in_memory(new_daemon: Any, wait_for: Any) -> None:
    """Without queue.enabled jobs and their history end with the process; lessons stay."""
    daemon = new_daemon(*LIGHT, "--set", "queue.enabled=false").start()
    with daemon.client() as client:
        assert client.status()["queue"]["persistent"] is False
        learned = client.enqueue("build the service", attempt="the disk controller went away").id
        wait_for(lambda: client.history()["history"])
        waiting = [
            client.enqueue(f"step {n}", attempt="the disk controller went away").id
            for n in range(20)
        ]
    daemon.kill()
    daemon.start()
    with daemon.client() as client:
        assert (0, [], []) == (
            client.history()["total"],
            client.jobs()["jobs"],
            client.failed()["jobs"],
        )
        kept = Counter(row["job_id"] for row in all_pages(client.lessons, "lessons"))
        assert 1 == kept[learned]
        assert kept.keys() <= {learned, *waiting}


def test_nothing_is_stored_without_persist(new_daemon: Any, wait_for: Any) -> None:
    """Without persist a lesson is logged, the job ends as skipped, and no lesson is stored."""
    daemon = new_daemon(*LIGHT, "--set", "persist=false").start()
    with daemon.client() as client:
        client.enqueue("build the service", attempt="the disk controller went away")
        (entry,) = wait_for(lambda: client.history()["history"])
        assert client.remember("always run make generate first").new is False
        assert ("skipped", None, 0) == (
            entry["outcome"],
            entry["lesson_id"],
            client.lessons()["total"],
        )
    assert "LESSON: build the service" in daemon.log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_other_signals_stop_in_good_order(daemon: Any, number: int) -> None:
    """Ctrl-C and a closed terminal drain as SIGTERM does: exit code 0, nothing announced."""
    daemon.process.send_signal(number)
    assert 0 == daemon.process.wait(40)
    assert not (daemon.state_dir / "daemon.json").exists()
    assert not daemon.socket.exists()


def test_a_daemon_whose_folder_was_deleted_stops(new_daemon: Any, wait_for: Any) -> None:
    """It would acknowledge reports into files that nobody finds; a new daemon's are not touched."""
    first = new_daemon(*LIGHT).start()
    shutil.rmtree(first.state_dir)
    second = new_daemon(*LIGHT).start()
    assert 0 == first.process.wait(40)
    assert "was deleted or replaced" in first.log
    with second.client() as client:
        assert second.pid == client.ping()["pid"]

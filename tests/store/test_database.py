"""The writer's group commit, and the readers beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reflexiond.errors import StoreFailed
from reflexiond.store.sqlite import driver as sqlite
from reflexiond.store.sqlite.database import Database


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path / "reflexion.db")
    await opened.write(lambda conn: conn.execute("CREATE TABLE t (n INTEGER UNIQUE)"))
    yield opened
    await opened.close()


def insert(n: int) -> Any:
    return lambda conn: conn.execute("INSERT INTO t VALUES (?)", (n,)).rowcount


def insert_and_fail(n: int) -> Any:
    def fn(conn: Any) -> None:
        insert(n)(conn)
        raise LookupError(n)

    return fn


async def rows(database: Database) -> list[int]:
    return await database.read(
        lambda conn: [n for (n,) in conn.execute("SELECT n FROM t ORDER BY n")]
    )


async def test_a_write_that_raises_is_undone_alone(database: Database) -> None:
    """The others of the same commit stand, and each caller gets its own answer."""
    writes = [insert(1), insert_and_fail(2), insert(3), insert(3), insert(4)]
    answers = await asyncio.gather(*map(database.write, writes), return_exceptions=True)
    kinds = [type(answer).__name__ for answer in answers]
    assert ["int", "LookupError", "int", "IntegrityError", "int"] == kinds
    assert [1, 3, 4] == await rows(database)
    assert "" == database.problem


async def test_a_single_write_that_raises_is_undone(database: Database) -> None:
    """Also when nobody shares its commit; the next write finds no open transaction."""
    with pytest.raises(LookupError):
        await database.write(insert_and_fail(1))
    await database.write(insert(2))
    assert [2] == await rows(database)


async def test_cancelling_a_caller_cancels_no_write(database: Database) -> None:
    """What was handed over is committed, whoever still waits for it."""
    task = asyncio.create_task(database.write(insert(1)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await database.write(insert(2))
    assert [1, 2] == await rows(database)


async def test_a_reader_cannot_write(database: Database) -> None:
    """Readers are query-only: a mistake there changes nothing."""
    with pytest.raises(StoreFailed):
        await database.read(insert(1))
    assert [] == await rows(database)


async def test_reads_run_beside_each_other_on_two_readers(database: Database) -> None:
    """Twenty reads at once are all answered, and a cancelled one gives its reader back."""
    cancelled = asyncio.create_task(rows(database))
    await asyncio.sleep(0)
    cancelled.cancel()
    assert [[]] * 20 == await asyncio.gather(*(rows(database) for _ in range(20)))
    await asyncio.gather(cancelled, return_exceptions=True)


async def test_after_the_close_writes_are_refused(tmp_path: Path) -> None:
    """Closing twice is fine, and what was committed is there at the next open."""
    first = await Database.open(tmp_path / "again.db")
    await first.write(lambda conn: conn.execute("CREATE TABLE t (n INTEGER)"))
    await first.write(insert(7), synced=False)
    await first.close()
    await first.close()
    with pytest.raises(StoreFailed):
        await first.write(insert(8))
    second = await Database.open(tmp_path / "again.db")
    assert [7] == await rows(second)
    await second.close()


async def test_what_waits_when_the_disk_fails_is_refused(database: Database) -> None:
    """After a failed sync nothing is acknowledged, though the next commit might work."""

    def fail(conn: Any) -> None:
        error = sqlite.load().OperationalError("disk I/O error")
        error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
        raise error

    first = asyncio.create_task(database.write(fail))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(database.write(insert(n))) for n in range(3)]
    answers = await asyncio.gather(first, *waiting, return_exceptions=True)
    assert ["StoreFailed"] * 4 == [type(answer).__name__ for answer in answers]
    assert [] == await rows(database)
    assert "restart the daemon" in database.problem
    with pytest.raises(StoreFailed):
        await database.write(insert(9))

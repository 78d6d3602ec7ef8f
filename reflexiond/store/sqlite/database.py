"""The open database: one writer with group commit, and readers that never wait for it.

Writes that wait at the same time share one transaction and one sync of the disk. A
caller is answered after the commit; cancelling a caller never cancels its write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import aiosqlite

from reflexiond.errors import DatabaseError, StoreFailed

from . import driver as sqlite
from . import schema
from .driver import Connection

T = TypeVar("T")
log = logging.getLogger(__name__)

READERS = 2
MAX_BATCH = 256
"""The most writes in one transaction: bounds how long the first of them waits."""
IDLE_CHECKPOINT_S = 30.0
FULL_RETRY_S = 5.0
_IO_CODES = frozenset(
    {"SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_READONLY", "SQLITE_CANTOPEN"}
)

_Waiting = tuple[Callable[[Connection], Any], bool, "asyncio.Future[Any]"]
_Result = tuple[Any, BaseException | None]


class Database:
    """One SQLite file, or one database in memory. Open it with `Database.open`.

    Attributes:
        checked: what the integrity check at boot found: "ok", or "partial" when the
            database was too large to finish in its time.
        problem: why writes are refused or failing; empty while all is well.
    """

    def __init__(self, driver: ModuleType, writer: aiosqlite.Connection, path: Path | None) -> None:
        self.path = path
        self.checked = "ok"
        self.problem = ""
        self.on_problem: Callable[[str], None] = lambda _: None
        self._driver = driver
        self._writer = writer
        self._broken = False
        self._waiting: list[_Waiting] = []
        self._committing: asyncio.Task[None] | None = None
        self._readers: asyncio.Queue[aiosqlite.Connection] = asyncio.Queue()
        self._opened_readers: list[aiosqlite.Connection] = []
        self._reader_slots = READERS
        self._reads: set[asyncio.Task[Any]] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._last_write = 0.0
        self._closing = False

    @classmethod
    async def open(cls, path: Path | None) -> Database:
        """Open (and create or migrate) the database at `path`; None: one in memory.

        Raises:
            DatabaseError: damaged, newer than this program, or of another program.
            SqliteUnsuitable: no usable SQLite library.
        """
        driver = sqlite.load()
        checked = await asyncio.to_thread(_check, driver, path) if path is not None else "ok"
        writer = await _connect(driver, partial(sqlite.open_writer, driver, path), path)
        database = cls(driver, writer, path)
        database.checked = checked
        try:
            await database._prepare()
        except BaseException:
            await writer.close()
            raise
        return database

    async def _prepare(self) -> None:
        try:
            await _run(self._writer, partial(schema.migrate, self._driver, path=self.path))
        except self._driver.Error as error:
            raise _unusable(self.path, error) from error

    async def write(self, fn: Callable[[Connection], T], *, synced: bool = True) -> T:
        """Run `fn(conn)` in the writer's thread and return its result once it is durable.

        With `synced` False it is committed, and so survives the death of this process, but
        the disk is not waited for: a power failure may undo it, whole. That suits what
        nobody was promised, such as a claim: undone, the job is simply pending again.

        `fn` must be quick, touch nothing but the database, and not begin or end transactions.
        When it raises, its own changes are undone and the others of the same batch stand.

        Raises:
            StoreFailed: the disk is full or failed; nothing of this write is kept.
        """
        if self._broken or self._closing:
            raise StoreFailed(self.problem or "the store is closed", full=False)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((fn, synced, answer))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_waiting())
        return await answer

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn(conn)` on a free reader, on one snapshot, and return its result."""
        if self.path is None:
            return await self.write(fn)
        # A cancelled caller leaves the reader busy until `fn` is through with it.
        task = asyncio.create_task(self._read(fn))
        self._reads.add(task)
        task.add_done_callback(self._reads.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Finish the waiting writes, truncate the log, close. Idempotent."""
        if self._closing:
            return
        self._closing = True
        for timer in (self._idle, self._retry):
            if timer is not None:
                timer.cancel()
        if self._committing is not None:
            await self._committing
        if self._reads:
            await asyncio.wait(self._reads)
        for reader in self._opened_readers:
            await reader.close()
        try:
            if self.path is not None and not self._broken:
                await _run(self._writer, _truncate_log)
        except self._driver.Error as error:
            # The log stays beside the database and is replayed at the next open.
            log.warning("the write-ahead log could not be truncated: %s", error)
        finally:
            await self._writer.close()

    async def _read(self, fn: Callable[[Connection], T]) -> T:
        reader = await self._free_reader()
        try:
            return await _run(reader, partial(_on_snapshot, fn))
        except self._driver.Error as error:
            raise StoreFailed(f"reading failed: {error}", full=False) from error
        finally:
            self._readers.put_nowait(reader)

    async def _free_reader(self) -> aiosqlite.Connection:
        if self._readers.empty() and self._reader_slots and self.path is not None:
            self._reader_slots -= 1
            opener = partial(sqlite.open_reader, self._driver, self.path)
            try:
                reader = await _connect(self._driver, opener, self.path)
            except BaseException:
                self._reader_slots += 1
                raise
            self._opened_readers.append(reader)
            return reader
        return await self._readers.get()

    async def _commit_waiting(self) -> None:
        """Commit batch after batch until nobody waits."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                try:
                    if self._broken:
                        # These were waiting when the disk failed: a commit might even work.
                        raise StoreFailed(self.problem, full=False)  # noqa: TRY301
                    fns = [fn for fn, _, _ in batch]
                    synced = any(synced for _, synced, _ in batch)
                    wrote, results = await _run(self._writer, partial(_transact, fns, synced))
                except BaseException as error:  # noqa: BLE001 - every caller must be answered
                    failure = self._judge(error)
                    results = [(None, failure)] * len(batch)
                else:
                    if wrote:
                        self._note("", broken=False)
                for (*_, answer), (value, failure_of_one) in zip(batch, results, strict=True):
                    _settle(answer, value, failure_of_one)
        finally:
            self._committing = None
        self._expect_idle()

    def _judge(self, error: BaseException) -> BaseException:
        """Turn what stopped a whole batch into what its callers are told."""
        if not isinstance(error, self._driver.Error):
            return error
        name = _error_name(error)
        full = name == "SQLITE_FULL"
        if full:
            self._note("the disk is full: reports are refused until there is space", broken=False)
            if self._retry is None:
                self._retry = asyncio.get_running_loop().call_later(FULL_RETRY_S, self._probe)
            return StoreFailed(self.problem, full=True)
        # After a failed sync nobody knows what the disk holds. Syncing again may "work"
        # without having written: stop acknowledging until a restart reads it afresh.
        self._note(
            f"the database cannot be written ({name or error}): reports are refused; "
            "check the disk, then restart the daemon",
            broken=name in _IO_CODES,
        )
        return StoreFailed(self.problem, full=False)

    def _probe(self) -> None:
        """Try a small write while the disk is full: space may have been freed meanwhile."""
        self._retry = None
        if self.problem and not self._broken and not self._closing:
            task = asyncio.create_task(self._try_write())
            self._reads.add(task)
            task.add_done_callback(self._reads.discard)

    async def _try_write(self) -> None:
        try:
            await self.write(_touch)
        except StoreFailed:
            log.debug("the disk is still full")

    def _note(self, problem: str, *, broken: bool) -> None:
        self._broken = self._broken or broken
        if problem != self.problem:
            self.problem = problem
            self.on_problem(problem)

    def _expect_idle(self) -> None:
        """Truncate the log once no write came for a while; one timer, no polling."""
        loop = asyncio.get_running_loop()
        self._last_write = loop.time()
        if self._idle is None and self.path is not None and not self._closing:
            self._idle = loop.call_later(IDLE_CHECKPOINT_S, self._when_idle)

    def _when_idle(self) -> None:
        self._idle = None
        loop = asyncio.get_running_loop()
        quiet = loop.time() - self._last_write
        if quiet < IDLE_CHECKPOINT_S - 0.01:
            self._idle = loop.call_later(IDLE_CHECKPOINT_S - quiet, self._when_idle)
        elif not self._broken and not self._closing:
            task = asyncio.create_task(self._checkpoint())
            self._reads.add(task)
            task.add_done_callback(self._reads.discard)

    async def _checkpoint(self) -> None:
        try:
            await _run(self._writer, _truncate_log)
        except self._driver.Error as error:
            log.warning("the write-ahead log could not be truncated: %s", error)


def _check(driver: ModuleType, path: Path) -> str:
    """Look for damage before anything is opened for writing; a new database is sound."""
    if not path.exists():
        return "ok"
    conn = None
    try:
        conn = sqlite.open_untouched(driver, path)
        schema.recognise(conn, path)
        return schema.check(conn, path)
    except driver.Error as error:
        raise _unusable(path, error) from error
    finally:
        if conn is not None:
            conn.close()


async def _connect(
    driver: ModuleType, opener: Callable[[], Connection], path: Path | None
) -> aiosqlite.Connection:
    try:
        return await aiosqlite.Connection(opener, iter_chunk_size=64)
    except driver.Error as error:
        raise _unusable(path, error) from error


async def _run(conn: aiosqlite.Connection, fn: Callable[[Connection], T]) -> T:
    """Run a function of the raw connection in the connection's own thread.

    aiosqlite has no public call for it; a transaction of several statements would
    otherwise cross threads once a statement.
    """
    result: T = await conn._execute(fn, conn._conn)  # type: ignore[no-untyped-call]  # noqa: SLF001
    return result


def _transact(
    fns: list[Callable[[Connection], Any]], synced: bool, conn: Connection
) -> tuple[bool, list[_Result]]:
    """Run all in one transaction; one that raises is undone alone.

    Returns:
        Whether anything was written, and the results in order.
    """
    before = conn.total_changes
    # In WAL mode NORMAL commits without a sync; the next FULL commit syncs those before it.
    conn.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
    conn.execute("BEGIN IMMEDIATE")
    try:
        results = _together(fns, conn)
        if conn.in_transaction:
            conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
    return conn.total_changes > before, results


def _together(fns: list[Callable[[Connection], Any]], conn: Connection) -> list[_Result]:
    """Run all without savepoints, which hardly any of them needs.

    When one raises, everything is undone and run again, each on its own: `fn` reads and
    writes nothing but the database.
    """
    try:
        return [(fn(conn), None) for fn in fns]
    except Exception as error:
        if _error_name(error):
            raise
        conn.execute("ROLLBACK")
        if len(fns) == 1:
            return [(None, error)]
        conn.execute("BEGIN IMMEDIATE")
        return _each(fns, conn)


def _each(fns: list[Callable[[Connection], Any]], conn: Connection) -> list[_Result]:
    results: list[_Result] = []
    for fn in fns:
        conn.execute("SAVEPOINT one")
        try:
            results.append((fn(conn), None))
        except Exception as error:
            if _error_name(error):
                raise
            conn.execute("ROLLBACK TO one")
            results.append((None, error))
        conn.execute("RELEASE one")
    return results


def _error_name(error: BaseException) -> str:
    """Return the name of a fault of the store itself; empty for a mistake in one write."""
    name = getattr(error, "sqlite_errorname", "") or ""
    base = "_".join(name.split("_")[:2])
    return base if base in _IO_CODES or base == "SQLITE_FULL" else ""


def _on_snapshot(fn: Callable[[Connection], T], conn: Connection) -> T:
    conn.execute("BEGIN")
    try:
        return fn(conn)
    finally:
        conn.execute("ROLLBACK")


def _touch(conn: Connection) -> None:
    conn.execute("UPDATE counters SET n = n WHERE name = 'lessons'")


def _truncate_log(conn: Connection) -> None:
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _settle(answer: asyncio.Future[Any], value: Any, failure: BaseException | None) -> None:
    if answer.done():
        return  # the caller was cancelled; its write stands all the same
    if failure is None:
        answer.set_result(value)
    else:
        answer.set_exception(failure)


def _unusable(path: Path | None, error: Exception) -> DatabaseError:
    name = _error_name(error)
    if name in {"SQLITE_CORRUPT", "SQLITE_NOTADB"}:
        return DatabaseError(
            f"{path} is damaged ({error}); it was left as it is: "
            "move it away to start afresh, or restore a copy"
        )
    return DatabaseError(f"{path} cannot be opened: {error}")

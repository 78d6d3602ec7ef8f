"""The SQLite engine: each verb of the port as one write or one read."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reflexiond.model import (
    Claim,
    Done,
    Ending,
    HistoryEntry,
    Job,
    JobId,
    JobState,
    Lesson,
    LessonId,
    Nearness,
    NewJob,
    Page,
    QueueCounts,
    Space,
    Vector,
)
from reflexiond.store.port import Added, Failure, Stored

from . import jobs, lessons
from .database import Database
from .driver import Connection


class SqliteStore:
    """Jobs and lessons in SQLite; implements `Store`.

    Usually one file holds both. With `volatile_queue` the jobs live in memory and end
    with the process, while the lessons stay in the file.
    """

    def __init__(self, memory: Database, queue: Database) -> None:
        self.database = memory
        self._queue = queue
        # Numbers only need to differ within one boot: a new boot first voids all claims.
        self._claims = itertools.count(1)

    @classmethod
    async def open(cls, path: Path | None, *, volatile_queue: bool = False) -> SqliteStore:
        """Open the store at `path`; None: all of it in memory.

        Raises:
            StartupError: see `Database.open`.
        """
        memory = await Database.open(path)
        if path is None or not volatile_queue:
            return cls(memory, memory)
        try:
            return cls(memory, await Database.open(None))
        except BaseException:
            await memory.close()
            raise

    async def close(self) -> None:
        """Finish what was begun and close. Idempotent."""
        await self._queue.close()
        await self.database.close()

    def facts(self) -> dict[str, Any]:
        """Say how the database is, for `status`. Looks at the file, never opens it."""
        database = self.database
        problem = database.problem or self._queue.problem
        if database.path is None:
            return {"problem": problem, "path": "", "bytes": 0, "wal_bytes": 0, "check": "ok"}
        return {
            "problem": problem,
            "path": str(database.path),
            "bytes": _size(database.path),
            "wal_bytes": _size(database.path.with_name(database.path.name + "-wal")),
            "check": database.checked,
        }

    # Queue. What a worker writes is not waited for by anybody: undone by a power failure,
    # claim, lesson and end together, the job is pending and is processed again.

    async def add(self, job: NewJob, *, capacity: int, drop_oldest: bool) -> Added:
        """Store a report; see the port."""
        return await self._queue.write(
            partial(jobs.add, job=job, capacity=capacity, drop_oldest=drop_oldest)
        )

    async def state(self, job_id: JobId) -> JobState | None:
        """Return where a job is."""
        return await self._queue.read(partial(jobs.state, job_id=job_id))

    async def claim(self, now_ns: int) -> tuple[Job, Claim] | None:
        """Give out the job that is due first."""
        return await self._queue.write(
            partial(jobs.claim, number=next(self._claims), now_ns=now_ns), synced=False
        )

    async def next_due_ns(self) -> int | None:
        """Return when the next unclaimed pending job is due."""
        return await self._queue.read(jobs.next_due_ns)

    async def complete(self, claim: Claim, done: Done, now_ns: int) -> Stored | None:
        """Store the lesson and end the job."""
        if self._queue is self.database:
            return await self._queue.write(
                partial(_complete, claim=claim, done=done, now_ns=now_ns), synced=False
            )
        # A queue in memory cannot outlive a crash, so the order alone is enough.
        held = await self._queue.read(partial(jobs.claimed, held=claim))
        if held is None:
            return None
        stored = await self.database.write(partial(lessons.store, done=done), synced=False)
        await self._queue.write(
            partial(
                _end,
                claim=claim,
                ending=Ending.SUCCESS,
                detail="",
                now_ns=now_ns,
                lesson=stored.lesson_id,
            ),
            synced=False,
        )
        return stored

    async def end(self, claim: Claim, ending: Ending, detail: str, now_ns: int) -> bool:
        """End a job without a lesson."""
        return await self._queue.write(
            partial(_end, claim=claim, ending=ending, detail=detail, now_ns=now_ns, lesson=None),
            synced=False,
        )

    async def retry(
        self, claim: Claim, error: str, due_ns: int, now_ns: int, *, spent: bool
    ) -> bool:
        """Put a claimed job back into the queue."""
        return await self._queue.write(
            partial(jobs.retry, held=claim, error=error, due_ns=due_ns, spent=spent, now_ns=now_ns),
            synced=False,
        )

    async def bury(self, claim: Claim, reason: str, traceback: str, now_ns: int) -> bool:
        """Move a claimed job to the dead letters."""
        return await self._queue.write(
            partial(jobs.bury, held=claim, reason=reason, traceback=traceback, now_ns=now_ns),
            synced=False,
        )

    async def failures(self, job_id: JobId) -> list[Failure]:
        """Return the failed attempts of a job."""
        return await self._queue.read(partial(jobs.failures, job_id=job_id))

    async def void_claims(self, crash_budget: int, now_ns: int) -> tuple[int, list[JobId]]:
        """Void the claims of earlier boots."""
        return await self._queue.write(
            partial(jobs.void_claims, crash_budget=crash_budget, now_ns=now_ns)
        )

    async def admit(self, capacity: int) -> list[JobId]:
        """Make parked jobs pending while there is room."""
        return await self._queue.write(partial(jobs.admit, capacity=capacity), synced=False)

    async def discard_stale(self, before_ns: int, now_ns: int) -> int:
        """End unclaimed jobs that are too old."""
        return await self._queue.write(
            partial(jobs.discard_stale, before_ns=before_ns, now_ns=now_ns), synced=False
        )

    async def make_due(self, now_ns: int) -> int:
        """Make waiting pending jobs due now."""
        return await self._queue.write(partial(jobs.make_due, now_ns=now_ns))

    async def revive(self, job_id: JobId | None, now_ns: int, capacity: int) -> list[JobId]:
        """Move dead jobs back to the queue."""
        return await self._queue.write(
            partial(jobs.revive, job_id=job_id, now_ns=now_ns, capacity=capacity)
        )

    async def purge(self, job_id: JobId | None, now_ns: int) -> list[JobId]:
        """End dead jobs as purged."""
        return await self._queue.write(partial(jobs.purge, job_id=job_id, now_ns=now_ns))

    async def trim_history(self, before_ns: int, max_rows: int) -> int:
        """Forget ended jobs that are too old or too many."""
        return await self._queue.write(
            partial(jobs.trim_history, before_ns=before_ns, max_rows=max_rows), synced=False
        )

    async def counts(self) -> QueueCounts:
        """Return how many jobs there are."""
        return await self._queue.read(jobs.counts)

    async def list_jobs(self, page: Page) -> list[Job]:
        """Return jobs in order of arrival."""
        return await self._queue.read(partial(jobs.list_jobs, page=page))

    async def list_dead(self, page: Page) -> list[Job]:
        """Return dead jobs, newest death first."""
        return await self._queue.read(partial(jobs.list_dead, page=page))

    async def list_history(self, page: Page) -> tuple[list[HistoryEntry], int]:
        """Return ended jobs, newest first, and how many there are."""
        return await self._queue.read(partial(jobs.list_history, page=page))

    async def find_jobs(self, prefix: str, limit: int) -> list[Job]:
        """Return jobs whose id starts with `prefix`."""
        return await self._queue.read(partial(jobs.find_jobs, prefix=prefix, limit=limit))

    async def find_history(self, prefix: str, limit: int) -> list[HistoryEntry]:
        """Return ended jobs whose id starts with `prefix`."""
        return await self._queue.read(partial(jobs.find_history, prefix=prefix, limit=limit))

    # Memory

    async def open_space(self, space: Space) -> None:
        """Make an embedding space ready."""
        await self.database.write(partial(lessons.open_space, space=space))

    async def store_lesson(self, done: Done) -> Stored:
        """Store a lesson, or reinforce the one of the same id."""
        return await self.database.write(partial(lessons.store, done=done))

    async def add_vectors(
        self, space: Space, rows: Sequence[tuple[LessonId, Vector, Vector]]
    ) -> None:
        """Add vectors for lessons stored without."""
        await self.database.write(partial(lessons.add_missing_vectors, space=space, rows=rows))

    async def without_vectors(self, space: Space, limit: int) -> list[Lesson]:
        """Return lessons that the space does not hold yet."""
        return await self.database.read(partial(lessons.without_vectors, space=space, limit=limit))

    async def nearest(self, space: Space, query: Vector, limit: int) -> list[Nearness]:
        """Return the lessons nearest to a vector."""
        return await self.database.read(
            partial(lessons.nearest, space=space, query=query, limit=limit)
        )

    async def matching(
        self, terms: Sequence[str], limit: int, space: Space | None, query: Vector | None
    ) -> list[Nearness]:
        """Return the lessons that best match any of the terms."""
        return await self.database.read(
            partial(lessons.matching, terms=terms, limit=limit, space=space, query=query)
        )

    async def document_frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Return the number of lessons, and in how many each term occurs."""

        def read(conn: Connection) -> tuple[int, dict[str, int]]:
            return jobs.count(conn, "lessons"), lessons.document_frequencies(conn, terms)

        return await self.database.read(read)

    async def list_lessons(self, page: Page) -> tuple[list[Lesson], int]:
        """Return lessons, newest first, and the next cursor."""
        return await self.database.read(partial(lessons.list_lessons, page=page))

    async def find_lessons(self, prefix: str, limit: int) -> list[Lesson]:
        """Return lessons whose id starts with `prefix`."""
        return await self.database.read(partial(lessons.find, prefix=prefix, limit=limit))

    async def delete_lesson(self, lesson_id: LessonId) -> bool:
        """Delete a lesson everywhere."""
        return await self.database.write(partial(lessons.delete, lesson_id=lesson_id))

    async def count_lessons(self) -> int:
        """Return how many lessons there are."""
        return await self.database.read(partial(jobs.count, name="lessons"))


def _complete(conn: Connection, claim: Claim, done: Done, now_ns: int) -> Stored | None:
    job = jobs.claimed(conn, claim)
    if job is None:
        return None
    stored = lessons.store(conn, done)
    jobs.end(conn, job, Ending.SUCCESS, "", now_ns, stored.lesson_id)
    return stored


def _end(
    conn: Connection,
    claim: Claim,
    ending: Ending,
    detail: str,
    now_ns: int,
    lesson: LessonId | None,
) -> bool:
    job = jobs.claimed(conn, claim)
    if job is None:
        return False
    jobs.end(conn, job, ending, detail, now_ns, lesson)
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0

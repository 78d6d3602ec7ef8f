"""What queue and memory ask of storage.

An engine implements `Store`; the conformance suite in tests/store says what each
verb must do. Every verb that changes something is one transaction, and returns only
when the change is durable. Verbs raise `StoreFailed` when it could not be made so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reflexiond.model import (
    Admission,
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


@dataclass(frozen=True, slots=True)
class Added:
    """What `add` did: `admission` at the door, `state` of the job now."""

    admission: Admission
    state: JobState


@dataclass(frozen=True, slots=True)
class Stored:
    """The lesson that a write left in the store; `new` is False for a reinforced one."""

    lesson_id: LessonId
    new: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt of a job."""

    at_ns: int
    attempt: int
    error: str


class QueueStore(Protocol):
    """Jobs: pending, parked, dead, and what became of the ended ones."""

    async def add(self, job: NewJob, *, capacity: int, drop_oldest: bool) -> Added:
        """Store a report. Beyond `capacity` pending jobs it is parked.

        With `drop_oldest` the oldest unclaimed pending job is parked instead and the new
        one is pending. A job of this id that is pending, parked or running makes the
        report a duplicate; a dead one is updated with the newest report and stays dead.
        """
        ...

    async def state(self, job_id: JobId) -> JobState | None:
        """Return where a job is; None when it has ended or never was."""
        ...

    async def claim(self, now_ns: int) -> tuple[Job, Claim] | None:
        """Give the job that is due first to the caller, and count the attempt."""
        ...

    async def next_due_ns(self) -> int | None:
        """Return when the next unclaimed pending job is due; None when there is none."""
        ...

    async def complete(self, claim: Claim, done: Done, now_ns: int) -> Stored | None:
        """Store the lesson and end the job in one transaction. None: the claim is stale."""
        ...

    async def end(self, claim: Claim, ending: Ending, detail: str, now_ns: int) -> bool:
        """End a job without a lesson. False: the claim is stale, nothing changed."""
        ...

    async def retry(
        self, claim: Claim, error: str, due_ns: int, now_ns: int, *, spent: bool
    ) -> bool:
        """Put a claimed job back, due at `due_ns`; without `spent` the attempt is given back."""
        ...

    async def bury(self, claim: Claim, reason: str, traceback: str, now_ns: int) -> bool:
        """Move a claimed job to the dead letters."""
        ...

    async def failures(self, job_id: JobId) -> list[Failure]:
        """Return the newest failed attempts of a job that has not ended, oldest first."""
        ...

    async def void_claims(self, crash_budget: int, now_ns: int) -> tuple[int, list[JobId]]:
        """Void the claims of earlier boots and count a death for each.

        Jobs that reached `crash_budget` deaths go to the dead letters; they are returned
        beside the number of voided claims.
        """
        ...

    async def admit(self, capacity: int) -> list[JobId]:
        """Make parked jobs pending, oldest first, while there is room. At most 1000 a call."""
        ...

    async def discard_stale(self, before_ns: int, now_ns: int) -> int:
        """End unclaimed jobs enqueued before a time as stale. At most 1000 a call."""
        ...

    async def make_due(self, now_ns: int) -> int:
        """Make every waiting pending job due now; return how many waited."""
        ...

    async def revive(self, job_id: JobId | None, now_ns: int, capacity: int) -> list[JobId]:
        """Move one dead job (None: up to 1000) back to the queue with a fresh stale clock."""
        ...

    async def purge(self, job_id: JobId | None, now_ns: int) -> list[JobId]:
        """End one dead job (None: up to 1000) as purged."""
        ...

    async def trim_history(self, before_ns: int, max_rows: int) -> int:
        """Forget ended jobs that are too old or too many. At most 1000 a call."""
        ...

    async def counts(self) -> QueueCounts:
        """Return how many jobs there are, without counting rows."""
        ...

    async def list_jobs(self, page: Page) -> list[Job]:
        """Return pending, running and parked jobs in order of arrival."""
        ...

    async def list_dead(self, page: Page) -> list[Job]:
        """Return dead jobs, newest death first."""
        ...

    async def list_history(self, page: Page) -> tuple[list[HistoryEntry], int]:
        """Return ended jobs, newest first, and how many there are."""
        ...

    async def find_jobs(self, prefix: str, limit: int) -> list[Job]:
        """Return jobs that have not ended whose id starts with `prefix`."""
        ...

    async def find_history(self, prefix: str, limit: int) -> list[HistoryEntry]:
        """Return ended jobs whose id starts with `prefix`, newest first."""
        ...


class MemoryStore(Protocol):
    """Lessons with their vectors and text index."""

    async def open_space(self, space: Space) -> None:
        """Make an embedding space ready to store and search; known spaces are kept."""
        ...

    async def store_lesson(self, done: Done) -> Stored:
        """Store a lesson, or reinforce the one of the same id."""
        ...

    async def add_vectors(
        self, space: Space, rows: Sequence[tuple[LessonId, Vector, Vector]]
    ) -> None:
        """Add (lesson, task vector, situation vector) for lessons stored without."""
        ...

    async def without_vectors(self, space: Space, limit: int) -> list[Lesson]:
        """Return lessons that the space does not hold yet, oldest first."""
        ...

    async def nearest(self, space: Space, query: Vector, limit: int) -> list[Nearness]:
        """Return the lessons nearest to a vector by either key, with exact cosines."""
        ...

    async def matching(
        self, terms: Sequence[str], limit: int, space: Space | None, query: Vector | None
    ) -> list[Nearness]:
        """Return the lessons that best match any of the terms, with cosines where asked."""
        ...

    async def document_frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Return the number of lessons, and in how many each term occurs."""
        ...

    async def list_lessons(self, page: Page) -> tuple[list[Lesson], int]:
        """Return lessons, newest first, and the cursor of the next page (0: none)."""
        ...

    async def find_lessons(self, prefix: str, limit: int) -> list[Lesson]:
        """Return lessons whose id starts with `prefix`."""
        ...

    async def delete_lesson(self, lesson_id: LessonId) -> bool:
        """Delete a lesson from rows, vectors and text index."""
        ...

    async def count_lessons(self) -> int:
        """Return how many lessons there are."""
        ...


class Store(QueueStore, MemoryStore, Protocol):
    """Both, in one transactional engine."""

    async def close(self) -> None:
        """Finish what was begun and close. Idempotent."""
        ...

"""The nouns of the daemon. Frozen, without behaviour that needs I/O.

Times are integer nanoseconds since the epoch (UTC), named `*_at_ns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from reflexion_client.model import LessonRequest

JobId = NewType("JobId", str)
LessonId = NewType("LessonId", str)
Vector = NewType("Vector", bytes)
"""Float32 little-endian, L2-normalised."""


class JobState(StrEnum):
    """Where a job that has not ended is. `running` is a pending job under a claim."""

    PENDING = "pending"
    PARKED = "parked"
    RUNNING = "running"
    DEAD = "dead"


class Ending(StrEnum):
    """How a job ended for good."""

    SUCCESS = "success"
    SKIPPED = "skipped"
    STALE = "stale"
    PURGED = "purged"


class Admission(StrEnum):
    """What became of a report at the door."""

    ACCEPTED = "accepted"
    DEDUPED = "deduped"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class NewJob:
    """A report on its way in."""

    id: JobId
    request: LessonRequest
    workspace: str
    source: str
    enqueued_at_ns: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The right of one worker of this boot to finish a job. Void once the number is stale."""

    job_id: JobId
    number: int


@dataclass(frozen=True, slots=True)
class Job:
    """A job that has not ended.

    `enqueued_at_ns` is the stale clock (a retry from the dead letters renews it);
    `first_enqueued_at_ns` is when the report first came in. `attempts` counts claims,
    `deaths` the boots that died while they held it. The last three fields are set
    for dead jobs only.
    """

    seq: int
    id: JobId
    state: JobState
    request: LessonRequest
    workspace: str
    source: str
    enqueued_at_ns: int
    first_enqueued_at_ns: int
    next_attempt_at_ns: int
    attempts: int
    deaths: int
    last_error: str
    died_at_ns: int = 0
    reason: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """What became of a job that ended."""

    seq: int
    id: JobId
    outcome: Ending
    ended_at_ns: int
    enqueued_at_ns: int
    attempts: int
    trigger: str
    task: str
    workspace: str
    source: str
    lesson_id: LessonId | None
    detail: str


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many jobs there are. `pending` includes the running ones."""

    pending: int
    parked: int
    dead: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is remembered, with where it came from.

    `task` is what was being done when it was learned: the strongest key to find it by.
    """

    id: LessonId
    situation: str
    mistake: str
    correction: str
    trigger: str
    tags: tuple[str, ...]
    fact: str
    task: str
    workspace: str
    source: str
    distiller: str
    job_id: str
    created_at_ns: int
    category: str = "lesson"
    last_seen_at_ns: int = 0
    seen: int = 1


@dataclass(frozen=True, slots=True)
class LessonDraft:
    """What a distiller learned from a failure: the lesson before it has a name and a place."""

    situation: str
    mistake: str
    correction: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LessonVectors:
    """The keys of one lesson in one embedding space."""

    space: str
    task: Vector
    situation: Vector


@dataclass(frozen=True, slots=True)
class Space:
    """An embedding space: vectors of different spaces are never compared."""

    id: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Nearness:
    """A candidate lesson and its cosine to the query, per key; None without vectors."""

    lesson: Lesson
    task_cosine: float | None
    situation_cosine: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """A slice of a list: at most `limit` rows beyond the cursor `after` (None: the first)."""

    limit: int = 50
    after: int | None = None


# What a processor says of a job. Each is a value, so that the policy stands in one place.


@dataclass(frozen=True, slots=True)
class Done:
    """The lesson to store, with its vectors where an embedder is at hand."""

    lesson: Lesson
    vectors: LessonVectors | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing to learn; the job ends."""

    reason: str


@dataclass(frozen=True, slots=True)
class Retry:
    """A passing fault: try again later, not before `after_ns` from now when given."""

    error: str
    after_ns: int = 0


@dataclass(frozen=True, slots=True)
class Snooze:
    """Not now, and nobody's fault: costs no attempt. Due again at `until_ns`."""

    until_ns: int
    reason: str


@dataclass(frozen=True, slots=True)
class Bury:
    """No use in trying again: to the dead letters."""

    reason: str
    traceback: str = ""


Outcome = Done | Skipped | Retry | Snooze | Bury

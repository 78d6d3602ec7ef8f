"""The nouns that travel between a tool and the daemon.

All are frozen. `parse` builds one from a map off the wire and ignores keys it
does not know, so that an older client understands a newer daemon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, TypeVar

from .errors import ProtocolError


class Trigger(StrEnum):
    """Why we reflect."""

    ERROR = "error"
    HALLUCINATION = "hallucination"
    LOW_QUALITY = "low_quality"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class LessonRequest:
    """All that the distiller is told about a failure.

    `trigger` is free text on the wire, as in the record format; tools use `Trigger`.
    """

    task: str
    attempt: str = ""
    outcome: str = ""
    trigger: str = Trigger.ERROR


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of a report.

    `outcome` is accepted (new), deduped (this very report is known and not ended),
    or parked (durable, and waiting for a slot). `state` is where the job is now:
    pending, parked, or dead.
    """

    id: str
    outcome: str
    state: str


@dataclass(frozen=True, slots=True)
class RecalledLesson:
    """One lesson that fits a task. `score` is the relevance that stood above the floor."""

    id: str
    score: float
    situation: str
    mistake: str
    correction: str
    trigger: str = ""
    tags: tuple[str, ...] = ()
    workspace: str = ""
    source: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """The lessons for a task, best first, and the section an agent gets (empty: silence).

    `mode` is "vector+text", or "text" while no embedding model is available.
    """

    lessons: tuple[RecalledLesson, ...] = ()
    section: str = ""
    mode: str = ""
    floor: float = 0.0

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self.lessons)


@dataclass(frozen=True, slots=True)
class Reflected:
    """The instant judgement of one failure, and the job that records it (or None)."""

    failure: bool
    mode: str
    root_cause: str
    hypothesis: str
    confidence: float
    note: str
    job: Enqueued | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """The lesson that a manual reflection stored. `new` is False for a known text."""

    id: str
    fact: str
    new: bool = True


T = TypeVar("T")


def parse(noun: type[T], value: Any) -> T:
    """Build `noun` from a map, ignoring unknown keys.

    Raises:
        ProtocolError: the map lacks a field that has no default.
    """
    if not isinstance(value, Mapping):
        raise ProtocolError(f"expected a map for {noun.__name__}, got {type(value).__name__}")
    known = {field.name for field in fields(noun)}  # type: ignore[arg-type]
    try:
        return noun(**{key: item for key, item in value.items() if key in known})
    except TypeError as error:
        raise ProtocolError(f"incomplete {noun.__name__} from the daemon: {error}") from error


def parse_recall(value: Any) -> Recall:
    """Build a `Recall` from its map."""
    recall = parse(Recall, value)
    maps: tuple[Any, ...] = recall.lessons
    lessons = tuple(parse(RecalledLesson, lesson) for lesson in maps)
    lessons = tuple(replace(lesson, tags=tuple(lesson.tags)) for lesson in lessons)
    return replace(recall, lessons=lessons)


def parse_reflected(value: Any) -> Reflected:
    """Build a `Reflected` from its map."""
    job = value.get("job") if isinstance(value, Mapping) else None
    return parse(Reflected, {**value, "job": parse(Enqueued, job) if job else None})

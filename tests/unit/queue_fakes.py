"""What the queue's unit tests stand on: a clock moved by hand, a listener, a watched store."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

from reflexion_client.identity import derive_job_id
from reflexion_client.model import LessonRequest
from reflexiond.clock import SECOND_NS
from reflexiond.errors import StoreFailed
from reflexiond.events import Event
from reflexiond.model import JobId, NewJob
from reflexiond.store.port import QueueStore

FOR_EVER_S = 3_600.0
"""Longer than any test may take: whoever waits for it is never answered in time."""


@dataclass
class HandClock:
    """A clock that moves when it is told to."""

    at_ns: int = 1_700_000_000 * SECOND_NS

    def now_ns(self) -> int:
        return self.at_ns


@dataclass
class Told:
    """Everything that was published, and a way to wait for it."""

    events: list[Event] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.events]

    async def wait(self, name: str, times: int = 1) -> Event:
        """Return the last event of a name once there were so many of them."""
        while self.names.count(name) < times:
            self._news.clear()
            await self._news.wait()
        return [event for event in self.events if event.name == name][-1]


class WatchedStore:
    """Counts the calls that a store has answered, and fails those that it is told to fail.

    Attributes:
        calls: how many calls of each verb have ended.
        failing: how many of the next calls of a verb fail.
    """

    def __init__(self, inner: QueueStore) -> None:
        self._inner = inner
        self._news = asyncio.Event()
        self.calls: Counter[str] = Counter()
        self.failing: dict[str, int] = {}

    @property
    def port(self) -> QueueStore:
        return cast("QueueStore", self)

    def __getattr__(self, verb: str) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            try:
                if self.failing.get(verb, 0):
                    self.failing[verb] -= 1
                    raise StoreFailed("the disk is full", full=True)
                return await getattr(self._inner, verb)(*args, **options)
            finally:
                self.calls[verb] += 1
                self._news.set()

        return call

    async def answered(self, verb: str, times: int) -> None:
        """Return once so many calls of a verb have ended."""
        while self.calls[verb] < times:
            self._news.clear()
            await self._news.wait()


def report(n: int) -> LessonRequest:
    """Return a report of its own kind."""
    return LessonRequest(f"task {n}", f"attempt {n}", "ERROR: exit status 1")


def id_of(request: LessonRequest) -> JobId:
    return JobId(derive_job_id(request.task, request.trigger, request.attempt, request.outcome))


def new_job(n: int, at_ns: int) -> NewJob:
    request = report(n)
    return NewJob(id_of(request), request, "/w", "tests", at_ns)

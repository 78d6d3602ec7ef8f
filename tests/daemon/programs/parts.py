"""The queue's parts, composed as the daemon composes them, around a processor of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from reflexion_client.model import Enqueued, LessonRequest
from reflexiond.clock import SECOND_NS, Clock, SystemClock
from reflexiond.events import Event
from reflexiond.memory import lessons
from reflexiond.model import Done, Job, LessonDraft, Outcome, Page
from reflexiond.queue.admission import Admissions
from reflexiond.queue.backoff import RetryPolicy
from reflexiond.queue.housekeeper import Housekeeper
from reflexiond.queue.workers import Processor, Workers
from reflexiond.rpc.services import Services
from reflexiond.store.sqlite import SqliteStore

HOUR_NS = 3_600 * SECOND_NS
FOR_EVER_S = 3_600.0
"""Longer than any test may take: whoever waits for it is never answered in time."""
ALL = Page(10_000)


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
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, event: Event) -> None:
        self.events.append(event)
        self.news.set()

    def count(self, *names: str, job_id: str = "") -> int:
        """Return how often something happened, to one job or to any."""
        return sum(event.name in names and job_id in {"", event.job_id} for event in self.events)

    async def wait(self, *names: str, job_id: str = "", times: int = 1) -> None:
        """Return once something happened so many times."""
        while self.count(*names, job_id=job_id) < times:
            self.news.clear()
            await self.news.wait()


@dataclass
class Parts:
    """A running queue without a socket."""

    store: SqliteStore
    admissions: Admissions
    workers: Workers
    housekeeper: Housekeeper
    told: Told
    clock: Clock

    async def report(self, n: int | str, wait_s: float = 0.0, attempt: str = "") -> Enqueued:
        """Enqueue a report of its own kind."""
        request = LessonRequest(f"task {n}", attempt or f"attempt {n}", "ERROR: exit status 1")
        return await self.admissions.enqueue(request, "/w", "tests", wait_s)

    def services(self) -> Services:
        """Return what the operator's verbs need, and no more."""
        return cast(
            "Services",
            SimpleNamespace(
                clock=self.clock,
                store=self.store,
                admissions=self.admissions,
                workers=self.workers,
                publish=self.told.publish,
            ),
        )


@asynccontextmanager
async def composed(
    path: Path | None,
    process: Processor,
    *,
    clock: Clock | None = None,
    policy: RetryPolicy | None = None,
    capacity: int = 1000,
    drop_oldest: bool = False,
    workers: int = 1,
    working: bool = True,
    drain_s: float = 0.0,
) -> AsyncIterator[Parts]:
    """Start the queue over `path` (None: in memory), and stop it in good order.

    Args:
        path: the database.
        process: what the workers do with a job.
        clock: the time of day; the machine's when None.
        policy: retries; immediate, without jitter, five attempts when None.
        capacity: how many jobs may be pending.
        drop_oldest: park the oldest job when full.
        workers: how many jobs are processed at once.
        working: start the workers and the housekeeper.
        drain_s: how long a stop waits for jobs under way.
    """
    clock, told = clock or SystemClock(), Told()
    store = await SqliteStore.open(path)

    async def freed() -> object:
        return await admissions.admit()

    async def quiet() -> None:
        """Reports and jobs need not give way to each other here; a test may count the looks."""
        told.publish(Event("looked"))

    queue = Workers(
        store,
        process,
        policy=policy or RetryPolicy(1, 1, jitter_fraction=0.0),
        clock=clock,
        random=lambda: 0.5,
        count=workers,
        job_timeout_ns=600 * SECOND_NS,
        publish=told.publish,
        freed=freed,
        quiet=quiet,
    )
    admissions = Admissions(
        store,
        clock,
        capacity=capacity,
        drop_oldest=drop_oldest,
        block_timeout_ns=int(FOR_EVER_S) * SECOND_NS,
        publish=told.publish,
        wake=queue.wake,
    )
    housekeeper = Housekeeper(
        store,
        clock,
        crash_budget=3,
        stale_after_ns=168 * HOUR_NS,
        history_age_ns=720 * HOUR_NS,
        history_rows=100_000,
        publish=told.publish,
        admit=admissions.admit,
    )
    try:
        await housekeeper.recover()
        if working:
            queue.start()
            housekeeper.start()
        yield Parts(store, admissions, queue, housekeeper, told, clock)
    finally:
        admissions.close()
        await housekeeper.stop()
        await queue.stop(drain_s)
        await store.close()


async def learn(job: Job) -> Done:
    """Turn a job into a lesson of its own."""
    lesson = lessons.from_draft(
        LessonDraft(job.request.task, "it failed", "do it right", ("a", "b")),
        task=job.request.task,
        trigger=job.request.trigger,
        workspace=job.workspace,
        source=job.source,
        distiller="tests",
        job_id=job.id,
        now_ns=1,
    )
    return Done(lesson, None)


@dataclass
class Gate:
    """A processor that holds every job until it is opened, and remembers the order of arrival."""

    inner: Processor = learn
    order: list[Job] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, job: Job) -> Outcome:
        self.order.append(job)
        self.came.set()
        await self.open.wait()
        return await self.inner(job)

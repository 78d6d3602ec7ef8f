"""The door: what becomes of a report when there is room, and when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from queue_fakes import FOR_EVER_S, HandClock, Told, WatchedStore, id_of, new_job, report

from reflexion_client.errors import BadParams, Stopping, TooLarge
from reflexion_client.model import Enqueued, LessonRequest
from reflexion_client.wire import MAX_REPORT_BYTES
from reflexiond.clock import SECOND_NS
from reflexiond.errors import StoreFailed
from reflexiond.model import Ending, JobState, QueueCounts
from reflexiond.queue.admission import Admissions
from reflexiond.store.port import Added, QueueStore
from reflexiond.store.sqlite import SqliteStore

BLOCK_NS = int(FOR_EVER_S) * SECOND_NS


@pytest.fixture
async def store() -> AsyncIterator[WatchedStore]:
    opened = await SqliteStore.open(None)
    yield WatchedStore(opened)
    await opened.close()


@dataclass
class Door:
    """Admissions with what stands around them."""

    admissions: Admissions
    store: WatchedStore
    clock: HandClock
    told: Told
    woken: list[None] = field(default_factory=list)

    async def enqueue(self, n: int, wait_s: float | None = None) -> Enqueued:
        return await self.admissions.enqueue(report(n), "/w", "tests", wait_s)

    async def free_a_slot(self) -> None:
        """End the job that is due first, as a worker does."""
        await free_a_slot(self.store.port, self.clock.at_ns)
        await self.admissions.admit()


async def free_a_slot(store: QueueStore, now_ns: int) -> None:
    held = await store.claim(now_ns)
    assert held is not None
    assert await store.end(held[1], Ending.SKIPPED, "", now_ns)


def door(store: WatchedStore, *, port: QueueStore | None = None, **options: Any) -> Door:
    """Return a door in front of a queue of one slot."""
    clock, told, woken = HandClock(), Told(), list[None]()
    settings = {"capacity": 1, "drop_oldest": False, "block_timeout_ns": BLOCK_NS, **options}
    admissions = Admissions(
        port or store.port,
        clock,
        publish=told.publish,
        wake=lambda: woken.append(None),
        **settings,
    )
    return Door(admissions, store, clock, told, woken)


def answer(n: int, outcome: str, state: str) -> Enqueued:
    return Enqueued(id_of(report(n)), outcome, state)


async def test_a_report_is_accepted_where_there_is_room(store: WatchedStore) -> None:
    """It is pending, its workers are woken, and its origin and time are kept."""
    front = door(store)
    assert answer(1, "accepted", "pending") == await front.enqueue(1)
    assert (["accepted"], 1) == (front.told.names, len(front.woken))
    [job] = await store.port.find_jobs(id_of(report(1)), 2)
    assert ("/w", "tests", front.clock.at_ns) == (job.workspace, job.source, job.enqueued_at_ns)


async def test_the_same_report_again_is_a_duplicate(store: WatchedStore) -> None:
    """It is told apart from a new one, wakes nobody, and waits for nothing."""
    front = door(store)
    await front.enqueue(1)
    assert answer(1, "deduped", "pending") == await front.enqueue(1)
    assert (["accepted", "deduped"], 1) == (front.told.names, len(front.woken))


async def test_block_waits_until_a_slot_is_free(store: WatchedStore) -> None:
    """A report to a full queue is parked at once, and answered as accepted when admitted."""
    front = door(store)
    await front.enqueue(1)
    second = asyncio.create_task(front.enqueue(2))
    await front.told.wait("parked")
    await store.answered("admit", 1)
    assert JobState.PARKED is await store.port.state(id_of(report(2)))
    assert not second.done()
    await front.free_a_slot()
    assert answer(2, "accepted", "pending") == await second
    assert JobState.PENDING is await store.port.state(id_of(report(2)))


async def test_a_slot_freed_before_the_wait_began_is_not_missed(store: WatchedStore) -> None:
    """A job that ends between the report's commit and its wait makes room all the same."""

    class Hurried(WatchedStore):
        async def add(self, *args: Any, **options: Any) -> Added:
            added: Added = await store.port.add(*args, **options)
            if added.state is JobState.PARKED:
                await free_a_slot(store.port, HandClock().at_ns)
            return added

    front = door(store, port=Hurried(store.port).port)
    await front.enqueue(1)
    assert answer(2, "accepted", "pending") == await front.enqueue(2)


@pytest.mark.parametrize(("block_ns", "wait_s"), [(1, None), (BLOCK_NS, 0.0), (BLOCK_NS, 1e-6)])
async def test_no_slot_in_time_is_parked(
    store: WatchedStore, block_ns: int, wait_s: float | None
) -> None:
    """The block timeout, or the caller's own wait, ends in `parked`: durable all the same."""
    front = door(store, block_timeout_ns=block_ns)
    await front.enqueue(1)
    assert answer(2, "parked", "parked") == await front.enqueue(2, wait_s)
    assert QueueCounts(pending=1, parked=1, dead=0) == await store.port.counts()
    assert ["accepted", "parked"] == front.told.names


async def test_drop_oldest_parks_the_oldest(store: WatchedStore) -> None:
    """The new report takes the place of the oldest one, at once and without loss."""
    front = door(store, drop_oldest=True)
    await front.enqueue(1)
    assert answer(2, "accepted", "pending") == await front.enqueue(2)
    assert JobState.PARKED is await store.port.state(id_of(report(1)))
    assert 2 == len(front.woken)


async def test_closing_answers_those_who_wait(store: WatchedStore) -> None:
    """Whoever waits for a slot hears `parked` at once; later reports are turned away."""
    front = door(store)
    await front.enqueue(1)
    waiting = [asyncio.create_task(front.enqueue(n)) for n in (2, 3)]
    await front.told.wait("parked", 2)
    front.admissions.close()
    assert [answer(2, "parked", "parked"), answer(3, "parked", "parked")] == await asyncio.gather(
        *waiting
    )
    with pytest.raises(Stopping, match="shutting down"):
        await front.enqueue(4)
    assert QueueCounts(pending=1, parked=2, dead=0) == await store.port.counts()


async def test_parked_jobs_are_admitted_oldest_first(store: WatchedStore) -> None:
    """As many as there is room for, told once and with one wake-up."""
    front = door(store, capacity=3)
    for n in range(1, 6):
        await store.port.add(new_job(n, n), capacity=1, drop_oldest=False)
    assert 2 == await front.admissions.admit()
    [event] = front.told.events
    assert ("admitted", 2, 1) == (event.name, event.count, len(front.woken))
    states = [await store.port.state(id_of(report(n))) for n in range(1, 6)]
    assert [JobState.PENDING] * 3 + [JobState.PARKED] * 2 == states
    assert 0 == await front.admissions.admit()
    assert 1 == len(front.woken)


@pytest.mark.parametrize("blank", ["", " ", "\n\t \u2003"])
async def test_a_report_that_says_nothing_is_refused(store: WatchedStore, blank: str) -> None:
    """Task, attempt and outcome cannot all be blank; a trigger alone says nothing."""
    front = door(store)
    with pytest.raises(BadParams, match="all three are empty"):
        await front.admissions.enqueue(LessonRequest(blank, blank, blank, "error"), "/w", "t")
    assert 0 == store.calls["add"]


@pytest.mark.parametrize("text", ["x" * (MAX_REPORT_BYTES + 1), "é" * (MAX_REPORT_BYTES // 2 + 1)])
async def test_a_report_over_the_limit_is_refused(store: WatchedStore, text: str) -> None:
    """Bytes count, not characters, and the error carries both sizes as numbers."""
    front = door(store)
    with pytest.raises(TooLarge, match=f"the limit is {MAX_REPORT_BYTES}") as caught:
        await front.admissions.enqueue(LessonRequest("", text, "", ""), "/w", "t")
    size = len(text.encode())
    assert {"limit_bytes": MAX_REPORT_BYTES, "size_bytes": size} == caught.value.data
    assert 0 == store.calls["add"]


async def test_a_report_at_the_limit_is_taken(store: WatchedStore) -> None:
    """The limit itself is still allowed, all four texts together."""
    front = door(store)
    request = LessonRequest("t" * 10, "x" * (MAX_REPORT_BYTES - 20), "o" * 5, "error")
    assert "accepted" == (await front.admissions.enqueue(request, "/w", "t")).outcome


async def test_a_store_that_failed_acknowledges_nothing(store: WatchedStore) -> None:
    """The error reaches the caller, and nobody is told of a report that is not there."""
    front = door(store)
    store.failing["add"] = 1
    with pytest.raises(StoreFailed):
        await front.enqueue(1)
    assert ([], []) == (front.told.events, front.woken)


@pytest.mark.parametrize("verb", ["admit", "state"])
async def test_a_store_that_fails_during_the_wait_leaves_it_parked(
    store: WatchedStore, verb: str
) -> None:
    """The report was durable before the wait: the answer is `parked`, not an error."""
    front = door(store, block_timeout_ns=1)
    await front.enqueue(1)
    store.failing[verb] = 1
    assert answer(2, "parked", "parked") == await front.enqueue(2)


async def test_workers_need_not_hold_back_at_rest(store: WatchedStore) -> None:
    """Without recent reports, and once the door is closed, `quiet` returns at once."""
    front = door(store)
    await asyncio.wait_for(front.admissions.quiet(), 5)
    await front.enqueue(1)
    held_back = asyncio.create_task(front.admissions.quiet())
    front.admissions.close()
    await asyncio.wait_for(held_back, 5)
    await asyncio.wait_for(front.admissions.quiet(), 0.01)

"""The housekeeper: claims of dead boots, stale reports, old history, parked jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from queue_fakes import HandClock, Told, WatchedStore, id_of, new_job, report

from reflexiond.clock import SECOND_NS
from reflexiond.model import Ending, JobState, Page
from reflexiond.queue.housekeeper import Housekeeper
from reflexiond.store.sqlite import SqliteStore

HOUR_NS = 3_600 * SECOND_NS


@pytest.fixture
async def store() -> AsyncIterator[WatchedStore]:
    opened = await SqliteStore.open(None)
    yield WatchedStore(opened)
    await opened.close()


class House:
    """A housekeeper with what stands around it."""

    def __init__(self, store: WatchedStore, **options: Any) -> None:
        self.store, self.clock, self.told = store, HandClock(), Told()
        self.admitted = asyncio.Event()
        settings = {
            "crash_budget": 2,
            "stale_after_ns": 168 * HOUR_NS,
            "history_age_ns": 720 * HOUR_NS,
            "history_rows": 1_000,
            **options,
        }

        async def admit() -> None:
            self.admitted.set()

        self.keeper = Housekeeper(
            store.port, self.clock, publish=self.told.publish, admit=admit, **settings
        )

    async def add(self, *numbers: int, capacity: int = 1000) -> None:
        for n in numbers:
            job = new_job(n, self.clock.at_ns)
            await self.store.port.add(job, capacity=capacity, drop_oldest=False)

    async def end(self, *numbers: int) -> None:
        await self.add(*numbers)
        for _ in numbers:
            held = await self.store.port.claim(self.clock.at_ns)
            assert held is not None
            await self.store.port.end(held[1], Ending.SKIPPED, "", self.clock.at_ns)

    async def history(self) -> list[str]:
        entries, _ = await self.store.port.list_history(Page())
        return [f"{entry.task}: {entry.outcome}" for entry in entries]


async def test_the_claims_of_a_dead_boot_are_void(store: WatchedStore) -> None:
    """Its job is pending again, with a death on its account."""
    house = House(store)
    await house.add(1, 2)
    await store.port.claim(house.clock.at_ns)
    await house.keeper.recover()
    [job] = await store.port.find_jobs(id_of(report(1)), 2)
    assert (JobState.PENDING, 1) == (job.state, job.deaths)
    assert [("voided", 1)] == [(event.name, event.count) for event in house.told.events]


async def test_a_job_that_kills_the_daemon_is_buried(store: WatchedStore) -> None:
    """After as many deaths as the crash budget, with that reason."""
    house = House(store)
    await house.add(1)
    for _ in range(2):
        await store.port.claim(house.clock.at_ns)
        await house.keeper.recover()
    [job] = await store.port.find_jobs(id_of(report(1)), 2)
    assert JobState.DEAD is job.state
    last = house.told.events[-1]
    expected = ("buried", job.id, "the daemon died 2 times while processing it")
    assert expected == (last.name, last.job_id, last.detail)


async def test_a_clean_boot_has_nothing_to_tell(store: WatchedStore) -> None:
    """Without claims nothing is void."""
    house = House(store)
    await house.add(1)
    await house.keeper.recover()
    assert [] == house.told.events


async def test_stale_reports_are_discarded(store: WatchedStore) -> None:
    """Pending and parked ones that waited longer than allowed end as stale; others stay."""
    house = House(store)
    await house.add(1)
    await house.add(2, capacity=1)
    house.clock.at_ns += 1
    await house.add(3)
    house.clock.at_ns += 168 * HOUR_NS
    await house.keeper.tidy()
    assert {"task 1: stale", "task 2: stale"} == set(await house.history())
    assert JobState.PENDING is await store.port.state(id_of(report(3)))
    assert [("stale", 2)] == [(event.name, event.count) for event in house.told.events]


async def test_zero_means_never_stale(store: WatchedStore) -> None:
    """With a stale age of 0 a report is kept for ever."""
    house = House(store, stale_after_ns=0)
    await house.add(1)
    house.clock.at_ns += 1_000_000 * HOUR_NS
    await house.keeper.tidy()
    assert JobState.PENDING is await store.port.state(id_of(report(1)))


async def test_old_history_is_forgotten(store: WatchedStore) -> None:
    """Entries older than the age go, younger ones stay."""
    house = House(store)
    await house.end(1)
    house.clock.at_ns += 720 * HOUR_NS
    await house.end(2)
    house.clock.at_ns += 1
    await house.keeper.tidy()
    assert ["task 2: skipped"] == await house.history()


async def test_long_history_is_forgotten(store: WatchedStore) -> None:
    """Beyond the number of rows the oldest go."""
    house = House(store, history_rows=2)
    await house.end(1, 2, 3, 4)
    await house.keeper.tidy()
    assert ["task 4: skipped", "task 3: skipped"] == await house.history()


async def test_it_tidies_at_the_start_and_stops(store: WatchedStore) -> None:
    """Started, it tidies at once and admits parked jobs; stopping is idempotent."""
    house = House(store)
    house.keeper.start()
    await house.admitted.wait()
    await house.keeper.stop()
    await house.keeper.stop()
    assert [] == [task for task in asyncio.all_tasks() if task.get_name() == "housekeeper"]


async def test_a_store_that_fails_does_not_end_it(
    store: WatchedStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Tidying is put off with one warning, and the housekeeper lives on."""
    house = House(store)
    store.failing["discard_stale"] = 1
    house.keeper.start()
    await store.answered("discard_stale", 1)
    await store.counts()
    [task] = [task for task in asyncio.all_tasks() if task.get_name() == "housekeeper"]
    assert not task.done()
    await house.keeper.stop()
    assert ["tidying put off: the disk is full"] == [one.getMessage() for one in caplog.records]

"""The workers: claims, verdicts, retries by the clock, stops, and a store that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from queue_fakes import FOR_EVER_S, HandClock, Told, WatchedStore, id_of, new_job, report

from reflexiond.clock import SECOND_NS
from reflexiond.memory import lessons
from reflexiond.model import (
    Bury,
    Done,
    Ending,
    HistoryEntry,
    Job,
    JobState,
    LessonDraft,
    Outcome,
    Page,
    Retry,
    Skipped,
    Snooze,
)
from reflexiond.queue.backoff import RetryPolicy
from reflexiond.queue.workers import Workers
from reflexiond.store.sqlite import SqliteStore

POLICY = RetryPolicy(SECOND_NS, 60 * SECOND_NS, jitter_fraction=0.2, max_attempts=3)


def learned(job: Job) -> Done:
    """Return the lesson of a job."""
    draft = LessonDraft(job.request.task, "it failed", "do it right", ("a", "b"))
    facts = {"task": job.request.task, "trigger": "error", "workspace": "/w", "source": "tests"}
    return Done(
        lessons.from_draft(draft, distiller="tests", job_id=job.id, now_ns=1, **facts), None
    )


@dataclass
class Script:
    """A processor that says what it is told to, in order, and then that all went well."""

    says: list[Outcome | BaseException] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    async def __call__(self, job: Job) -> Outcome:
        self.jobs.append(job)
        said = self.says.pop(0) if self.says else learned(job)
        if isinstance(said, BaseException):
            raise said
        return said


@dataclass
class Held:
    """A processor that holds its jobs until it is opened."""

    open: asyncio.Event = field(default_factory=asyncio.Event)
    jobs: list[Job] = field(default_factory=list)

    async def __call__(self, job: Job) -> Outcome:
        self.jobs.append(job)
        await self.open.wait()
        return learned(job)


@dataclass
class Shop:
    """Workers with what stands around them."""

    workers: Workers
    store: WatchedStore
    clock: HandClock
    told: Told
    freed: list[None]

    async def add(self, *numbers: int) -> None:
        for n in numbers:
            job = new_job(n, self.clock.at_ns)
            await self.store.port.add(job, capacity=1000, drop_oldest=False)
        self.workers.wake()

    async def job(self, n: int) -> Job:
        [found] = await self.store.port.find_jobs(id_of(report(n)), 2)
        return found

    async def ended(self) -> list[HistoryEntry]:
        entries, _ = await self.store.port.list_history(Page())
        return entries

    async def nothing_claimed(self) -> None:
        """Wake the workers, and check that they find nothing to claim."""
        claims, claimed = self.store.calls["claim"], self.told.names.count("claimed")
        self.workers.wake()
        await self.store.answered("claim", claims + 1)
        assert claimed == self.told.names.count("claimed")

    def pass_s(self, seconds: float) -> None:
        self.clock.at_ns += int(seconds * SECOND_NS)


Open = Callable[..., Any]


@pytest.fixture
def shop() -> Open:
    """Return a maker of workers over a store in memory; they are stopped when it is left."""

    @asynccontextmanager
    async def opened(process: Any, **options: Any) -> AsyncIterator[Shop]:
        store = await SqliteStore.open(None)
        watched, clock, told, freed = WatchedStore(store), HandClock(), Told(), list[None]()

        async def note_freed() -> None:
            freed.append(None)

        async def quiet() -> None:
            """No reports to give way to."""

        settings = {
            "policy": POLICY,
            "random": lambda: 0.5,
            "count": 1,
            "job_timeout_ns": int(FOR_EVER_S) * SECOND_NS,
            "quiet": quiet,
            "store_retry_s": 0.001,
            **options,
        }
        workers = Workers(
            watched.port, process, clock=clock, publish=told.publish, freed=note_freed, **settings
        )
        workers.start()
        try:
            yield Shop(workers, watched, clock, told, freed)
        finally:
            await workers.stop(0)
            await store.close()

    return opened


async def test_a_lesson_is_stored_and_its_job_ends(shop: Open) -> None:
    """Done: the lesson is in the memory, the job in the history, and a slot is free."""
    async with shop(Script()) as at:
        await at.add(1)
        event = await at.told.wait("done")
        await at.nothing_claimed()
        [entry] = await at.ended()
        assert (Ending.SUCCESS, event.lesson_id, 1) == (
            entry.outcome,
            entry.lesson_id,
            entry.attempts,
        )
        [lesson] = await at.store.find_lessons(event.lesson_id, 2)
        assert ("task 1", id_of(report(1))) == (lesson.task, lesson.job_id)
        assert (["claimed", "done"], 1) == (at.told.names, len(at.freed))


async def test_a_skipped_job_ends_with_its_reason(shop: Open) -> None:
    """Skipped: no lesson, and the history says why."""
    async with shop(Script([Skipped("nothing in it")])) as at:
        await at.add(1)
        assert "nothing in it" == (await at.told.wait("skipped")).detail
        [entry] = await at.ended()
        assert (Ending.SKIPPED, "nothing in it") == (entry.outcome, entry.detail)


@pytest.mark.parametrize(("random", "delay_s"), [(0.0, 0.8), (0.5, 1.0), (0.75, 1.1)])
async def test_a_retry_waits_for_the_clock(shop: Open, random: float, delay_s: float) -> None:
    """A job that failed is left alone until the backoff is over, and then claimed again."""
    script = Script([Retry("HTTP 503")])
    async with shop(script, random=lambda: random) as at:
        await at.add(1)
        assert "HTTP 503" == (await at.told.wait("retried")).detail
        job = await at.job(1)
        due_ns = at.clock.at_ns + int(delay_s * SECOND_NS)
        assert (due_ns, 1, "HTTP 503") == (job.next_attempt_at_ns, job.attempts, job.last_error)
        at.clock.at_ns = due_ns - 1
        await at.nothing_claimed()
        at.pass_s(1)
        at.workers.wake()
        await at.told.wait("done")
        assert [1, 2] == [job.attempts for job in script.jobs]


async def test_each_delay_is_longer(shop: Open) -> None:
    """The second retry waits twice as long as the first."""
    async with shop(Script([Retry("one"), Retry("two")])) as at:
        await at.add(1)
        await at.told.wait("retried")
        at.pass_s(1)
        at.workers.wake()
        await at.told.wait("retried", 2)
        assert at.clock.at_ns + 2 * SECOND_NS == (await at.job(1)).next_attempt_at_ns


async def test_attempts_run_out(shop: Open) -> None:
    """After the last attempt the job is dead, its reason quotes the last error."""
    async with shop(Script([Retry("one"), Retry("two"), Retry("the last straw")])) as at:
        await at.add(1)
        for times in (1, 2):
            await at.told.wait("retried", times)
            at.pass_s(60)
            at.workers.wake()
        await at.told.wait("buried")
        job = await at.job(1)
        assert (JobState.DEAD, 3) == (job.state, job.attempts)
        assert "gave up after 3 attempts: the last straw" == job.reason
        assert 1 == len(at.freed[2:])


async def test_a_snooze_costs_no_attempt(shop: Open) -> None:
    """However often a job is put off, its first real attempt is number one."""
    clock = HandClock()
    later = [Snooze(clock.at_ns + n * SECOND_NS, "closed") for n in range(1, 6)]
    script = Script(list(later))
    async with shop(script) as at:
        await at.add(1)
        for times in range(1, 6):
            await at.told.wait("snoozed", times)
            job = await at.job(1)
            assert (0, later[times - 1].until_ns) == (job.attempts, job.next_attempt_at_ns)
            at.pass_s(1)
            at.workers.wake()
        await at.told.wait("done")
        assert [1] * 6 == [job.attempts for job in script.jobs]


async def test_a_job_timeout_is_a_retry(shop: Open) -> None:
    """An attempt that takes too long is cancelled and counts as a passing fault."""
    async with shop(Held(), job_timeout_ns=SECOND_NS // 1000) as at:
        await at.add(1)
        assert "not finished within 0.001 s" == (await at.told.wait("retried")).detail
        assert (JobState.PENDING, 1) == ((await at.job(1)).state, (await at.job(1)).attempts)


@pytest.mark.parametrize(
    "crash", [ValueError("no such mode"), TimeoutError("of its own"), asyncio.CancelledError()]
)
async def test_a_crash_is_buried_with_its_traceback(shop: Open, crash: BaseException) -> None:
    """A bug is not tried again: the job is dead at once, and the worker lives on."""
    async with shop(Script([crash])) as at:
        await at.add(1)
        await at.told.wait("buried")
        job = await at.job(1)
        assert (JobState.DEAD, 1) == (job.state, job.attempts)
        assert f"the processor crashed: {type(crash).__name__}: {crash}" == job.reason
        assert job.traceback.startswith("Traceback")
        assert "in __call__" in job.traceback
        await at.add(2)
        await at.told.wait("done")


async def test_a_processor_may_bury(shop: Open) -> None:
    """Bury: reason and traceback reach the dead letters."""
    async with shop(Script([Bury("HTTP 400", "Traceback: …")])) as at:
        await at.add(1)
        await at.told.wait("buried")
        job = await at.job(1)
        assert (JobState.DEAD, "HTTP 400", "Traceback: …") == (
            job.state,
            job.reason,
            job.traceback,
        )


async def test_a_very_long_error_is_cut(shop: Open) -> None:
    """What is kept of an error is bounded."""
    async with shop(Script([Retry("x" * 100_000)])) as at:
        await at.add(1)
        await at.told.wait("retried")
        assert 2_000 == len((await at.job(1)).last_error)


async def test_workers_share_the_work(shop: Open) -> None:
    """As many jobs are under way as there are workers, and each of them only once."""
    held = Held()
    async with shop(held, count=3) as at:
        await at.add(*range(1, 6))
        await at.told.wait("claimed", 3)
        assert {id_of(report(n)) for n in (1, 2, 3)} == set(at.workers.running)
        assert 3 == at.told.names.count("claimed")
        held.open.set()
        await at.told.wait("done", 5)
        assert [id_of(report(n)) for n in range(1, 6)] == [job.id for job in held.jobs]
        await at.nothing_claimed()
        assert {} == at.workers.running


async def test_a_stop_gives_the_attempt_back(shop: Open) -> None:
    """What is not finished in time is pending again, as if it had not been claimed."""
    async with shop(Held()) as at:
        await at.add(1)
        await at.told.wait("claimed")
        assert 1 == (await at.job(1)).attempts
        await at.workers.stop(0.001)
        job = await at.job(1)
        assert (JobState.PENDING, 0, "") == (job.state, job.attempts, job.last_error)
        assert job.next_attempt_at_ns <= at.clock.at_ns
        assert ["claimed", "released"] == at.told.names


async def test_a_stop_lets_jobs_finish(shop: Open) -> None:
    """Within the drain timeout a job under way ends as it would have, and no other begins."""
    held = Held()
    async with shop(held) as at:
        await at.add(1, 2)
        await at.told.wait("claimed")
        stopping = asyncio.create_task(at.workers.stop(FOR_EVER_S))
        await at.store.port.counts()
        assert not stopping.done()
        held.open.set()
        await stopping
        assert ["claimed", "done"] == at.told.names
        assert (JobState.PENDING, 0) == ((await at.job(2)).state, (await at.job(2)).attempts)


async def test_nothing_is_claimed_after_a_stop(shop: Open) -> None:
    """A stop is for good, and may be asked for again."""
    async with shop(Script(), count=2) as at:
        await at.store.answered("next_due_ns", 1)
        await at.workers.stop(FOR_EVER_S)
        claims = at.store.calls["claim"]
        await at.add(1)
        await at.workers.stop(FOR_EVER_S)
        await at.store.port.counts()
        assert (claims, []) == (at.store.calls["claim"], at.told.events)
        assert 0 == (await at.job(1)).attempts


async def test_a_stop_before_the_start_is_nothing(shop: Open) -> None:
    """Workers that never started stop at once."""
    async with shop(Script(), count=0) as at:
        await at.workers.stop(FOR_EVER_S)


@pytest.mark.parametrize("verb", ["claim", "next_due_ns"])
async def test_a_store_that_fails_does_not_end_the_workers(shop: Open, verb: str) -> None:
    """They try again until the store is well, and lose nothing."""
    async with shop(Script(), count=2) as at:
        await at.store.answered("next_due_ns", 1)
        at.store.failing[verb] = 5
        if verb == "next_due_ns":
            at.workers.wake()
            await at.store.answered(verb, 6)
        await at.add(1)
        await at.told.wait("done")
        assert 1 == len(await at.ended())


async def test_a_verdict_is_held_until_it_is_stored(shop: Open) -> None:
    """When the lesson cannot be stored it is tried again, without a second attempt."""
    script = Script()
    async with shop(script) as at:
        at.store.failing["complete"] = 3
        await at.add(1)
        await at.told.wait("done")
        assert (4, 1) == (at.store.calls["complete"], len(script.jobs))
        [entry] = await at.ended()
        assert (Ending.SUCCESS, 1) == (entry.outcome, entry.attempts)


async def test_a_store_that_stays_down_does_not_block_a_stop(shop: Open) -> None:
    """A verdict that cannot be stored is given up at a stop; the claim is void at the next boot."""
    async with shop(Script(), store_retry_s=FOR_EVER_S) as at:
        at.store.failing["complete"] = 1_000
        await at.add(1)
        await at.store.answered("complete", 1)
        await at.workers.stop(FOR_EVER_S)
        assert JobState.RUNNING is (await at.job(1)).state


async def test_the_outcome_of_a_stale_claim_is_dropped(shop: Open) -> None:
    """A job whose claim was voided meanwhile is not ended by its old worker."""
    held = Held()
    async with shop(held) as at:
        await at.add(1)
        await at.told.wait("claimed")
        await at.store.port.void_claims(99, at.clock.at_ns)
        held.open.set()
        await at.told.wait("done")
        assert (2, 1, 1) == (len(held.jobs), at.told.names.count("done"), len(await at.ended()))


async def test_idle_workers_do_not_poll(shop: Open) -> None:
    """One look at the queue, by one worker, and no other until a wake-up."""
    async with shop(Script(), count=4) as at:
        await at.store.answered("next_due_ns", 1)
        for looks in (1, 2, 3):
            for _ in range(50):
                await at.store.counts()
            assert (looks, looks) == (at.store.calls["claim"], at.store.calls["next_due_ns"])
            at.workers.wake()
            await at.store.answered("next_due_ns", looks + 1)


async def test_a_job_due_soon_is_claimed_without_a_wake(shop: Open) -> None:
    """A sleeping worker wakes by itself when the next job is due."""
    async with shop(Script([Retry("a moment", 0)]), policy=RetryPolicy(1, 1)) as at:
        await at.add(1)
        await at.told.wait("retried")
        at.clock.at_ns += 1
        await at.told.wait("done")


async def test_reports_go_first(shop: Open) -> None:
    """No job is claimed while reports are coming in."""
    gate = asyncio.Event()

    async def quiet() -> None:
        await gate.wait()

    async with shop(Script(), quiet=quiet) as at:
        await at.add(1)
        await at.store.counts()
        assert 0 == at.store.calls["claim"]
        gate.set()
        await at.told.wait("done")

"""What went wrong in lessonq, done right: the same stimulus, the outcome that a user expects.

The numbers are those of the scenarios; each is one way to lose, starve or repeat a job.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from programs.parts import (
    ALL,
    FOR_EVER_S,
    HOUR_NS,
    Gate,
    HandClock,
    composed,
    learn,
)

from reflexion_client.errors import TooLarge
from reflexion_client.wire import MAX_REPORT_BYTES
from reflexiond.clock import SECOND_NS
from reflexiond.model import Admission, Bury, Ending, Job, JobId, JobState, Outcome, Retry
from reflexiond.queue.backoff import RetryPolicy
from reflexiond.rpc.methods import jobs
from reflexiond.rpc.params import Params
from reflexiond.store.sqlite import SqliteStore

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


def program(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program of the folder beside this file to its end, whichever that is."""
    command = [sys.executable, str(PROGRAMS / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)


def bury_with(reason: str) -> Callable[[Job], Awaitable[Outcome]]:
    async def process(job: Job) -> Outcome:
        return Bury(reason)

    return process


async def dead_job(path: Path) -> JobId:
    """Leave one dead job in the database."""
    async with composed(path, bury_with("no use")) as parts:
        job_id = JobId((await parts.report("deadly")).id)
        await parts.told.wait("buried")
    return job_id


async def test_02_retry_of_a_dead_job_is_in_exactly_one_place(path: Path, tmp_path: Path) -> None:
    """A kill at any point of a retry leaves the job dead or pending, whole, and nowhere else."""
    job_id = await dead_job(path)
    seed = random.SystemRandom().randrange(2**32)
    moments = random.Random(seed)  # noqa: S311 - repeatable, no secret
    points = [*map(str, range(10)), "answered"]
    points += [f"{moments.uniform(0, 3):.3f}ms" for _ in range(5)]
    tasks = [(tmp_path / f"{n}.db", point) for n, point in enumerate(points)]
    for copy, _ in tasks:
        shutil.copy(path, copy)

    done = await asyncio.to_thread(
        program, "retry_and_die.py", job_id, *(f"{copy}@{point}" for copy, point in tasks)
    )
    assert (0, "") == (done.returncode, done.stderr)

    ends = {}
    for copy, point in tasks:
        store = await SqliteStore.open(copy)
        found = await store.list_dead(ALL) + await store.list_jobs(ALL)
        history, _ = await store.list_history(ALL)
        counts = await store.counts()
        await store.close()
        (job,) = found
        assert (job_id, []) == (job.id, history), (seed, point)
        assert 1 == counts.pending + counts.parked + counts.dead, (seed, point)
        assert ("task deadly", "no use") == (job.request.task, job.last_error), (seed, point)
        ends[point] = job.state
        if str(copy) in done.stdout.splitlines():
            assert JobState.PENDING == job.state, (seed, point)
    assert (JobState.DEAD, JobState.PENDING) == (ends["0"], ends["answered"])


async def test_06_retry_renews_the_stale_clock(path: Path) -> None:
    """A retried job is as fresh as a new one at the next boot; its first time is history."""
    clock = HandClock()
    first_ns = clock.at_ns
    async with composed(path, bury_with("no use"), clock=clock) as parts:
        job_id = (await parts.report(1)).id
        await parts.told.wait("buried")
    clock.at_ns += 200 * HOUR_NS
    async with composed(path, learn, clock=clock, working=False) as parts:
        await parts.housekeeper.tidy()
        assert 1 == (await jobs.retry(parts.services(), Params({"id": job_id})))["retried"]
        (job,) = await parts.store.list_jobs(ALL)
        assert (clock.at_ns, first_ns) == (job.enqueued_at_ns, job.first_enqueued_at_ns)
    clock.at_ns += 100 * HOUR_NS
    async with composed(path, learn, clock=clock, working=False) as parts:
        await parts.housekeeper.tidy()
        assert 0 == parts.told.count("stale")
        parts.workers.start()
        await parts.told.wait("done")
        ((entry,), _) = await parts.store.list_history(ALL)
        assert (Ending.SUCCESS, first_ns) == (entry.outcome, entry.enqueued_at_ns)


async def test_07_a_report_over_the_limit_is_refused_at_the_door(path: Path) -> None:
    """16 MiB are kept whole; a byte more is refused by name, also as news of a known job."""
    job_id = await dead_job(path)
    most = "x" * (MAX_REPORT_BYTES - len("task big" + "ERROR: exit status 1" + "error"))
    async with composed(path, learn, working=False) as parts:
        with pytest.raises(TooLarge, match=str(MAX_REPORT_BYTES)) as refused:
            await parts.report("big", attempt=most + "x")
        assert MAX_REPORT_BYTES == refused.value.data["limit_bytes"]
        padded = "attempt deadly" + " " * MAX_REPORT_BYTES
        with pytest.raises(TooLarge):
            await parts.report("deadly", attempt=padded)
        big = await parts.report("big", attempt=most)
    async with composed(path, learn, working=False) as parts:
        (kept,) = await parts.store.list_jobs(ALL)
        assert (big.id, most) == (kept.id, kept.request.attempt)
        (dead,) = await parts.store.list_dead(ALL)
        assert (job_id, "attempt deadly") == (dead.id, dead.request.attempt)


async def test_10_a_report_beyond_capacity_is_processed_as_slots_free() -> None:
    """What did not fit is parked, known when it is sent again, and processed without a boot."""
    gate = Gate()
    async with composed(None, gate, capacity=1) as parts:
        first = await parts.report(1)
        await gate.came.wait()
        second, again = await parts.report(2), await parts.report(2)
        assert (Admission.PARKED, JobState.PARKED) == (second.outcome, second.state)
        assert (Admission.DEDUPED, JobState.PARKED) == (again.outcome, again.state)
        gate.open.set()
        await parts.told.wait("done", times=2)
        assert [first.id, second.id] == [job.id for job in gate.order]


@pytest.mark.parametrize("drop_oldest", [False, True])
async def test_11_and_12_a_backlog_above_capacity_is_replayed_whole(
    path: Path, *, drop_oldest: bool
) -> None:
    """After a boot with less room, 40 jobs are processed once each and nobody waits for slots."""
    async with composed(path, learn, working=False) as parts:
        wanted = [(await parts.report(n)).id for n in range(40)]
    gate = Gate()
    gate.open.set()
    # A single wait for a slot would take longer than this test may.
    async with composed(path, gate, capacity=10, drop_oldest=drop_oldest) as parts:
        await parts.told.wait("done", times=40)
        assert wanted == [job.id for job in gate.order]
        assert 40 == await parts.store.count_lessons()


@pytest.mark.parametrize("drop_oldest", [False, True])
async def test_13_a_retry_does_not_compete_for_a_slot(*, drop_oldest: bool) -> None:
    """A job that failed keeps its slot, however full the queue, and its worker goes on at once."""
    failed: list[JobId] = []
    held = Gate()

    async def fail_first(job: Job) -> Outcome:
        if not failed:
            failed.append(job.id)
            return Retry("try again")
        return await held(job)

    async with composed(
        None, fail_first, capacity=2, drop_oldest=drop_oldest, working=False
    ) as parts:
        ids = [JobId((await parts.report(n)).id) for n in range(4)]
        full = {job.id: job.state for job in await parts.store.list_jobs(ALL)}
        retried, other = [job_id for job_id in ids if full[job_id] is JobState.PENDING]
        parts.workers.start()
        await held.came.wait()
        assert ([retried], [other]) == (failed, [job.id for job in held.order])
        full[other] = JobState.RUNNING
        assert full == {job.id: job.state for job in await parts.store.list_jobs(ALL)}
        held.open.set()
        await parts.told.wait("done", times=4)
        assert sorted(ids) == sorted(job.id for job in held.order)


async def test_14_a_due_job_is_served_when_due_after_a_flood() -> None:
    """300 reports into room for 10, newest first, are all done and delay no retry."""
    clock = HandClock()
    served_ns = []

    async def fail_once(job: Job) -> Outcome:
        if job.request.task == "task late":
            served_ns.append(clock.at_ns)
            if len(served_ns) == 1:
                return Retry("try again")
        return await learn(job)

    first_ns = clock.at_ns
    policy = RetryPolicy(SECOND_NS // 3, SECOND_NS, jitter_fraction=0.0)
    async with composed(
        None, fail_once, clock=clock, policy=policy, capacity=10, drop_oldest=True
    ) as parts:
        late = await parts.report("late")
        await parts.told.wait("retried", job_id=late.id)
        answers = await asyncio.gather(*(parts.report(n) for n in range(300)))
        assert {Admission.ACCEPTED} == {answer.outcome for answer in answers}
        assert (await parts.store.counts()).pending <= 10
        await parts.told.wait("done", times=300)
        assert [first_ns] == served_ns
        # The worker looks once more, finds nothing due, and from then on has but its own timer.
        await parts.told.wait("looked", times=parts.told.count("looked") + 2)
        assert [first_ns] == served_ns
        clock.at_ns += SECOND_NS // 3
        await parts.told.wait("done", job_id=late.id)
        assert [first_ns, first_ns + SECOND_NS // 3] == served_ns


async def test_15_a_job_that_kills_the_process_ends_as_a_dead_letter(path: Path) -> None:
    """Three deaths are the budget: then the job is dead, says why, and the others are done."""
    async with composed(path, learn, working=False) as parts:
        deadly = JobId((await parts.report("deadly")).id)
        harmless = await parts.report("harmless")
    codes: list[int] = []
    while len(codes) < 10 and (not codes or codes[-1]):
        done = await asyncio.to_thread(program, "process_and_die.py", path, deadly)
        codes.append(done.returncode)
        assert done.stderr == ""
    assert [-signal.SIGKILL] * 3 + [0] == codes
    store = await SqliteStore.open(path)
    try:
        (job,) = await store.list_dead(ALL)
        assert (deadly, 3, 3) == (job.id, job.deaths, job.attempts)
        assert "the daemon died 3 times while processing this job" == job.reason
        ((entry,), _) = await store.list_history(ALL)
        assert (harmless.id, Ending.SUCCESS) == (entry.id, entry.outcome)
    finally:
        await store.close()


async def test_16_an_orderly_stop_gives_the_attempt_back(path: Path) -> None:
    """However often the daemon is stopped over a job, the job has all its attempts."""
    policy = RetryPolicy(1, 1, jitter_fraction=0.0, max_attempts=2)
    for boot in range(3):
        gate = Gate()
        async with composed(path, gate, policy=policy) as parts:
            if boot == 0:
                await parts.report(1)
            await gate.came.wait()
            assert [1] == [job.attempts for job in gate.order]
        assert 1 == parts.told.count("released")
    async with composed(path, learn, policy=policy) as parts:
        await parts.told.wait("done")
        ((entry,), _) = await parts.store.list_history(ALL)
        assert (Ending.SUCCESS, 1) == (entry.outcome, entry.attempts)
        assert 0 == (await parts.store.counts()).dead


async def test_17_a_drain_does_not_run_a_job_twice() -> None:
    """A drain makes waiting jobs due, and leaves alone the one under way."""
    gate = Gate()
    async with composed(None, gate, workers=3) as parts:
        under_way = await parts.report(1)
        await gate.came.wait()
        for _ in range(3):
            assert {"due": 0, "admitted": 0} == await jobs.drain(parts.services(), Params({}))
        # A second job shows that the idle workers did look for work after the drains.
        other = await parts.report(2)
        await parts.told.wait("claimed", job_id=other.id)
        gate.open.set()
        await parts.told.wait("done", times=2)
        assert [under_way.id, other.id] == [job.id for job in gate.order]
        assert [1, 1] == [lesson.seen for lesson in (await parts.store.list_lessons(ALL))[0]]


async def test_19_a_second_death_is_told_with_its_own_error(path: Path) -> None:
    """A job that dies again shows the newest reason and attempts, and keeps the older ones."""
    async with composed(path, bury_with("the first reason")) as parts:
        job_id = JobId((await parts.report(1)).id)
        await parts.told.wait("buried")
        await jobs.retry(parts.services(), Params({"id": job_id}))
        await parts.told.wait("buried", times=2)
    policy = RetryPolicy(1, 1, jitter_fraction=0.0, max_attempts=2)

    async def fail(job: Job) -> Outcome:
        return Retry(f"failure {job.attempts}")

    async with composed(path, fail, policy=policy) as parts:
        await jobs.retry(parts.services(), Params({"id": job_id}))
        await parts.told.wait("buried")
        (job,) = await parts.store.list_dead(ALL)
        assert (2, "gave up after 2 attempts: failure 2") == (job.attempts, job.reason)
        assert job.reason == job.last_error
        assert [
            (1, "the first reason"),
            (1, "the first reason"),
            (1, "failure 1"),
            (2, "gave up after 2 attempts: failure 2"),
        ] == [(f.attempt, f.error) for f in await parts.store.failures(job_id)]


@pytest.mark.parametrize("ending", ["timeout", "stop", "cancelled"])
async def test_21_a_blocked_report_whose_wait_ends_is_parked(path: Path, ending: str) -> None:
    """Whatever ends the wait, the answer is parked, that is true, and the job is done later."""
    gate = Gate()
    async with composed(path, gate, capacity=1) as parts:
        await parts.report(1)
        await gate.came.wait()
        wait_s = 0.01 if ending == "timeout" else FOR_EVER_S
        blocked = asyncio.create_task(parts.report(2, wait_s))
        await parts.told.wait("parked")
        (_, waiting) = await parts.store.list_jobs(ALL)
        if ending == "stop":
            parts.admissions.close()
        if ending == "cancelled":
            blocked.cancel()
            await asyncio.wait([blocked])
        else:
            answer = await blocked
            assert (waiting.id, "parked", "parked") == (answer.id, answer.outcome, answer.state)
        assert JobState.PARKED == await parts.store.state(waiting.id)
        gate.open.set()
        await parts.told.wait("done", times=2)
        assert waiting.id == gate.order[-1].id


async def test_21_a_slot_won_as_the_wait_ends_is_told() -> None:
    """A job that was admitted before its caller heard of it is not called parked."""
    gate = Gate()
    async with composed(None, gate, capacity=1) as parts:
        await parts.report(1)
        await gate.came.wait()
        blocked = asyncio.create_task(parts.report(2, 0.2))
        await parts.told.wait("parked")
        # The slot is freed in the store, and the news of it is still on its way.
        assert 1 == len(await parts.store.admit(2))
        answer = await blocked
        assert ("accepted", "pending") == (answer.outcome, answer.state)
        gate.open.set()
        await parts.told.wait("done", times=2)


def test_22_a_second_process_on_one_folder_is_refused(new_daemon: Any) -> None:
    """The folder has one owner; who comes second is told its pid and exits with 75."""
    first = new_daemon("--set", "embed.model=off").start()
    second = new_daemon("--set", "embed.model=off")
    second.spawn()
    assert 75 == second.process.wait(20)
    assert f"another reflexiond (pid {first.pid}) owns {first.state_dir}" in second.log
    assert first.answers()

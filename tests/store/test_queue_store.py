"""What any engine must do with jobs."""

from __future__ import annotations

import asyncio

from reflexion_client.model import LessonRequest
from reflexiond.model import (
    Admission,
    Claim,
    Done,
    Ending,
    JobId,
    JobState,
    Lesson,
    LessonId,
    NewJob,
    Page,
    QueueCounts,
)
from reflexiond.store.port import Store


def job(n: int, at_ns: int = 0, outcome: str = "o") -> NewJob:
    return NewJob(
        JobId(f"{n:016x}"), LessonRequest(f"task {n}", "a", outcome, "error"), "w", "s", at_ns
    )


def lesson(text: str = "c") -> Lesson:
    return Lesson(
        id=LessonId(text.encode().hex().ljust(16, "0")),
        situation="s",
        mistake="m",
        correction=text,
        trigger="error",
        tags=("a", "b"),
        fact="f",
        task="t",
        workspace="w",
        source="s",
        distiller="h",
        job_id="j",
        created_at_ns=5,
        last_seen_at_ns=5,
    )


async def add(
    store: Store, n: int, at_ns: int = 0, capacity: int = 10, drop_oldest: bool = False
) -> Admission:
    return (await store.add(job(n, at_ns), capacity=capacity, drop_oldest=drop_oldest)).admission


async def claim(store: Store, now_ns: int = 100) -> tuple[str, Claim]:
    held = await store.claim(now_ns)
    assert held is not None
    return held[0].id, held[1]


async def test_a_report_is_accepted_once(store: Store) -> None:
    """The same id is a duplicate while its job is pending."""
    assert Admission.ACCEPTED == await add(store, 1)
    assert Admission.DEDUPED == await add(store, 1)
    assert QueueCounts(1, 0, 0) == await store.counts()


async def test_beyond_capacity_a_report_is_parked_and_admitted_in_order(store: Store) -> None:
    """Parked jobs become pending, oldest first, as slots are freed."""
    answers = [await add(store, n, n, capacity=2) for n in range(1, 5)]
    assert [Admission.ACCEPTED, Admission.ACCEPTED, Admission.PARKED, Admission.PARKED] == answers
    assert [] == await store.admit(2)
    _, held = await claim(store)
    assert await store.end(held, Ending.SKIPPED, "", 7)
    assert [job(3).id] == await store.admit(2)
    assert QueueCounts(2, 1, 0) == await store.counts()


async def test_drop_oldest_parks_the_oldest_and_takes_the_new_one(store: Store) -> None:
    """Nothing is dropped: the oldest waits on disk."""
    for n in (1, 2):
        await add(store, n, n, capacity=2, drop_oldest=True)
    assert Admission.ACCEPTED == await add(store, 3, 3, capacity=2, drop_oldest=True)
    assert JobState.PARKED == await store.state(job(1).id)
    assert JobState.PENDING == await store.state(job(3).id)


async def test_drop_oldest_parks_the_new_one_when_all_are_running(store: Store) -> None:
    """A job under a claim is never pushed aside."""
    await add(store, 1, capacity=1)
    await claim(store)
    assert Admission.PARKED == await add(store, 2, capacity=1, drop_oldest=True)


async def test_drop_oldest_never_parks_a_retry(store: Store) -> None:
    """A job that waits for its next attempt keeps its place; the new one is parked."""
    await add(store, 1, capacity=1)
    _, held = await claim(store)
    await store.retry(held, "boom", 500, 100, spent=True)
    assert Admission.PARKED == await add(store, 2, capacity=1, drop_oldest=True)
    assert JobState.PENDING == await store.state(job(1).id)


async def test_jobs_are_claimed_in_order_of_due_time(store: Store) -> None:
    """The job that has been due longest comes first; one that is not due is left."""
    await add(store, 1, 30)
    await add(store, 2, 20)
    await add(store, 3, 500)
    assert [job(2).id, job(1).id] == [(await claim(store))[0] for _ in range(2)]
    assert None is await store.claim(100)
    assert 500 == await store.next_due_ns()


async def test_a_claim_counts_the_attempt_and_a_release_gives_it_back(store: Store) -> None:
    """Attempts are counted at the claim; putting a job back unspent undoes it."""
    await add(store, 1)
    first = await store.claim(1)
    assert first is not None
    assert (1, JobState.RUNNING) == (first[0].attempts, first[0].state)
    await store.retry(first[1], "", 1, 2, spent=False)
    second = await store.claim(2)
    assert second is not None
    assert 1 == second[0].attempts


async def test_completing_stores_the_lesson_and_ends_the_job(store: Store) -> None:
    """After completion the job is history that names its lesson."""
    await add(store, 1, 3)
    _, held = await claim(store)
    stored = await store.complete(held, Done(lesson(), None), 50)
    assert stored is not None
    assert stored.new
    entries, total = await store.list_history(Page())
    assert (1, Ending.SUCCESS, lesson().id, 3, 50) == (
        total,
        entries[0].outcome,
        entries[0].lesson_id,
        entries[0].enqueued_at_ns,
        entries[0].ended_at_ns,
    )
    assert None is await store.state(job(1).id)
    assert 1 == await store.count_lessons()


async def test_a_stale_claim_changes_nothing(store: Store) -> None:
    """Once a job was put back, the old claim can neither finish nor bury it."""
    await add(store, 1)
    _, old = await claim(store)
    await store.retry(old, "boom", 10, 9, spent=True)
    await claim(store)
    assert None is await store.complete(old, Done(lesson(), None), 50)
    assert not await store.end(old, Ending.SKIPPED, "", 50)
    assert not await store.bury(old, "r", "t", 50)
    assert not await store.retry(old, "e", 1, 50, spent=True)
    assert 0 == await store.count_lessons()
    assert JobState.RUNNING == await store.state(job(1).id)


async def test_a_buried_job_keeps_its_reason_and_can_be_revived(store: Store) -> None:
    """A revived job has all its attempts, a fresh stale clock, and its first time as history."""
    await add(store, 1, 3)
    _, held = await claim(store)
    await store.bury(held, "why", "trace", 60)
    [dead] = await store.list_dead(Page())
    assert ("why", "trace", 60, 1) == (dead.reason, dead.traceback, dead.died_at_ns, dead.attempts)
    assert [dead.id] == await store.revive(dead.id, 70, 10)
    [back] = await store.list_jobs(Page())
    assert (70, 3, 0, JobState.PENDING) == (
        back.enqueued_at_ns,
        back.first_enqueued_at_ns,
        back.attempts,
        back.state,
    )
    assert QueueCounts(1, 0, 0) == await store.counts()


async def test_reviving_into_a_full_queue_parks(store: Store) -> None:
    """Capacity holds for revived jobs too."""
    await add(store, 1)
    _, held = await claim(store)
    await store.bury(held, "r", "", 1)
    await add(store, 2)
    await store.revive(None, 5, 1)
    assert JobState.PARKED == await store.state(job(1).id)


async def test_a_report_of_a_dead_job_updates_it(store: Store) -> None:
    """The newest words are kept, the job stays dead, and the caller is told so."""
    await add(store, 1)
    _, held = await claim(store)
    await store.bury(held, "r", "", 1)
    added = await store.add(job(1, outcome="newer"), capacity=10, drop_oldest=False)
    assert (Admission.DEDUPED, JobState.DEAD) == (added.admission, added.state)
    [dead] = await store.list_dead(Page())
    assert ("newer", "r") == (dead.request.outcome, dead.reason)


async def test_purging_ends_dead_jobs_only(store: Store) -> None:
    """A pending job cannot be purged; a dead one is remembered as purged."""
    await add(store, 1)
    _, held = await claim(store)
    await store.bury(held, "why", "", 1)
    await add(store, 2)
    assert [job(1).id] == await store.purge(None, 9)
    assert [] == await store.purge(job(2).id, 9)
    entries, _ = await store.list_history(Page())
    assert [(Ending.PURGED, "why")] == [(entry.outcome, entry.detail) for entry in entries]


async def test_each_failed_attempt_is_remembered(store: Store) -> None:
    """The newest twenty failures of a job stand beside it, oldest first."""
    await add(store, 1)
    for n in range(25):
        _, held = await claim(store)
        await store.retry(held, f"error {n}", 0, n, spent=True)
    failures = await store.failures(job(1).id)
    assert [f"error {n}" for n in range(5, 25)] == [failure.error for failure in failures]


async def test_voided_claims_count_deaths_until_the_crash_budget(store: Store) -> None:
    """A job under way at three deaths goes to the dead letters with that reason."""
    await add(store, 1)
    for _ in range(2):
        await claim(store)
        assert (1, []) == await store.void_claims(3, 5)
    await claim(store)
    assert (1, [job(1).id]) == await store.void_claims(3, 5)
    [dead] = await store.list_dead(Page())
    assert "died 3 times" in dead.reason


async def test_stale_jobs_end_as_stale(store: Store) -> None:
    """Waiting and parked jobs older than the limit end; younger and running ones stay."""
    await add(store, 1, 10, capacity=2)
    await add(store, 2, 90, capacity=2)
    await add(store, 3, 20, capacity=2)
    assert 2 == await store.discard_stale(50, 100)
    assert [job(2).id] == [found.id for found in await store.list_jobs(Page())]
    entries, _ = await store.list_history(Page())
    assert {Ending.STALE} == {entry.outcome for entry in entries}


async def test_waiting_retries_can_be_made_due(store: Store) -> None:
    """Only jobs that wait are touched."""
    await add(store, 1)
    _, held = await claim(store)
    await store.retry(held, "e", 10_000, 5, spent=True)
    await add(store, 2)
    assert 1 == await store.make_due(50)
    assert 0 == await store.make_due(50)
    assert 0 == await store.next_due_ns()


async def test_history_is_bounded_by_age_and_rows(store: Store) -> None:
    """The oldest are forgotten first."""
    for n in range(6):
        await add(store, n)
        _, held = await claim(store)
        await store.end(held, Ending.SKIPPED, "", n * 10)
    assert 2 == await store.trim_history(20, 100)
    assert 1 == await store.trim_history(0, 3)
    entries, total = await store.list_history(Page())
    assert (3, [50, 40, 30]) == (total, [entry.ended_at_ns for entry in entries])


async def test_lists_are_cut_into_pages(store: Store) -> None:
    """A cursor goes on where the page before ended."""
    for n in range(5):
        await add(store, n)
    first = await store.list_jobs(Page(2))
    second = await store.list_jobs(Page(2, first[-1].seq))
    assert [job(n).id for n in range(4)] == [found.id for found in first + second]


async def test_jobs_and_history_are_found_by_prefix(store: Store) -> None:
    """A prefix finds all that start with it, an ended job among the ended ones."""
    await add(store, 0x10)
    await add(store, 0x11)
    assert 2 == len(await store.find_jobs("000000000000001", 5))
    assert [] == await store.find_jobs("1", 5)
    _, held = await claim(store)
    await store.end(held, Ending.SKIPPED, "", 1)
    assert [job(0x10).id] == [e.id for e in await store.find_history("0000000000000010", 5)]


async def test_writers_that_wait_together_are_all_answered(store: Store) -> None:
    """A hundred concurrent reports give a hundred jobs, each accepted."""
    answers = await asyncio.gather(*(add(store, n, capacity=1000) for n in range(100)))
    assert [Admission.ACCEPTED] * 100 == answers
    assert QueueCounts(100, 0, 0) == await store.counts()

"""jobs.list, failed, show, history, retry, purge, drain: an operator looks after the queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict

from reflexion_client.errors import AmbiguousId, BadParams, NotFound
from reflexiond.events import Event
from reflexiond.model import HistoryEntry, Job, JobId, JobState, Page
from reflexiond.rpc.params import MAX_PAGE, Params
from reflexiond.rpc.services import Json, Services

PREVIEW_CHARS = 200
_NAMED = 5
_IDS_SHOWN = 100
_DEAD_ONLY = frozenset({"died_at_ns", "reason", "traceback"})


async def list_jobs(services: Services, params: Params) -> Json:
    """List pending, running and parked jobs in order of arrival."""
    page = _page(params)
    found = await services.store.list_jobs(page)
    counts = await services.store.counts()
    return {
        "jobs": [_preview(job) for job in found],
        "next": found[-1].seq if len(found) == page.limit else None,
        "total": counts.pending + counts.parked,
    }


async def failed(services: Services, params: Params) -> Json:
    """List dead jobs, newest death first."""
    page = _page(params)
    found = await services.store.list_dead(page)
    counts = await services.store.counts()
    passed = (page.after or 0) + len(found)
    return {
        "jobs": [_preview(job) for job in found],
        "next": passed if len(found) == page.limit and passed < counts.dead else None,
        "total": counts.dead,
    }


async def history(services: Services, params: Params) -> Json:
    """List ended jobs, newest first."""
    page = _page(params)
    found, total = await services.store.list_history(page)
    return {
        "history": [_entry(entry) for entry in found],
        "next": found[-1].seq if len(found) == page.limit else None,
        "total": total,
    }


async def show(services: Services, params: Params) -> Json:
    """Show one job, wherever it is, with its failed attempts and what became of it before."""
    prefix = _prefix(params)
    jobs = await services.store.find_jobs(prefix, _NAMED)
    entries = await services.store.find_history(prefix, MAX_PAGE)
    job_id = _only([job.id for job in jobs] + [entry.id for entry in entries], prefix)
    job = next((job for job in jobs if job.id == job_id), None)
    failures = await services.store.failures(job_id)
    return {
        "job": _whole(job) if job else None,
        "failures": [asdict(failure) for failure in failures],
        "history": [_entry(entry) for entry in entries if entry.id == job_id],
    }


async def retry(services: Services, params: Params) -> Json:
    """Move dead jobs back into the queue, in one transaction each batch."""
    now_ns = services.clock.now_ns()

    async def revive(job_id: JobId | None) -> list[JobId]:
        return await services.store.revive(job_id, now_ns, services.admissions.capacity)

    ids = await _each_dead(services, params, revive)
    if ids:
        services.publish(Event("revived", count=len(ids)))
        services.workers.wake()
    return {"retried": len(ids), "ids": ids[:_IDS_SHOWN]}


async def purge(services: Services, params: Params) -> Json:
    """Give up dead jobs for good; the history keeps that they were."""
    now_ns = services.clock.now_ns()

    async def end(job_id: JobId | None) -> list[JobId]:
        return await services.store.purge(job_id, now_ns)

    ids = await _each_dead(services, params, end)
    if ids:
        services.publish(Event("purged", count=len(ids)))
    return {"purged": len(ids), "ids": ids[:_IDS_SHOWN]}


async def drain(services: Services, params: Params) -> Json:  # noqa: ARG001 - one signature for all
    """Make every waiting retry due now, and admit parked jobs where there is room."""
    due = 0
    while made := await services.store.make_due(services.clock.now_ns()):
        due += made
    admitted = await services.admissions.admit()
    services.workers.wake()
    return {"due": due, "admitted": admitted}


async def _each_dead(
    services: Services, params: Params, act: Callable[[JobId | None], Awaitable[list[JobId]]]
) -> list[JobId]:
    """Act on the one dead job that is named, or on all that are dead now."""
    if params.flag("all", default=False):
        if params.text("id", ""):
            raise BadParams("give either `id` or `all`, not both")
        ids: list[JobId] = []
        dead = (await services.store.counts()).dead
        # Jobs that die again meanwhile are not acted on twice.
        while len(ids) < dead and (batch := await act(None)):
            ids += batch
        return ids
    prefix = _prefix(params)
    jobs = await services.store.find_jobs(prefix, MAX_PAGE)
    dead_ids = [job.id for job in jobs if job.state is JobState.DEAD]
    if not dead_ids and jobs:
        job = jobs[0]
        raise BadParams(f"job {job.id} is {job.state}, not dead: there is nothing to do")
    return await act(_only(dead_ids, prefix))


def _only(ids: list[JobId], prefix: str) -> JobId:
    unique = list(dict.fromkeys(ids))
    if prefix in unique:
        return JobId(prefix)
    if not unique:
        raise NotFound(f"no job has the id {prefix!r}")
    if len(unique) > 1:
        raise AmbiguousId(f"the id {prefix!r} fits several jobs", {"matches": unique[:_NAMED]})
    return unique[0]


def _prefix(params: Params) -> str:
    prefix = params.text("id").strip().lower()
    if not prefix:
        raise BadParams("`id` is empty: give a job's id, or the first digits of it")
    return prefix


def _page(params: Params) -> Page:
    limit = params.integer("limit", low=1, high=MAX_PAGE) or 50
    return Page(limit, params.integer("after", low=0, high=2**63 - 1))


def _whole(job: Job) -> Json:
    found = asdict(job)
    request = found.pop("request")
    found.pop("seq")
    if job.state is not JobState.DEAD:
        found = {name: value for name, value in found.items() if name not in _DEAD_ONLY}
    return {**found, "state": job.state.value, **request, "trigger": str(job.request.trigger)}


def _preview(job: Job) -> Json:
    found = _whole(job)
    for name in ("task", "attempt", "outcome", "last_error"):
        found[name] = found[name][:PREVIEW_CHARS]
    found.pop("traceback", None)
    return found


def _entry(entry: HistoryEntry) -> Json:
    found = asdict(entry)
    found.pop("seq")
    return {**found, "outcome": entry.outcome.value}

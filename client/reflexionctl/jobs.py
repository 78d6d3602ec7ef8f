"""Commands about jobs: what waits, what died, what ended, and what to do about it."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from . import completion
from .context import (
    After,
    AsJson,
    Everything,
    Limit,
    Options,
    Yes,
    confirm,
    one_or_all,
    options,
)
from .output import (
    Column,
    complain,
    one_line,
    print_block,
    print_facts,
    print_json,
    print_table,
    say,
    stamp,
    when,
)
from .paging import pages

Json = dict[str, Any]

_FLEXIBLE = {"TASK", "LAST ERROR", "REASON", "DETAIL"}
_EXTRA = {"TRIGGER", "ATTEMPTS"}


DeadId = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]",
        help="A dead job, by id or unique prefix.",
        autocompletion=completion.dead_jobs,
        show_default=False,
    ),
]
AnyId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A job, ended job or lesson, by id or unique prefix.",
        autocompletion=completion.anything,
    ),
]


def list_jobs(
    ctx: typer.Context, limit: Limit = 50, after: After = None, as_json: AsJson = False
) -> None:
    """List the jobs that wait, are parked, or run, in order of arrival."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        page = pages(client.jobs, "jobs", limit, after)
    columns = ["ID", "STATE", "TRIGGER", "ATTEMPTS", "DUE", "TASK", "LAST ERROR"]
    rows = [
        (
            job["id"],
            job["state"],
            job["trigger"],
            str(job["attempts"]),
            when(job["next_attempt_at_ns"]),
            job["task"],
            job["last_error"],
        )
        for job in page["jobs"]
    ]
    _print_page(given, page, columns, rows, "no job waits")


def failed(
    ctx: typer.Context, limit: Limit = 50, after: After = None, as_json: AsJson = False
) -> None:
    """List the dead jobs, newest first: `retry` or `purge` them."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        page = pages(client.failed, "jobs", limit, after)
    columns = ["ID", "DIED", "TRIGGER", "ATTEMPTS", "TASK", "REASON"]
    rows = [
        (
            job["id"],
            when(job.get("died_at_ns")),
            job["trigger"],
            str(job["attempts"]),
            job["task"],
            job.get("reason") or job["last_error"],
        )
        for job in page["jobs"]
    ]
    _print_page(given, page, columns, rows, "no job is dead")


def history(
    ctx: typer.Context, limit: Limit = 50, after: After = None, as_json: AsJson = False
) -> None:
    """List the ended jobs and what became of them, newest first."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        page = pages(client.history, "history", limit, after)
    columns = ["ID", "ENDED", "OUTCOME", "TRIGGER", "ATTEMPTS", "LESSON", "TASK", "DETAIL"]
    rows = [
        (
            entry["id"],
            when(entry["ended_at_ns"]),
            entry["outcome"],
            entry["trigger"],
            str(entry["attempts"]),
            str(entry["lesson_id"] or "-"),
            entry["task"],
            entry["detail"] or "",
        )
        for entry in page["history"]
    ]
    _print_page(given, page, columns, rows, "no job has ended yet")


def show(ctx: typer.Context, identifier: AnyId, as_json: AsJson = False) -> None:
    """Show one job in full, else what became of it, else the lesson of that id."""
    from .lessons import print_lesson

    given = options(ctx, as_json=as_json)
    found = _find(given, identifier)
    if given.as_json:
        print_json(found)
        return
    if found["job"]:
        print_job(found["job"], found["failures"])
        if found["history"]:
            say()
    if found["history"]:
        print_history(found["history"])
    if found["lesson"]:
        print_lesson(found["lesson"])


def retry(
    ctx: typer.Context,
    identifier: DeadId = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Move a dead job, or all of them, back into the queue."""
    given = options(ctx, as_json=as_json)
    target = one_or_all(identifier, everything=everything)
    with given.client() as client:
        answer = client.retry(target)
    _print_moved(given, answer, answer["retried"], "moved back into the queue")


def purge(
    ctx: typer.Context,
    identifier: DeadId = None,
    everything: Everything = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give up a dead job, or all of them, for good; asks first."""
    given = options(ctx, as_json=as_json)
    target = one_or_all(identifier, everything=everything)
    confirm(f"Give up {f'dead job {target}' if target else 'all dead jobs'} for good?", yes=yes)
    with given.client() as client:
        answer = client.purge(target)
    _print_moved(given, answer, answer["purged"], "given up")


def drain(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Make every waiting retry due now, and admit parked jobs where there is room."""
    given = options(ctx, as_json=as_json)
    with given.client() as client:
        answer = client.drain()
    if given.as_json:
        print_json(answer)
    else:
        say(f"{_jobs(answer['due'])} made due, {_jobs(answer['admitted'])} admitted")


def print_job(job: Json, failures: list[Json]) -> None:
    """Print one job in full, with the attempts that failed."""
    print_facts(
        [
            ("job", job["id"]),
            ("state", job["state"]),
            ("trigger", job["trigger"]),
            ("attempts", str(job["attempts"])),
            ("reported", stamp(job["first_enqueued_at_ns"])),
            ("due", stamp(job["next_attempt_at_ns"]) if job["state"] != "dead" else ""),
            ("died", stamp(job.get("died_at_ns"))),
            ("reason", job.get("reason") or ""),
            ("last error", job["last_error"]),
            ("workspace", job["workspace"]),
            ("source", job["source"]),
        ]
    )
    for label in ("task", "attempt", "outcome", "traceback"):
        print_block(label, job.get(label) or "")
    lines = [f"{stamp(f['at_ns'])}  {f['attempt']}: {one_line(f['error'])}" for f in failures]
    print_block("failed attempts", "\n".join(lines))


def print_history(entries: list[Json]) -> None:
    """Print what became of a job."""
    for number, entry in enumerate(entries):
        if number:
            say()
        print_facts(
            [
                ("ended job", entry["id"]),
                ("outcome", entry["outcome"]),
                ("detail", entry["detail"] or ""),
                ("lesson", str(entry["lesson_id"] or "")),
                ("trigger", entry["trigger"]),
                ("attempts", str(entry["attempts"])),
                ("reported", stamp(entry["enqueued_at_ns"])),
                ("ended", stamp(entry["ended_at_ns"])),
                ("workspace", entry["workspace"]),
                ("source", entry["source"]),
            ]
        )
        print_block("task", entry["task"])


def _find(given: Options, identifier: str) -> Json:
    """Return what has this id, in a shape that stays the same whatever it is.

    Raises:
        NotFound: no job, ended job or lesson has it.
        AmbiguousId: a prefix fits more than one.
    """
    from reflexion_client.errors import NotFound

    with given.client() as client:
        try:
            return {**client.job(identifier), "lesson": None}
        except NotFound:
            pass
        try:
            lesson = client.lesson(identifier)["lesson"]
        except NotFound:
            raise NotFound(f"no job or lesson has the id {identifier}") from None
    return {"job": None, "failures": [], "history": [], "lesson": lesson}


def _print_page(
    given: Options, page: Json, titles: list[str], rows: Sequence[tuple[str, ...]], none: str
) -> None:
    if given.as_json:
        print_json(page)
        return
    if not rows:
        complain(none)
        return
    columns = [Column(title, title in _FLEXIBLE, title in _EXTRA) for title in titles]
    print_table(columns, rows)
    if page["next"] is not None and len(rows) < page["total"]:
        complain(f"{len(rows)} of {page['total']} shown; go on with --after {page['next']}")


def _print_moved(given: Options, answer: Json, count: int, what: str) -> None:
    if given.as_json:
        print_json(answer)
    elif count == 1 and answer["ids"]:
        say(f"job {answer['ids'][0]} {what}")
    else:
        say(f"{_jobs(count)} {what}")


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"

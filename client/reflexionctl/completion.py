"""Completion of live ids, with a preview of each.

Silent and quick: a shell that waits for the daemon, or prints its errors into the
prompt, is worse than no completion.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import typer

from .context import Options
from .output import shortened

if TYPE_CHECKING:
    from reflexion_client.sync import Client

CONNECT_TIMEOUT_S = 0.2
CALL_TIMEOUT_S = 0.5
LIMIT = 50
_PREVIEW, _ERROR = 48, 40

Candidate = tuple[str, str]

# zsh evaluates the description as shell code and rich reads it as markup, and it comes
# from what some tool printed: only characters that mean nothing to either get through.
_ACTIVE = re.compile(r"[^\w .,/=+@%\-\u2013\u2014\u2026]")


def dead_jobs(ctx: typer.Context, incomplete: str) -> list[Candidate]:
    """Return dead jobs: what `retry` and `purge` take."""
    return _ask(ctx, incomplete, _dead)


def anything(ctx: typer.Context, incomplete: str) -> list[Candidate]:
    """Return jobs, ended jobs and lessons: what `show` takes."""
    return _ask(ctx, incomplete, _dead, _queued, _ended, _lessons)


def lessons(ctx: typer.Context, incomplete: str) -> list[Candidate]:
    """Return lessons."""
    return _ask(ctx, incomplete, _lessons)


def described(task: str, error: str) -> str:
    """Return the help text of a candidate: what it is about, and how it failed last."""
    text = shortened(task, _PREVIEW)
    if error.strip():
        text += f" \N{EM DASH} {shortened(error, _ERROR)}"
    return " ".join(_ACTIVE.sub(" ", text).split())


def _ask(
    ctx: typer.Context, incomplete: str, *sources: Callable[["Client"], Iterable[Candidate]]
) -> list[Candidate]:
    from reflexion_client.errors import ReflexionError

    given = ctx.find_root().params
    options = Options(given.get("socket"), given.get("state_dir"))
    try:
        with options.client(
            workspace="",
            connect_timeout_s=CONNECT_TIMEOUT_S,
            call_timeout_s=CALL_TIMEOUT_S,
            autostart=False,
        ) as client:
            found = dict(pair for source in sources for pair in source(client))
    except ReflexionError:
        return []
    return [(key, text) for key, text in found.items() if key.startswith(incomplete)]


def _dead(client: "Client") -> Iterable[Candidate]:
    for job in client.failed(limit=LIMIT)["jobs"]:
        yield job["id"], described(job["task"], job["last_error"] or job.get("reason", ""))


def _queued(client: "Client") -> Iterable[Candidate]:
    for job in client.jobs(limit=LIMIT)["jobs"]:
        yield job["id"], described(job["task"], job["last_error"])


def _ended(client: "Client") -> Iterable[Candidate]:
    for entry in client.history(limit=LIMIT)["history"]:
        yield entry["id"], described(entry["task"], entry["outcome"])


def _lessons(client: "Client") -> Iterable[Candidate]:
    for lesson in client.lessons(limit=LIMIT)["lessons"]:
        yield _id(lesson), described(lesson["situation"], lesson["correction"])


def _id(noun: dict[str, Any]) -> str:
    return str(noun["id"])

"""What a client can ask, as values: a method, its parameters, how to read the answer.

`Client` and `AsyncClient` both speak these, so that a verb is described once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from .errors import ProtocolError
from .model import (
    Enqueued,
    Recall,
    Reflected,
    Remembered,
    parse,
    parse_recall,
    parse_reflected,
)

T = TypeVar("T")
Json = dict[str, Any]

_DAEMON_SHARE = 0.6
"""How much of a recall's time the daemon may spend on waiting for its embedding model."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call to the daemon.

    `repeatable` calls are sent again by themselves when the connection turns out to be
    dead; a report is repeatable because its id makes the second one a duplicate.
    """

    method: str
    params: Json
    read: Callable[[Any], T]
    repeatable: bool = True


def _map(value: Any) -> Json:
    if not isinstance(value, dict):
        raise ProtocolError(f"expected a map from the daemon, got {type(value).__name__}")
    return value


def _given(**params: object) -> Json:
    """Leave out what was not given: the daemon's defaults stand."""
    return {name: value for name, value in params.items() if value is not None}


def ping() -> Call[Json]:
    """Ask whether the daemon is alive. Answers versions, boot id and capabilities."""
    return Call("ping", {}, _map)


def hello(client: str, version: str) -> Call[Json]:
    """Introduce the client by name and version."""
    return Call("hello", {"client": client, "version": version}, _map)


def status() -> Call[Json]:
    """Ask how the daemon is."""
    return Call("status", {}, _map)


def shutdown() -> Call[Json]:
    """Ask the daemon to drain and stop."""
    return Call("shutdown", {}, _map, repeatable=False)


def config() -> Call[Json]:
    """Ask for every setting with its value and origin."""
    return Call("config", {}, _map)


def enqueue(
    *,
    task: str,
    attempt: str,
    outcome: str,
    trigger: str,
    workspace: str,
    source: str,
    wait_s: float | None,
) -> Call[Enqueued]:
    """Report a failure. Answered when it is on disk.

    `wait_s` bounds how long to wait for a slot in a full queue before the answer says
    "parked"; None leaves it to the daemon's block timeout.
    """
    params = _given(
        task=task,
        attempt=attempt,
        outcome=outcome,
        trigger=str(trigger),
        workspace=workspace,
        source=source,
        wait_s=wait_s,
    )
    return Call("enqueue", params, partial(parse, Enqueued))


def reflect(
    *,
    tool_name: str,
    input: str,  # noqa: A002 - the field's name in the protocol
    output: str,
    error: str,
    task: str,
    workspace: str,
    source: str,
    record: bool,
) -> Call[Reflected]:
    """Judge a failure at once; with `record`, a true failure is also enqueued."""
    params = _given(
        tool_name=tool_name,
        input=input,
        output=output,
        error=error,
        task=task,
        workspace=workspace,
        source=source,
        record=record,
    )
    return Call("failures.reflect", params, parse_reflected)


def remember(*, text: str, workspace: str, source: str) -> Call[Remembered]:
    """Store a manual lesson now, without asking a model."""
    params = _given(text=text, workspace=workspace, source=source)
    return Call("lessons.remember", params, partial(parse, Remembered))


def recall(
    *,
    task: str,
    workspace: str,
    limit: int | None,
    floor: float | None,
    timeout_s: float | None,
) -> Call[Recall]:
    """Ask for the lessons that fit a task; none when none does.

    A caller in a hurry tells the daemon, which then does not wait for an embedding model
    that has to be loaded, and goes by the words alone.
    """
    wait_s = None if timeout_s is None else timeout_s * _DAEMON_SHARE
    params = _given(task=task, workspace=workspace, limit=limit, floor=floor, wait_s=wait_s)
    return Call("recall", params, parse_recall)


def jobs(*, limit: int, after: int | None) -> Call[Json]:
    """List pending, running and parked jobs in order of arrival."""
    return Call("jobs.list", _given(limit=limit, after=after), _map)


def failed(*, limit: int, after: int | None) -> Call[Json]:
    """List dead jobs, newest first."""
    return Call("jobs.failed", _given(limit=limit, after=after), _map)


def job(job_id: str) -> Call[Json]:
    """Show one job, wherever it is, by id or unique prefix."""
    return Call("jobs.show", {"id": job_id}, _map)


def history(*, limit: int, after: int | None) -> Call[Json]:
    """List ended jobs, newest first."""
    return Call("jobs.history", _given(limit=limit, after=after), _map)


def retry(job_id: str | None) -> Call[Json]:
    """Move a dead job back into the queue; None moves all of them."""
    return Call("jobs.retry", _one_or_all(job_id), _map, repeatable=False)


def purge(job_id: str | None) -> Call[Json]:
    """Give up a dead job for good; None gives up all of them."""
    return Call("jobs.purge", _one_or_all(job_id), _map, repeatable=False)


def drain() -> Call[Json]:
    """Make every waiting retry due now, and admit parked jobs where there is room."""
    return Call("jobs.drain", {}, _map)


def lessons(*, limit: int, after: int | None) -> Call[Json]:
    """List lessons, newest first."""
    return Call("lessons.list", _given(limit=limit, after=after), _map)


def lesson(lesson_id: str) -> Call[Json]:
    """Show one lesson by id or unique prefix."""
    return Call("lessons.show", {"id": lesson_id}, _map)


def delete_lesson(lesson_id: str) -> Call[Json]:
    """Delete one lesson from rows, vectors and text index."""
    return Call("lessons.delete", {"id": lesson_id}, _map, repeatable=False)


def _one_or_all(job_id: str | None) -> Json:
    return {"all": True} if job_id is None else {"id": job_id}

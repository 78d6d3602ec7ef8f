"""The table of methods: a name, and the plain function that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from reflexiond.rpc.params import Params
from reflexiond.rpc.services import Json, Services

from . import daemon, jobs, lessons, reports

Method = Callable[[Services, Params], Awaitable[Json]]

METHODS: dict[str, Method] = {
    # `ping` and `shutdown` keep their meaning for ever: clients of any age rely on them.
    "ping": daemon.ping,
    "shutdown": daemon.shutdown,
    "hello": daemon.hello,
    "status": daemon.status,
    "config": daemon.config,
    "enqueue": reports.enqueue,
    "failures.reflect": reports.reflect,
    "recall": lessons.recall,
    "lessons.remember": lessons.remember,
    "lessons.list": lessons.list_lessons,
    "lessons.show": lessons.show,
    "lessons.delete": lessons.delete,
    "jobs.list": jobs.list_jobs,
    "jobs.failed": jobs.failed,
    "jobs.show": jobs.show,
    "jobs.history": jobs.history,
    "jobs.retry": jobs.retry,
    "jobs.purge": jobs.purge,
    "jobs.drain": jobs.drain,
}

PROMPT = frozenset({"ping", "hello", "shutdown", "enqueue", "failures.reflect", "lessons.remember"})
"""The methods whose answers are small: a report never waits for its sender to read."""

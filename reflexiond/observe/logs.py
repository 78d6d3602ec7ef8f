"""The log: one line an event, and the daemon's own words, on standard error."""

from __future__ import annotations

import logging
import sys

from reflexiond.events import Event

log = logging.getLogger("reflexiond")

_LEVELS = {
    "accepted": logging.DEBUG,
    "claimed": logging.DEBUG,
    "deduped": logging.DEBUG,
    "retried": logging.WARNING,
    "buried": logging.WARNING,
    "degraded": logging.ERROR,
}


def set_up(level: str) -> None:
    """Send the log to standard error from `level` up (debug, info, warning, error)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    log.setLevel(level.upper())


def write_event(event: Event) -> None:
    """Log one event. Subscribe this to the bus."""
    level = _LEVELS.get(event.name, logging.INFO)
    if not log.isEnabledFor(level):
        return
    facts = [event.name]
    if event.job_id:
        facts.append(f"job={event.job_id}")
    if event.lesson_id:
        facts.append(f"lesson={event.lesson_id}")
    if event.attempt:
        facts.append(f"attempt={event.attempt}")
    if event.count != 1:
        facts.append(f"count={event.count}")
    # The detail may quote a tool's output, which is never logged above debug.
    if event.detail and (not event.job_id or log.isEnabledFor(logging.DEBUG)):
        facts.append(event.detail)
    log.log(level, "%s", " ".join(facts))

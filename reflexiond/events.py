"""What happens, as data: queue, memory and rpc publish, logs and counters listen.

| event     | fields                    | meaning                                        |
|-----------|---------------------------|------------------------------------------------|
| accepted  | job_id                    | a report became a pending job                  |
| parked    | job_id                    | a report was stored beyond capacity            |
| deduped   | job_id                    | a report that is known already                 |
| admitted  | count                     | parked jobs became pending                     |
| claimed   | job_id, attempt           | a worker took a job                            |
| done      | job_id, lesson_id         | its lesson is stored                           |
| skipped   | job_id, detail            | there was nothing to learn                     |
| retried   | job_id, attempt, detail   | a passing fault; it is due again later         |
| snoozed   | job_id, detail            | put off without spending an attempt            |
| buried    | job_id, detail            | to the dead letters                            |
| released  | job_id                    | given back, attempt and all, at a stop         |
| stale     | count                     | too old to be worth a lesson                   |
| revived   | count                     | dead letters back in the queue                 |
| purged    | count                     | dead letters given up                          |
| voided    | count                     | claims of an earlier boot declared void        |
| degraded  | detail                    | the store failed; reports are refused          |
| recovered | detail                    | the store works again                          |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. Unused fields stay empty."""

    name: str
    job_id: str = ""
    lesson_id: str = ""
    attempt: int = 0
    count: int = 1
    detail: str = ""


Publish = Callable[[Event], None]


class Bus:
    """Hands each event to every subscriber, at once and in order.

    Subscribers must be quick and must not raise: they run where the event happens.
    """

    def __init__(self) -> None:
        self._subscribers: list[Publish] = []

    def subscribe(self, subscriber: Publish) -> None:
        """Add a subscriber for the life of the bus."""
        self._subscribers.append(subscriber)

    def publish(self, event: Event) -> None:
        """Tell all subscribers."""
        for subscriber in self._subscribers:
            subscriber(event)

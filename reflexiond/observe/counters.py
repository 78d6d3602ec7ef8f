"""How often each event happened since the daemon started."""

from __future__ import annotations

from collections import Counter

from reflexiond.events import Event

COUNTED = (
    "accepted",
    "deduped",
    "parked",
    "done",
    "skipped",
    "retried",
    "buried",
    "stale",
    "purged",
)


class Counters:
    """Counts events. Subscribe `count` to the bus."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, event: Event) -> None:
        """Count one event."""
        self._counts[event.name] += event.count

    def totals(self) -> dict[str, int]:
        """Return the counts that `status` shows, zeros included."""
        return {name: self._counts[name] for name in COUNTED}

"""The one place where time is read."""

from __future__ import annotations

import time
from typing import Protocol

SECOND_NS = 1_000_000_000


class Clock(Protocol):
    """Tells the time of day; durations are measured by the event loop's own clock."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch (UTC)."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch (UTC)."""
        return time.time_ns()

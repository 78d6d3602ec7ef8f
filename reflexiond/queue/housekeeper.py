"""Keeps the queue tidy: old claims at boot, stale jobs and old history every hour."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from reflexiond.clock import Clock
from reflexiond.errors import StoreFailed
from reflexiond.events import Event, Publish
from reflexiond.store.port import QueueStore

log = logging.getLogger(__name__)

EVERY_S = 3_600.0


class Housekeeper:
    """Runs `recover` once before the workers start, then `tidy` every hour.

    Args:
        store: where jobs live.
        clock: the time of day.
        crash_budget: how often a job may be under way when the daemon dies.
        stale_after_ns: how long a waiting report is worth a lesson; 0: for ever.
        history_age_ns: how long ended jobs are remembered.
        history_rows: how many of them at the most.
        publish: told what was tidied.
        admit: makes parked jobs pending.
    """

    def __init__(
        self,
        store: QueueStore,
        clock: Clock,
        *,
        crash_budget: int,
        stale_after_ns: int,
        history_age_ns: int,
        history_rows: int,
        publish: Publish,
        admit: Callable[[], Awaitable[object]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._crash_budget = crash_budget
        self._stale_after_ns = stale_after_ns
        self._history_age_ns = history_age_ns
        self._history_rows = history_rows
        self._publish = publish
        self._admit = admit
        self._task: asyncio.Task[None] | None = None

    async def recover(self) -> None:
        """Void the claims of earlier boots: whoever held them is dead."""
        voided, buried = await self._store.void_claims(self._crash_budget, self._clock.now_ns())
        if voided:
            self._publish(Event("voided", count=voided))
        for job_id in buried:
            detail = f"the daemon died {self._crash_budget} times while processing it"
            self._publish(Event("buried", job_id=job_id, detail=detail))

    async def tidy(self) -> None:
        """Discard what is stale, forget old history, admit parked jobs where there is room."""
        now_ns = self._clock.now_ns()
        if self._stale_after_ns:
            before_ns = now_ns - self._stale_after_ns
            while count := await self._store.discard_stale(before_ns, now_ns):
                self._publish(Event("stale", count=count))
        while await self._store.trim_history(now_ns - self._history_age_ns, self._history_rows):
            pass
        await self._admit()

    def start(self) -> None:
        """Tidy now, in the background, and every hour."""
        self._task = asyncio.create_task(self._run(), name="housekeeper")

    async def stop(self) -> None:
        """Stop tidying. Idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            try:
                await self.tidy()
            except StoreFailed as error:
                log.warning("tidying put off: %s", error)
            await asyncio.sleep(EVERY_S)

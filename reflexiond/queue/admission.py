"""The door: a report becomes durable here, and is told what became of it.

Beyond capacity nothing is refused. A report is parked on disk first; with the policy
`block` its caller then waits for a slot, with `drop_oldest` the oldest job is parked
in its place. Parked jobs are admitted, oldest first, whenever a slot is free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from reflexion_client.errors import BadParams, Stopping, TooLarge
from reflexion_client.identity import derive_job_id
from reflexion_client.model import Enqueued, LessonRequest
from reflexion_client.wire import MAX_REPORT_BYTES
from reflexiond.clock import SECOND_NS, Clock
from reflexiond.errors import StoreFailed
from reflexiond.events import Event, Publish
from reflexiond.model import Admission, JobId, JobState, NewJob
from reflexiond.store.port import QueueStore

QUIET_S = 0.05
"""How long after a report the workers hold back."""
LONGEST_BURST_S = 0.25
"""How long they hold back at the most, however dense the reports."""


class Admissions:
    """Takes reports in and parked jobs up.

    Args:
        store: where jobs live.
        clock: tells when a report came in.
        capacity: how many pending jobs there may be.
        drop_oldest: park the oldest job instead of the new one when full.
        block_timeout_ns: how long a caller waits for a slot by default.
        publish: told of every admission.
        wake: called when there is work for a worker.
    """

    def __init__(
        self,
        store: QueueStore,
        clock: Clock,
        *,
        capacity: int,
        drop_oldest: bool,
        block_timeout_ns: int,
        publish: Publish,
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self.capacity = capacity
        self.drop_oldest = drop_oldest
        self._block_timeout_s = block_timeout_ns / SECOND_NS
        self._publish = publish
        self._wake = wake
        self._waiting: dict[JobId, asyncio.Event] = {}
        self._closed = asyncio.Event()
        self._last_report = -QUIET_S

    def close(self) -> None:
        """Take no more reports, and answer those who wait for a slot: parked is true."""
        self._closed.set()
        for slot in self._waiting.values():
            slot.set()

    async def enqueue(
        self, request: LessonRequest, workspace: str, source: str, wait_s: float | None = None
    ) -> Enqueued:
        """Make a report durable and say what became of it.

        Args:
            request: the report.
            workspace: the project it came from.
            source: the tool that sent it.
            wait_s: how long to wait for a slot when full; None: the block timeout.

        Raises:
            BadParams: the report says nothing at all.
            TooLarge: the report is over the limit.
            Stopping: the daemon is shutting down.
            StoreFailed: it could not be made durable; nothing was kept.
        """
        _check(request)
        if self._closed.is_set():
            raise Stopping("the daemon is shutting down and takes no new reports")
        job_id = JobId(
            derive_job_id(request.task, request.trigger, request.attempt, request.outcome)
        )
        self._last_report = asyncio.get_running_loop().time()
        job = NewJob(job_id, request, workspace, source, self._clock.now_ns())
        added = await self._store.add(job, capacity=self.capacity, drop_oldest=self.drop_oldest)
        state = added.state
        if added.admission is Admission.PARKED:
            self._publish(Event("parked", job_id=job_id))
            wait_s = self._block_timeout_s if wait_s is None else wait_s
            if await self._slot(job_id, wait_s):
                return Enqueued(job_id, Admission.ACCEPTED, JobState.PENDING)
        else:
            self._publish(Event(added.admission.value, job_id=job_id))
            if added.admission is Admission.ACCEPTED:
                self._wake()
        return Enqueued(job_id, added.admission, state)

    async def admit(self) -> int:
        """Make parked jobs pending while there is room; return how many."""
        total = 0
        while ids := await self._store.admit(self.capacity):
            total += len(ids)
            for job_id in ids:
                if job_id in self._waiting:
                    self._waiting[job_id].set()
        if total:
            self._publish(Event("admitted", count=total))
            self._wake()
        return total

    async def quiet(self) -> None:
        """Wait until no report came for a moment, or for so long that lessons must go on.

        Distilling computes in the same process: in a burst, reports come first.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + LONGEST_BURST_S
        while not self._closed.is_set():
            wait_s = min(self._last_report + QUIET_S, until) - loop.time()
            if wait_s <= 0:
                return
            try:
                async with asyncio.timeout(wait_s):
                    await self._closed.wait()
            except TimeoutError:
                continue

    async def _slot(self, job_id: JobId, wait_s: float) -> bool:
        """Wait for a parked job to be admitted, and return whether it was."""
        if wait_s <= 0 or self._closed.is_set():
            return False
        # A slot may have been freed between our commit and this line.
        slot = self._waiting.setdefault(job_id, asyncio.Event())
        try:
            await self.admit()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await slot.wait()
            # The slot may have been won as the wait ended: only the store knows.
            return await self._store.state(job_id) is not JobState.PARKED
        except StoreFailed:
            # The report is durable all the same, and parked is the last that was heard of it.
            return False
        finally:
            self._waiting.pop(job_id, None)


def _check(request: LessonRequest) -> None:
    texts = (request.task, request.attempt, request.outcome, request.trigger)
    if not any(text.strip() for text in texts[:3]):
        raise BadParams("a report needs a task, an attempt or an outcome; all three are empty")
    # A character takes four bytes at the most: few reports need encoding to be let through.
    if sum(map(len, texts)) * 4 > MAX_REPORT_BYTES:
        size = sum(len(text.encode("utf-8", "replace")) for text in texts)
        if size > MAX_REPORT_BYTES:
            raise TooLarge(
                f"the report is {size} bytes, the limit is {MAX_REPORT_BYTES}: "
                "send the end of the output, where the error stands",
                {"limit_bytes": MAX_REPORT_BYTES, "size_bytes": size},
            )

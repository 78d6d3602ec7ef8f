"""The workers: claim the job that is due, have it processed, carry out the verdict.

Idle workers sleep until a job is due or one comes in; nothing polls. One worker at a
time waits for the next job, the others wait for their turn.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable

from reflexiond.clock import SECOND_NS, Clock
from reflexiond.errors import StoreFailed
from reflexiond.events import Event, Publish
from reflexiond.model import Bury, Claim, Done, Ending, Job, Outcome, Retry, Skipped
from reflexiond.store.port import QueueStore

from .backoff import RetryPolicy
from .outcome import Again, Verdict, judge

log = logging.getLogger(__name__)

Processor = Callable[[Job], Awaitable[Outcome]]

RECHECK_S = 60.0
"""The longest sleep: a clock that jumped, or a suspended laptop, is noticed within it."""
STORE_RETRY_S = 5.0
"""How long a worker waits before it tries a store that failed."""
_ERROR_TEXT = 2_000


class Workers:
    """N workers over one queue. `start` once; `stop` is idempotent.

    Args:
        store: where jobs live.
        process: turns a job into an outcome; a value for every foreseen end, an
            exception only for a bug.
        policy: retries.
        clock: the time of day.
        random: a number in [0, 1) per call, for the jitter.
        count: how many jobs are processed at once.
        job_timeout_ns: how long one attempt may take.
        publish: told what happens to jobs.
        freed: called after a job left the queue: there may be room for a parked one.
        quiet: waited for before a claim: reports that come in go first.
        store_retry_s: how long to wait before a store that failed is tried again.
    """

    def __init__(
        self,
        store: QueueStore,
        process: Processor,
        *,
        policy: RetryPolicy,
        clock: Clock,
        random: Callable[[], float],
        count: int,
        job_timeout_ns: int,
        publish: Publish,
        freed: Callable[[], Awaitable[object]],
        quiet: Callable[[], Awaitable[None]],
        store_retry_s: float = STORE_RETRY_S,
    ) -> None:
        self._store = store
        self._process = process
        self._policy = policy
        self._clock = clock
        self._random = random
        self.count = count
        self._job_timeout_s = job_timeout_ns / SECOND_NS
        self._publish = publish
        self._freed = freed
        self._quiet = quiet
        self._store_retry_s = store_retry_s
        self._turn = asyncio.Lock()
        self._work = asyncio.Event()
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._attempts: set[asyncio.Task[Outcome]] = set()
        self.running: dict[str, Job] = {}

    def wake(self) -> None:
        """Say that a job may be due now."""
        self._work.set()

    def start(self) -> None:
        """Begin to claim jobs."""
        self._tasks = [
            asyncio.create_task(self._worker(), name=f"worker-{n + 1}") for n in range(self.count)
        ]

    async def stop(self, drain_s: float) -> None:
        """Claim nothing more, give jobs under way `drain_s` to finish, then put them back."""
        self._stopping.set()
        self._work.set()
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=drain_s)
        if late:
            for attempt in self._attempts:
                attempt.cancel()
            await asyncio.wait(late)
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.result()

    async def _worker(self) -> None:
        while not self._stopping.is_set():
            try:
                async with self._turn:
                    held = await self._next()
                if held is not None:
                    await self._attempt(*held)
            except StoreFailed as error:
                # Nothing is lost by waiting: jobs stay where the last commit left them.
                retry_s = self._store_retry_s
                log.warning("the store failed, trying again in %g s: %s", retry_s, error)
                await self._pause(retry_s)

    async def _next(self) -> tuple[Job, Claim] | None:
        """Wait for a job that is due and claim it; None once we are stopping."""
        while not self._stopping.is_set():
            await self._quiet()
            self._work.clear()
            held = await self._store.claim(self._clock.now_ns())
            if held is not None:
                return held
            due_ns = await self._store.next_due_ns()
            wait_s = RECHECK_S
            if due_ns is not None:
                # A due time on the nanosecond is not worth a timer that fires too early.
                wait_s = min(wait_s, max((due_ns - self._clock.now_ns()) / SECOND_NS, 0.001))
            try:
                async with asyncio.timeout(wait_s):
                    await self._work.wait()
            except TimeoutError:
                continue
        return None

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    async def _attempt(self, job: Job, claim: Claim) -> None:
        if self._stopping.is_set():
            await self._release(job, claim)
            return
        self.running[job.id] = job
        self._publish(Event("claimed", job_id=job.id, attempt=job.attempts))
        attempt = asyncio.ensure_future(self._outcome(job))
        self._attempts.add(attempt)
        try:
            outcome = await attempt
        except asyncio.CancelledError as error:
            if self._stopping.is_set() or _cancelled_from_outside():
                await self._release(job, claim)
                return
            # Nobody cancelled it but the processor itself: given back, it would never end.
            outcome = _crash(error)
        finally:
            self._attempts.discard(attempt)
            self.running.pop(job.id, None)
        verdict = judge(outcome, job, self._policy, self._clock.now_ns(), self._random())
        await self._carry_out(verdict, job, claim)

    async def _outcome(self, job: Job) -> Outcome:
        """Process a job; a crash of the processor is an outcome too."""
        try:
            async with asyncio.timeout(self._job_timeout_s) as deadline:
                return await self._process(job)
        except TimeoutError as error:
            if deadline.expired():
                return Retry(f"not finished within {self._job_timeout_s:g} s")
            return _crash(error)
        except Exception as error:  # noqa: BLE001 - a bug must not stop the worker
            return _crash(error)

    async def _release(self, job: Job, claim: Claim) -> None:
        """Put a job back as if it had not been claimed."""
        now_ns = self._clock.now_ns()
        due_ns = min(job.next_attempt_at_ns, now_ns)
        if await self._store.retry(claim, "", due_ns, now_ns, spent=False):
            self._publish(Event("released", job_id=job.id))

    async def _carry_out(self, verdict: Verdict, job: Job, claim: Claim) -> None:
        """Make the verdict durable; as long as the store refuses it, hold on to the job."""
        while True:
            try:
                event = await self._settle(verdict, job, claim)
            except StoreFailed as error:
                log.warning("verdict on %s not stored, trying again: %s", job.id, error)
                await self._pause(self._store_retry_s)
                if self._stopping.is_set():
                    return
            else:
                break
        if event is None:
            log.warning("the claim on job %s is stale; its outcome was dropped", job.id)
            return
        self._publish(event)
        await self._freed()

    async def _settle(self, verdict: Verdict, job: Job, claim: Claim) -> Event | None:
        now_ns = self._clock.now_ns()
        match verdict:
            case Done(lesson):
                stored = await self._store.complete(claim, verdict, now_ns)
                event = Event("done", job_id=job.id, lesson_id=lesson.id)
                return event if stored is not None else None
            case Skipped(reason):
                kept = await self._store.end(claim, Ending.SKIPPED, reason, now_ns)
                event = Event("skipped", job_id=job.id, detail=reason)
            case Again(due_ns, error, spent):
                kept = await self._store.retry(
                    claim, error[:_ERROR_TEXT], due_ns, now_ns, spent=spent
                )
                name = "retried" if spent else "snoozed"
                event = Event(name, job_id=job.id, attempt=job.attempts, detail=error)
            case Bury(reason, trace):
                kept = await self._store.bury(claim, reason[:_ERROR_TEXT], trace, now_ns)
                event = Event("buried", job_id=job.id, attempt=job.attempts, detail=reason)
        return event if kept else None


def _cancelled_from_outside() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _crash(error: BaseException) -> Bury:
    trace = "".join(traceback.format_exception(error))
    return Bury(f"the processor crashed: {type(error).__name__}: {error}", trace)

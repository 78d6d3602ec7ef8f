"""A job in, an outcome out: distil it, embed the lesson, hand both to the queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from reflexiond.clock import Clock
from reflexiond.distil import heuristic
from reflexiond.memory import lessons
from reflexiond.model import Done, Job, Lesson, LessonVectors, Outcome, Skipped

log = logging.getLogger("reflexiond")


class Learner:
    """The processor that the workers run.

    Args:
        vectors: embeds a lesson; None when no model is available.
        clock: the time of day.
        persist: False logs the lesson and stores nothing.
    """

    def __init__(
        self,
        vectors: Callable[[Lesson], Awaitable[LessonVectors | None]],
        clock: Clock,
        *,
        persist: bool,
    ) -> None:
        self._vectors = vectors
        self._clock = clock
        self._persist = persist

    async def __call__(self, job: Job) -> Outcome:
        """Process one job."""
        # Judging takes milliseconds of pure computing: reports must not wait for it.
        draft = await asyncio.to_thread(heuristic.distil, job.request, job.source)
        if isinstance(draft, Skipped):
            return draft
        lesson = lessons.from_draft(
            draft,
            task=job.request.task,
            trigger=job.request.trigger,
            workspace=job.workspace,
            source=job.source,
            distiller=heuristic.NAME,
            job_id=job.id,
            now_ns=self._clock.now_ns(),
        )
        if not self._persist:
            log.info("lesson of job %s, not stored:\n%s", job.id, lesson.fact)
            return Skipped("the setting persist is off: the lesson was logged only")
        return Done(lesson, await self._vectors(lesson))

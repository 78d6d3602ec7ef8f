"""The vectors of lessons and queries: one embedding space, and lessons that wait for it."""

from __future__ import annotations

import asyncio
import logging

from reflexiond.errors import StoreFailed
from reflexiond.model import Lesson, LessonVectors, Space, Vector
from reflexiond.store.port import MemoryStore

from .embed.port import Embedder, EmbedderUnavailable

log = logging.getLogger(__name__)

QUERY_DEADLINE_S = 2.0
"""How long a recall waits for the model, which may have to be loaded, before it does without."""
_BACKFILL = 32


class Keys:
    """Embeds with one model, and says why when it cannot.

    Args:
        store: where the vectors live.
        embedder: the model; None when it is switched off.

    Attributes:
        problem: why there are no vectors; empty while all is well.
    """

    def __init__(self, store: MemoryStore, embedder: Embedder | None) -> None:
        self._store = store
        self.embedder = embedder
        self.problem = "" if embedder else "switched off by the setting embed.model"
        self._opened: Space | None = None
        self._opening = asyncio.Lock()
        self._backfill: asyncio.Task[None] | None = None

    async def of_lesson(self, lesson: Lesson) -> LessonVectors | None:
        """Return the keys of a lesson; None when there is no model, or no place for them."""
        if self.embedder is None:
            return None
        try:
            task, situation = await self.embedder.embed(
                [lesson.task or lesson.situation, lesson.situation], "document"
            )
            space = await self._space(self.embedder)
        except (EmbedderUnavailable, StoreFailed) as error:
            self._note(str(error))
            return None
        self._note("")
        return LessonVectors(space.id, task, situation)

    async def of_query(self, text: str, wait_s: float | None = None) -> tuple[Space, Vector] | None:
        """Return the space and vector of a query; None when text alone must do.

        `wait_s` bounds the wait; the model goes on loading behind it, for the next one.
        """
        if self.embedder is None:
            return None
        try:
            async with asyncio.timeout(QUERY_DEADLINE_S if wait_s is None else wait_s):
                [vector] = await self.embedder.embed([text], "query")
            space = await self._space(self.embedder)
        except TimeoutError:
            return None
        except (EmbedderUnavailable, StoreFailed) as error:
            self._note(str(error))
            return None
        self._note("")
        return space, vector

    def describe(self) -> dict[str, str]:
        """Say which model is used and how it is: ready, unloaded, unavailable or off."""
        if self.embedder is None:
            return {"id": "", "state": "off", "reason": self.problem}
        state = "ready" if self.embedder.loaded else "unloaded"
        return {
            "id": self.embedder.id,
            "state": "unavailable" if self.problem else state,
            "reason": self.problem,
        }

    async def close(self) -> None:
        """Stop embedding and give the model's memory back. Idempotent."""
        if self._backfill is not None:
            self._backfill.cancel()
            await asyncio.wait([self._backfill])
            self._backfill = None
        if self.embedder is not None:
            await self.embedder.close()

    async def _space(self, embedder: Embedder) -> Space:
        async with self._opening:
            if self._opened is None:
                space = Space(embedder.id, embedder.dimensions)
                await self._store.open_space(space)
                self._opened = space
                self._backfill = asyncio.create_task(self._fill(space, embedder), name="backfill")
            return self._opened

    async def _fill(self, space: Space, embedder: Embedder) -> None:
        """Give vectors to the lessons stored while there was no model, or another one."""
        try:
            while waiting := await self._store.without_vectors(space, _BACKFILL):
                rows = []
                for lesson in waiting:
                    task, situation = await embedder.embed(
                        [lesson.task or lesson.situation, lesson.situation], "document"
                    )
                    rows.append((lesson.id, task, situation))
                await self._store.add_vectors(space, rows)
        except (EmbedderUnavailable, StoreFailed) as error:
            # They are found by text meanwhile, and the next start goes on from here.
            log.warning("giving vectors to older lessons stopped: %s", error)

    def _note(self, problem: str) -> None:
        if problem and problem != self.problem:
            log.warning("recall goes on with full text alone: %s", problem)
        self.problem = problem

"""Fill a store with a backlog or with lessons, fast, by the store's own verbs."""

from __future__ import annotations

import asyncio
import random
import struct
import time
from pathlib import Path

from reflexion_client.model import LessonRequest
from reflexiond.model import Done, JobId, Lesson, LessonId, LessonVectors, NewJob, Space, Vector
from reflexiond.store.sqlite import SqliteStore

DAY_NS = 86_400 * 10**9
CHUNK = 5_000


def fill_jobs(state_dir: Path, count: int) -> None:
    """Store `count` pending jobs that are due tomorrow, about 700 bytes each."""
    asyncio.run(_fill_jobs(state_dir, count))


async def _fill_jobs(state_dir: Path, count: int) -> None:
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = await SqliteStore.open(state_dir / "reflexion.db")
    due = time.time_ns() + DAY_NS
    draw = random.Random(7)
    for start in range(0, count, CHUNK):
        jobs = [
            NewJob(
                JobId(f"{draw.getrandbits(64):016x}"),
                LessonRequest(f"task {n} " + "t" * 60, "a" * 500, "ERROR: exit status 1", "error"),
                "/bench",
                "bench",
                due,
            )
            for n in range(start, min(start + CHUNK, count))
        ]
        await asyncio.gather(*(store.add(j, capacity=2 * count, drop_oldest=False) for j in jobs))
    await store.close()


def unit_vector(draw: random.Random, dimensions: int) -> tuple[float, ...]:
    """Return a random direction."""
    values = [draw.gauss(0, 1) for _ in range(dimensions)]
    length = sum(value * value for value in values) ** 0.5
    return tuple(value / length for value in values)


def fill_lessons(state_dir: Path, count: int, space: Space, words: list[str]) -> None:
    """Store `count` lessons with random vectors and sentences of common and rare words."""
    asyncio.run(_fill_lessons(state_dir, count, space, words))


async def _fill_lessons(state_dir: Path, count: int, space: Space, words: list[str]) -> None:
    import numpy as np

    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = await SqliteStore.open(state_dir / "reflexion.db")
    await store.open_space(space)
    draw = random.Random(11)
    rng = np.random.default_rng(11)
    # Lessons cluster by subject, as real ones do: random directions alone would make
    # every search look equally easy.
    subjects = rng.normal(size=(200, space.dimensions))
    weights = [1 / (rank + 1) for rank in range(len(words))]
    for start in range(0, count, 2_000):
        size = min(2_000, count - start)
        keys = subjects[rng.integers(0, 200, size)] + 1.2 * rng.normal(
            size=(size, space.dimensions)
        )
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        others = keys + 0.5 * rng.normal(size=keys.shape) / space.dimensions**0.5
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        batch = []
        for n in range(size):
            text = " ".join(draw.choices(words, weights, k=30))
            lesson = Lesson(
                id=LessonId(f"{draw.getrandbits(64):016x}"),
                situation=text[:80],
                mistake=text[80:140],
                correction=text[140:],
                trigger="error",
                tags=("bench",),
                fact=text,
                task=text[:60],
                workspace="/bench",
                source="bench",
                distiller="bench",
                job_id="",
                created_at_ns=start + n,
            )
            vectors = LessonVectors(
                space.id,
                Vector(keys[n].astype("<f4").tobytes()),
                Vector(others[n].astype("<f4").tobytes()),
            )
            batch.append(store.store_lesson(Done(lesson, vectors)))
        await asyncio.gather(*batch)
    await store.close()


def pack(values: tuple[float, ...]) -> Vector:
    """Return a vector as it is stored."""
    return Vector(struct.pack(f"<{len(values)}f", *values))

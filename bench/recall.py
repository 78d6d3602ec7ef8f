"""Recall through the client over many lessons, beside an exact NumPy scan of the same vectors."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from bench import backlog, process
from bench.report import fact, median_ms, p99_ms, row
from reflexiond.memory.embed import open_builtin
from reflexiond.model import Space, Vector
from reflexiond.store.sqlite import SqliteStore

SIZES = [int(size) for size in os.environ.get("BENCH_LESSONS", "10000,100000").split(",")]
BOUND_MS = {10_000: 30.0, 100_000: 120.0}
QUERIES = 40


def vocabulary() -> list[str]:
    """Return words, commonest first, that real English tasks and error messages could hold."""
    draw = random.Random(3)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    return ["".join(draw.choices(letters, k=draw.randint(3, 9))) for _ in range(20_000)]


def queries(words: list[str], count: int) -> list[str]:
    """Return tasks of common and rare words."""
    draw = random.Random(5)
    weights = [1 / (rank + 1) for rank in range(len(words))]
    return [" ".join(draw.choices(words, weights, k=12)) for _ in range(count)]


def measure(size: int) -> bool:
    """Measure one size; return whether its bounds are kept."""
    kept = []
    embedder = open_builtin()
    space = Space(embedder.id, embedder.dimensions)
    words = vocabulary()
    with tempfile.TemporaryDirectory(prefix="reflexion-bench-") as name:
        state_dir = Path(name) / "state"
        start = time.perf_counter()
        backlog.fill_lessons(state_dir, size, space, words)
        fact(f"{size} lessons: filling", time.perf_counter() - start, "s")
        with process.running(state_dir) as daemon, process.client(state_dir) as client:
            for warm in queries(words, 3):
                client.recall(warm)
            whole, stored = [], []
            for task in queries(words, QUERIES):
                start = time.perf_counter()
                client.recall(task, floor=-1)
                whole.append(time.perf_counter() - start)
                # Asked again, the vector is at hand: what is left is storage and ranking.
                start = time.perf_counter()
                client.recall(task, floor=-1)
                stored.append(time.perf_counter() - start)
            fact(f"{size} lessons: memory of the daemon", process.resident_mb(daemon.pid), "MB")
        kept.append(
            row(f"{size} lessons: recall, median", median_ms(whole), "ms", BOUND_MS.get(size, 1e9))
        )
        fact(f"{size} lessons: recall, p99", p99_ms(whole), "ms")
        if size <= 10_000:
            kept.append(
                row(f"{size} lessons: storage and ranking, median", median_ms(stored), "ms", 10)
            )
        else:
            fact(f"{size} lessons: storage and ranking, median", median_ms(stored), "ms")
        kept.append(asyncio.run(beside_numpy(state_dir, size, space)))
    return all(kept)


async def beside_numpy(state_dir: Path, size: int, space: Space) -> bool:
    """Compare the store's search with an exact scan: how long, and how many of the best ten."""
    import numpy as np

    store = await SqliteStore.open(state_dir / "reflexion.db")
    names, tasks, situations = await store.database.read(everything)
    matrices = [
        np.frombuffer(b"".join(blobs), "<f4").reshape(size, -1) for blobs in (tasks, situations)
    ]
    rng = np.random.default_rng(13)
    ours, theirs, hits = [], [], []
    for _ in range(QUERIES):
        # A query near a lesson, as a real one is: random directions have no neighbours.
        base = matrices[0][rng.integers(size)] + 0.7 * rng.normal(size=space.dimensions) / 384**0.5
        query = (base / np.linalg.norm(base)).astype("<f4")
        start = time.perf_counter()
        found = await store.nearest(space, Vector(query.tobytes()), 10)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        scores = np.maximum(matrices[0] @ query, matrices[1] @ query)
        best = np.argpartition(-scores, 10)[:10]
        theirs.append(time.perf_counter() - start)
        hits.append(len({near.lesson.id for near in found} & {names[n] for n in best}) / 10)
    await store.close()
    fact(f"{size} lessons: exact NumPy scan of both keys, median", median_ms(theirs), "ms")
    fact(f"{size} lessons: our vector search / NumPy", median_ms(ours) / median_ms(theirs), "x")
    return row(
        f"{size} lessons: recall@10 of the exact scan", statistics.mean(hits), "", 0.95, least=True
    )


def everything(conn: sqlite3.Connection) -> tuple[list[str], list[bytes], list[bytes]]:
    """Return the ids and both vectors of all lessons."""
    rows = conn.execute(
        "SELECT id, vectors_1.task, vectors_1.situation FROM lessons"
        " JOIN vectors_1 ON vectors_1.lesson = lessons.seq"
    ).fetchall()
    ids, tasks, situations = zip(*rows, strict=True)
    return list(ids), list(tasks), list(situations)


def main() -> bool:
    """Run all sizes; return whether every bound is kept."""
    kept = [measure(size) for size in SIZES]
    return all(kept)


if __name__ == "__main__":
    raise SystemExit(not main())

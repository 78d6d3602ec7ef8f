"""Durable enqueue through the socket, beside a bare write and fdatasync on the same disk."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path

from bench import backlog, process
from bench.report import fact, median_ms, p99_ms, row
from reflexion_client import AsyncClient

ROUNDS = 1_500
PRODUCERS = 64
EACH = 100
IN_FLIGHT = 256
BACKLOG = int(os.environ.get("BENCH_BACKLOG", "1000000"))
# Jobs stay pending: what is measured is the way in, not what workers do meanwhile.
IDLE = (*process.OFF, "--set", "queue.capacity=10000000", "--set", "queue.workers=1")
ATTEMPT = "a" * 500


def bare_writes(folder: Path, rounds: int) -> list[float]:
    """Time `write + fdatasync` of 4 KiB, one after the other, in seconds."""
    block, times = b"x" * 4096, []
    descriptor = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        for _ in range(rounds):
            start = time.perf_counter()
            os.write(descriptor, block)
            os.fdatasync(descriptor)
            times.append(time.perf_counter() - start)
    finally:
        os.close(descriptor)
    return times


def one_producer(state_dir: Path, rounds: int, label: str) -> list[float]:
    """Time each enqueue of one blocking client, in seconds."""
    times = []
    with process.client(state_dir) as client:
        client.ping()
        for n in range(rounds):
            start = time.perf_counter()
            client.enqueue(f"{label} {n}", attempt=ATTEMPT, outcome="ERROR: 1", wait_s=0)
            times.append(time.perf_counter() - start)
    return times


def many_producers(state_dir: Path, label: str) -> float:
    """Return reports a second of 64 blocking clients together."""
    barrier = threading.Barrier(PRODUCERS + 1)

    def produce(name: int) -> None:
        with process.client(state_dir) as client:
            client.ping()
            barrier.wait()
            for n in range(EACH):
                client.enqueue(f"{label} {name} {n}", attempt=ATTEMPT, outcome="E", wait_s=0)

    threads = [threading.Thread(target=produce, args=(name,)) for name in range(PRODUCERS)]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return PRODUCERS * EACH / (time.perf_counter() - start)


async def pipelining(state_dir: Path, label: str) -> float:
    """Return reports a second of one AsyncClient with 256 calls under way."""
    total = PRODUCERS * EACH
    async with AsyncClient(state_dir=state_dir, source="bench", call_timeout_s=60) as client:
        await client.ping()
        numbers = iter(range(total))

        async def lane() -> None:
            for n in numbers:
                await client.enqueue(f"{label} {n}", attempt=ATTEMPT, outcome="E", wait_s=0)

        start = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))
        return total / (time.perf_counter() - start)


def throughput(state_dir: Path) -> list[bool]:
    """Compare many reports under way with one at a time; medians of five rounds of each."""
    single, many, piped = [], [], []
    for part in range(5):
        times = one_producer(state_dir, ROUNDS // 5, f"single {part}")
        single.append(len(times) / sum(times))
        many.append(many_producers(state_dir, f"many {part}") / single[-1])
        piped.append(asyncio.run(pipelining(state_dir, f"piped {part}")) / single[-1])
    fact("one producer: throughput", statistics.median(single), "/s")
    return [
        row("64 producers / one: throughput", statistics.median(many), "x", 4, least=True),
        row(
            "pipelining AsyncClient / one: throughput",
            statistics.median(piped),
            "x",
            6,
            least=True,
        ),
    ]


def main() -> bool:
    """Run all; return whether every bound is kept."""
    kept = []
    with tempfile.TemporaryDirectory(prefix="reflexion-bench-") as name:
        folder = Path(name)
        empty, full = folder / "empty", folder / "full"
        start = time.perf_counter()
        backlog.fill_jobs(full, BACKLOG)
        fact(f"filling {BACKLOG} pending jobs", time.perf_counter() - start, "s")
        os.sync()  # what the filling left to write must not slow the measuring
        # A producer that is served between other rounds sees the same disk at the same time.
        with process.running(empty, *IDLE), process.running(full, *IDLE):
            bare, alone, behind = [], [], []
            for part in range(5):
                bare += bare_writes(folder, ROUNDS // 5)
                alone += one_producer(empty, ROUNDS // 5, f"alone {part}")
                behind += one_producer(full, ROUNDS // 5, f"behind {part}")
            fact("bare write + fdatasync, 4 KiB: median", median_ms(bare), "ms")
            fact("one producer: median", median_ms(alone), "ms")
            fact("one producer: p99", p99_ms(alone), "ms")
            bound = 1.5 * median_ms(bare) + 0.4
            kept.append(
                row("one producer: median, against the bare write", median_ms(alone), "ms", bound)
            )
            ratio = median_ms(behind) / median_ms(alone)
            kept.append(row(f"{BACKLOG} pending / empty: median", ratio, "x", 1.2))
            kept += throughput(empty)
    return all(kept)


if __name__ == "__main__":
    raise SystemExit(not main())

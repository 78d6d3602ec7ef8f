"""Durable enqueue through the socket, beside a bare write and fdatasync on the same disk."""

from __future__ import annotations

import asyncio
import os
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
    """Return reports a second of one AsyncClient with 64 calls under way."""
    total = PRODUCERS * EACH
    async with AsyncClient(state_dir=state_dir, source="bench", call_timeout_s=60) as client:
        await client.ping()
        numbers = iter(range(total))

        async def lane() -> None:
            for n in numbers:
                await client.enqueue(f"{label} {n}", attempt=ATTEMPT, outcome="E", wait_s=0)

        start = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(PRODUCERS)))
        return total / (time.perf_counter() - start)


def main() -> bool:
    """Run all; return whether every bound is kept."""
    kept = []
    with tempfile.TemporaryDirectory(prefix="reflexion-bench-") as name:
        folder = Path(name)
        empty, full = folder / "empty", folder / "full"
        start = time.perf_counter()
        backlog.fill_jobs(full, BACKLOG)
        fact(f"filling {BACKLOG} pending jobs", time.perf_counter() - start, "s")
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
            single = 1 / (sum(alone) / len(alone))
            fact("one producer: throughput", single, "/s")
            many = many_producers(empty, "many")
            kept.append(row("64 producers / one: throughput", many / single, "x", 4, least=True))
            piped = asyncio.run(pipelining(empty, "piped"))
            kept.append(
                row("pipelining AsyncClient / one: throughput", piped / single, "x", 6, least=True)
            )
    return all(kept)


if __name__ == "__main__":
    raise SystemExit(not main())

"""Ready times, memory, idle cost, and what importing and asking cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import backlog, process
from bench.report import fact, median_ms, row

BACKLOG = int(os.environ.get("BENCH_BACKLOG", "1000000"))
SETTLE_S = 3.0
"""A daemon that has just answered its first ping still tidies its queue: that is not idling."""
IDLE_S = 20.0
RUNS = 15


def ready_s(state_dir: Path) -> tuple[float, float]:
    """Return how long a daemon took to answer, in seconds, and its memory then, in MB."""
    start = time.perf_counter()
    daemon = process.spawn(state_dir, "--set", "queue.capacity=10000000")
    try:
        process.wait_until_ready(state_dir, daemon)
        return time.perf_counter() - start, process.resident_mb(daemon.pid)
    finally:
        daemon.terminate()
        daemon.wait(60)


def whole_process(*command: str) -> list[float]:
    """Time a command from start to end, in seconds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return times


def main() -> bool:
    """Run all; return whether every bound is kept."""
    kept = []
    with tempfile.TemporaryDirectory(prefix="reflexion-bench-") as name:
        empty, full = Path(name) / "empty", Path(name) / "full"
        runs = sorted(ready_s(empty) for _ in range(5))
        kept.append(row("ready, empty", runs[2][0], "s", 0.7))
        backlog.fill_jobs(full, BACKLOG)
        times, memory = zip(*sorted(ready_s(full) for _ in range(3)), strict=True)
        kept.append(row(f"ready, {BACKLOG} pending", times[1], "s", 2))
        kept.append(row("resident memory then, embedder not loaded", max(memory), "MB", 120))
        with process.running(empty) as daemon:
            time.sleep(SETTLE_S)
            before = process.cpu_s(daemon.pid), switches(daemon.pid)
            time.sleep(IDLE_S)
            used = process.cpu_s(daemon.pid) - before[0]
            wakes = (switches(daemon.pid) - before[1]) / IDLE_S
            kept.append(row("idle: share of a core", 100 * used / IDLE_S, "%", 0.2))
            kept.append(row("idle: wake-ups a second", wakes, "/s", 1))
            python = sys.executable
            bare = whole_process(python, "-c", "pass")
            loaded = whole_process(python, "-c", "import reflexion_client")
            used_names = whole_process(
                python, "-c", "from reflexion_client import Client, ReflexionHook"
            )
            kept.append(
                row("import reflexion_client, added", median_ms(loaded) - median_ms(bare), "ms", 40)
            )
            fact(
                "import Client and ReflexionHook, added",
                median_ms(used_names) - median_ms(bare),
                "ms",
            )
            ctl = str(Path(python).with_name("reflexionctl"))
            asked = whole_process(ctl, "--state-dir", str(empty), "status", "--json")
            kept.append(
                row("reflexionctl status --json, whole process", median_ms(asked), "ms", 250)
            )
    return all(kept)


def switches(pid: int) -> int:
    """Return how often the threads of a process went to sleep of themselves."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                total += int(line.split()[1])
    return total


if __name__ == "__main__":
    raise SystemExit(not main())

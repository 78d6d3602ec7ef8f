"""Retries a dead job and is killed around it. Usage: JOB_ID DATABASE@POINT...

Each database is worked on by a process of its own. POINT says when that is killed: before
the n-th statement of the retry (`3`), a time after its start (`0.4ms`), or once it was
answered (`answered`). Writes a line for each retry that was answered: its database.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from reflexiond.model import JobId
from reflexiond.store.sqlite import SqliteStore


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def set_trap(conn: Any, point: str) -> None:
    """Arrange for the death. Runs in the thread of the connection that writes."""
    if point.endswith("ms"):
        threading.Timer(float(point.removesuffix("ms")) / 1000, die).start()
    elif point != "answered":
        left = iter(range(int(point), -1, -1))
        conn.set_trace_callback(lambda _: None if next(left) else die())


async def retry(job_id: JobId, path: Path, point: str) -> None:
    store = await SqliteStore.open(path)
    await store.database.write(lambda conn: set_trap(conn, point))
    await store.revive(job_id, 1, 10)
    os.write(1, f"{path}\n".encode())
    die()


def main(job_id: str, tasks: list[str]) -> None:
    for task in tasks:
        path, _, point = task.rpartition("@")
        child = os.fork()
        if child == 0:
            asyncio.run(retry(JobId(job_id), Path(path), point))
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

"""A daemon's queue whose processor kills the process over one job. Usage: DATABASE DEADLY_JOB_ID.

Ends by itself, with 0, once no job is left to process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from parts import composed, learn

from reflexiond.model import Done, Job


async def main(path: Path, deadly: str) -> None:
    async def process(job: Job) -> Done:
        if job.id == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return await learn(job)

    async with composed(path, process) as parts:
        done = 0
        while (await parts.store.counts()).pending:
            # Counted up from what was seen before the question, so that no end is missed.
            await parts.told.wait("done", times=done + 1)
            done = parts.told.count("done")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

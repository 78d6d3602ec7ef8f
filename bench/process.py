"""A real daemon process over a folder of its own, for measuring."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reflexion_client import Client

OFF = ("--set", "embed.model=off")


@contextmanager
def running(state_dir: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a daemon until the block ends; yields once it answers. Its log goes nowhere."""
    process = spawn(state_dir, *arguments)
    try:
        wait_until_ready(state_dir, process)
        yield process
    finally:
        process.terminate()
        process.wait(60)


def spawn(state_dir: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a daemon without waiting for it."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("REFLEXIOND_", "CHATCLI_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "reflexiond", "--state-dir", str(state_dir), *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_until_ready(state_dir: Path, process: subprocess.Popen[bytes]) -> None:
    """Return once the daemon answers a ping."""
    while process.poll() is None:
        try:
            with client(state_dir) as caller:
                if caller.ping()["pid"] == process.pid:
                    return
        except Exception:  # noqa: BLE001 - not yet
            time.sleep(0.002)
    raise SystemExit(f"the daemon exited with {process.returncode}")


def client(state_dir: Path) -> Client:
    """Return a client of that daemon."""
    return Client(state_dir=state_dir, source="bench", workspace="/bench", call_timeout_s=60)


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

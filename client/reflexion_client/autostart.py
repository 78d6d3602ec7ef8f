"""Start a daemon in the background when none answers, once, however many ask."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from .errors import DaemonNotStarted, DaemonUnreachable

START_TIMEOUT_S = 10.0
_RETRY_S = 0.02
_ALREADY_RUNNING = 75
LOG_NAME = "reflexiond.log"


def answers(path: Path) -> bool:
    """Return whether somebody accepts connections at this socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return False
    return True


def daemon_command() -> list[str]:
    """Return the command that runs the daemon.

    Raises:
        DaemonUnreachable: the daemon is not installed here.
    """
    # The interpreter that runs the client comes first: in a virtual environment its
    # daemon is the one of the same version.
    if find_spec("reflexiond") is not None:
        return [sys.executable, "-m", "reflexiond", "serve"]
    found = shutil.which("reflexiond")
    if found is None:
        raise DaemonUnreachable("no daemon runs, and `reflexiond` is not installed here")
    return [found, "serve"]


def start(
    state_dir: Path,
    locate: Callable[[], Path],
    *,
    arguments: list[str] | None = None,
    timeout_s: float = START_TIMEOUT_S,
) -> Path:
    """Make sure that a daemon answers, starting one if need be; return its socket.

    Ten callers at once start one daemon: a lock file elects the starter, and the
    others wait for the same socket. `locate` tells where the socket is expected.

    Raises:
        DaemonUnreachable: it could not be started; the message quotes its log.
    """
    deadline = time.monotonic() + timeout_s
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = (state_dir / "start.lock").open("w")
    except OSError as error:
        why = error.strerror or str(error)
        raise DaemonNotStarted(
            f"no daemon runs, and the state folder {state_dir} cannot be used ({why}): "
            "choose another one (REFLEXIOND_STATE_DIR, --state-dir)"
        ) from error
    with opened as lock:
        # Those who wait for the lock are waiting for the daemon itself.
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise DaemonUnreachable(
                        f"another process has been starting the daemon for {timeout_s:g} s"
                    ) from None
                time.sleep(_RETRY_S)
        if answers(locate()):
            return locate()
        return _spawn(state_dir, locate, arguments or [], deadline)


def _spawn(
    state_dir: Path, locate: Callable[[], Path], arguments: list[str], deadline: float
) -> Path:
    log_path = state_dir / LOG_NAME
    with open(log_path, "ab", opener=_private) as log:
        start_of_log = log.tell()
        child = subprocess.Popen(
            [*daemon_command(), "--state-dir", str(state_dir), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            close_fds=True,
        )
    while time.monotonic() < deadline:
        if answers(locate()):
            # It outlives us on purpose; nothing is left to wait for.
            child.returncode = 0
            return locate()
        # One that is told that another owns the folder leaves; that other is about to answer.
        if child.poll() not in {None, _ALREADY_RUNNING}:
            break
        time.sleep(_RETRY_S)
    if child.poll() is None:
        child.returncode = 0
        raise DaemonNotStarted("the daemon was started and does not answer yet: try again")
    raise DaemonNotStarted(f"the daemon did not start: {_said(log_path, start_of_log)}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _said(log_path: Path, start: int) -> str:
    """Return the last thing the daemon said, for the error message."""
    with log_path.open("rb") as log:
        log.seek(start)
        text = log.read(65_536).decode("utf-8", "replace").strip()
    return text.splitlines()[-1] if text else f"it said nothing (see {log_path})"

"""One daemon a state folder: an exclusive lock on a file that is never deleted."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from reflexiond.errors import AlreadyRunning

LOCK_NAME = "lock"


class StateLock:
    """Holds the state folder until `release`, or until the process ends however it ends.

    Raises:
        AlreadyRunning: another process holds it; the message names its pid.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / LOCK_NAME
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._fd)
            raise AlreadyRunning(
                f"another reflexiond (pid {holder}) owns {state_dir}: "
                "use it, stop it with `reflexionctl stop`, or choose another --state-dir"
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode("ascii"), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def is_in_place(self) -> bool:
        """Return whether the lock's file is still the one in the state folder.

        A folder that was deleted, or deleted and made anew, is not ours any more: what is
        written goes to files that nobody will find.
        """
        ours = os.fstat(self._fd)
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        return (ours.st_dev, ours.st_ino) == (found.st_dev, found.st_ino)

    def release(self) -> None:
        """Let go of the state folder. The file stays: deleting it would let two hold it."""
        os.close(self._fd)

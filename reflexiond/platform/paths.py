"""The state folder: made private, and refused where SQLite would not be safe."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from reflexiond.errors import StateFolderError

from .lock import LOCK_NAME

DATABASE_NAME = "reflexion.db"
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "lustre", "drvfs"}
)
_MOUNTS = Path("/proc/self/mounts")


def prepare_state_dir(folder: Path) -> Path:
    """Make the state folder, mode 0700, and check that it can be used; return it absolute.

    Raises:
        StateFolderError: it cannot be made or written, belongs to another user, or lies
            on a network file system.
    """
    folder = folder.absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except FileExistsError:
        raise StateFolderError(
            f"{folder} is a file, not a folder: choose another --state-dir"
        ) from None
    except OSError as error:
        raise StateFolderError(
            f"the state folder {folder} cannot be made ({error.strerror}): "
            "choose another --state-dir"
        ) from error
    if found.st_uid != os.getuid():
        raise StateFolderError(
            f"{folder} belongs to another user (uid {found.st_uid}): choose another --state-dir"
        )
    kind = file_system(folder, mounts())
    if kind in NETWORK_FILE_SYSTEMS:
        raise StateFolderError(
            f"{folder} is on a network file system ({kind}), where SQLite loses data: "
            "choose a --state-dir on a local disk"
        )
    try:
        # A folder that holds other things (ChatCLI's, a home) keeps its mode: our own
        # files in it are private one by one.
        ours = (folder / LOCK_NAME).exists() or not any(folder.iterdir())
        if ours and stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(0o700)
        probe = folder / f".probe.{os.getpid()}"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        why = "the file system is read-only" if error.errno == errno.EROFS else error.strerror
        raise StateFolderError(
            f"{folder} cannot be written ({why}): make it writable, or choose another --state-dir"
        ) from error
    return folder


def mounts() -> str:
    """Return the system's table of mounts; empty where there is none to read."""
    try:
        return _MOUNTS.read_text("utf-8", "replace")
    except OSError:
        return ""


def file_system(folder: Path, table: str) -> str:
    """Return the type of the file system that holds `folder`, by a table of mounts."""
    best, kind = "", ""
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:  # noqa: PLR2004 - device, mount point, type
            continue
        point = fields[1].replace("\\040", " ")
        if folder.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind

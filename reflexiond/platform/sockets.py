"""Bind the socket without ever taking it from a living daemon, and tell clients where it is."""

from __future__ import annotations

import json
import os
import resource
import socket
import stat
from pathlib import Path

from reflexion_client.paths import check_socket_path, discovery_file
from reflexiond.errors import AlreadyRunning, StateFolderError

BACKLOG = 512
FILES = 65_536


def bind(path: Path) -> socket.socket:
    """Return a listening socket at `path`, in a folder that only this user can enter.

    It is bound under a temporary name and then linked into place, so that nobody ever
    sees a socket that does not answer, and a living one is never replaced.

    Raises:
        ConfigError: the path is too long for the system.
        AlreadyRunning: another daemon answers at this path.
        StateFolderError: the folder cannot be used, or something else is in the way.
    """
    check_socket_path(path)
    _private_folder(path.parent)
    temporary = path.with_name(f".{os.getpid() % 100_000}")
    check_socket_path(temporary)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        temporary.unlink(missing_ok=True)
        listener.bind(os.fspath(temporary))
        temporary.chmod(0o600)
        listener.listen(BACKLOG)
        _link(temporary, path)
    except OSError as error:
        listener.close()
        raise StateFolderError(f"cannot listen at {path}: {error.strerror}") from error
    except BaseException:
        listener.close()
        raise
    finally:
        temporary.unlink(missing_ok=True)
    return listener


def _private_folder(folder: Path) -> None:
    """Make the folder if need be. One that exists keeps its mode; the peer check guards it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise StateFolderError(
            f"the socket's folder {folder} cannot be made: {error.strerror}"
        ) from error
    # In a folder of another user somebody else could replace our socket by theirs. A
    # shared one with the sticky bit (/tmp) does not allow that.
    if found.st_uid != os.getuid() and not found.st_mode & stat.S_ISVTX:
        raise StateFolderError(f"{folder} belongs to another user: choose another socket")


def _link(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        if not _is_stale(path):
            raise AlreadyRunning(
                f"another daemon answers at {path}: stop it, or choose another socket"
            ) from None
        path.unlink()
        os.link(temporary, path)


def _is_stale(path: Path) -> bool:
    """Return whether nobody listens any more. Only a refused connection proves it."""
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise StateFolderError(f"{path} is in the way and is no socket: move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False


def announce(state_dir: Path, path: Path, boot_id: str, version: str) -> None:
    """Write the discovery record that clients read first."""
    record = {"socket": str(path), "pid": os.getpid(), "boot_id": boot_id, "version": version}
    target = discovery_file(state_dir)
    temporary = target.with_name(f"{target.name}.tmp.{os.getpid()}")
    temporary.write_text(json.dumps(record) + "\n", "utf-8")
    temporary.chmod(0o600)
    temporary.replace(target)


def withdraw(state_dir: Path, path: Path) -> None:
    """Remove what `bind` and `announce` made. Only the owner of the state lock may call it."""
    discovery_file(state_dir).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def raise_file_limit() -> None:
    """Allow as many open files as the system lets us: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

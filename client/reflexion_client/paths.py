"""Where the daemon and its clients meet: the socket, and the record that names it.

Clients read the discovery record in the state folder first, so that a login, an
ssh session and a cron job find the same daemon though their XDG_RUNTIME_DIR differ.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from .errors import ConfigError

DISCOVERY_NAME = "daemon.json"
SOCKET_NAME = "reflexiond.sock"
SOCKET_PATH_LIMIT = 103 if sys.platform == "darwin" else 107
"""The longest path in bytes that the system takes for a Unix socket."""


def discovery_file(state_dir: Path) -> Path:
    """Return the record that names the running daemon's socket."""
    return state_dir / DISCOVERY_NAME


def default_socket(state_dir: Path, default_state_dir: Path, env: Mapping[str, str]) -> Path:
    """Return where a daemon with this state folder listens when no socket is configured.

    The usual daemon listens below XDG_RUNTIME_DIR; one with a state folder of its own
    listens there, so that two daemons never compete for a socket. A path over the
    system's limit is replaced by a short one made from its hash.
    """
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if state_dir == default_state_dir and runtime.startswith("/"):
        path = Path(runtime) / "reflexiond" / SOCKET_NAME
    else:
        path = state_dir / "run" / SOCKET_NAME
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path

    import hashlib  # noqa: PLC0415 - both for deep folders only
    import tempfile  # noqa: PLC0415

    digest = hashlib.sha256(os.fsencode(state_dir)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"reflexiond-{os.getuid()}"
    return folder / f"{digest}.sock"


def check_socket_path(path: Path) -> None:
    """Refuse a socket path that the system cannot bind.

    Raises:
        ConfigError: the path is longer than the system's limit.
    """
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_LIMIT:
        raise ConfigError(
            f"socket path {path} is {length} bytes long, the system takes at most "
            f"{SOCKET_PATH_LIMIT}: choose a shorter one (setting `socket`)"
        )


def discovered_socket(state_dir: Path) -> Path | None:
    """Return the socket that the newest daemon of this state folder announced, if any.

    A missing or unreadable record means that no daemon announced itself; the caller
    then tries the default place.
    """
    try:
        record = json.loads(discovery_file(state_dir).read_bytes())
        return Path(record["socket"])
    except (OSError, ValueError, KeyError, TypeError):
        return None

"""Where a client finds its daemon."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import config
from .paths import check_socket_path, default_socket, discovered_socket
from .workspace import find_workspace


@dataclass(frozen=True, slots=True)
class Address:
    """Where to look for the daemon: an explicit socket, or a state folder that names one."""

    state_dir: Path
    default_state_dir: Path
    explicit: Path | None
    env: Mapping[str, str]

    def arguments(self) -> list[str]:
        """Return what a daemon must be told to be found here."""
        return [] if self.explicit is None else ["--socket", str(self.explicit)]

    def socket(self) -> Path:
        """Return the socket to try now; the daemon may have moved since the last call."""
        if self.explicit is not None:
            return self.explicit
        found = discovered_socket(self.state_dir)
        return found or default_socket(self.state_dir, self.default_state_dir, self.env)


def find_address(
    socket: str | os.PathLike[str] | None, state_dir: str | os.PathLike[str] | None
) -> tuple[Address, bool]:
    """Return where the daemon is, and whether a missing one should be started."""
    overrides = {}
    if socket is not None:
        overrides["socket"] = os.fspath(socket)
    if state_dir is not None:
        overrides["state_dir"] = os.fspath(state_dir)
    found = config.client_settings(overrides=overrides, env=os.environ)
    explicit = Path(found.socket) if found.socket else None
    if explicit is not None:
        check_socket_path(explicit)
    address = Address(
        state_dir=found.state_dir,
        default_state_dir=config.default_state_dir(os.environ),
        explicit=explicit,
        env=os.environ,
    )
    return address, found.autostart


def workspace_of(workspace: str | os.PathLike[str] | None) -> str:
    """Return the workspace to report as: the given one, else the project of this folder.

    A folder that was deleted under us belongs to no project: "".
    """
    if workspace is not None:
        return os.fspath(workspace)
    try:
        return str(find_workspace(Path.cwd()))
    except FileNotFoundError:
        return ""

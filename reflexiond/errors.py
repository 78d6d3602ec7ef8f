"""Errors of the daemon itself. Those that a peer can meet stand in reflexion_client.errors.

ReflexionError (reflexion_client)
├── StartupError           the daemon cannot run; carries the exit code
│   ├── AlreadyRunning     another daemon owns the state folder             75
│   ├── StateFolderError   the state folder cannot be used                  73
│   ├── DatabaseError      the database is damaged, newer, or not ours      74
│   └── SqliteUnsuitable   no SQLite here that is safe to use               69
└── StoreFailed            a write or sync failed while running: nothing was acknowledged

Exit codes follow sysexits.h; a bad setting exits with 78. docs/configuration.md lists them.
"""

from __future__ import annotations

from typing import ClassVar

from reflexion_client.errors import ReflexionError

EXIT_CONFIG = 78


class StartupError(ReflexionError):
    """The daemon cannot start, or cannot go on; `exit_code` tells a supervisor which way."""

    exit_code: ClassVar[int] = 70


class AlreadyRunning(StartupError):  # noqa: N818 - named for what happened
    """Another daemon owns the state folder."""

    exit_code = 75


class StateFolderError(StartupError):
    """The state folder is missing, foreign, read-only, or on a network file system."""

    exit_code = 73


class DatabaseError(StartupError):
    """The database is damaged, newer than this program, or something else entirely."""

    exit_code = 74


class SqliteUnsuitable(StartupError):  # noqa: N818
    """No SQLite library here is recent enough and loads extensions."""

    exit_code = 69


class StoreFailed(ReflexionError):  # noqa: N818
    """A write or sync failed. Nothing that waited for it was acknowledged.

    `full` tells a full disk, which passes, from a fault, which may not.
    """

    code = "store_unavailable"

    def __init__(self, message: str, *, full: bool) -> None:
        super().__init__(message)
        self.full = full

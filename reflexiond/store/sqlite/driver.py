"""Which SQLite library this process uses, and how a connection is set up. Exactly one of each."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from reflexiond.errors import SqliteUnsuitable

MINIMUM = (3, 51, 3)
"""Older libraries may corrupt a database when its write-ahead log is reset."""

# Connections are typed as Any: the two drivers share an interface but no base class.
Connection = Any
Row = tuple[Any, ...]

_PAGE_CACHE_KIB = 8 * 1024
_BUSY_TIMEOUT_MS = 5_000


def _suitable(name: str) -> ModuleType | None:
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    loads_extensions = hasattr(module.Connection, "enable_load_extension")
    return module if loads_extensions and module.sqlite_version_info >= MINIMUM else None


def load() -> ModuleType:
    """Return the SQLite driver module to use.

    Raises:
        SqliteUnsuitable: neither library is recent enough and loads extensions.
    """
    for name in ("pysqlite3.dbapi2", "sqlite3"):
        module = _suitable(name)
        if module is not None:
            return module
    wanted = ".".join(map(str, MINIMUM))
    raise SqliteUnsuitable(
        f"no SQLite of at least {wanted} that loads extensions: "
        "run `pip install 'pysqlite3>=0.6.1'`"
    )


def open_writer(driver: ModuleType, path: Path | None) -> Connection:
    """Open the one connection that writes. `path` None means a database in memory."""
    conn = _open(driver, str(path) if path else ":memory:")
    if path is not None:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = FULL")
        # After a burst the log file shrinks to this at the next reset.
        conn.execute("PRAGMA journal_size_limit = 16777216")
    conn.execute("PRAGMA secure_delete = ON")
    return conn


def open_untouched(driver: ModuleType, path: Path) -> Connection:
    """Open a database that may be damaged. Nothing of it changes, not even at the close."""
    conn = driver.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    # Virtual tables in the schema need their module; the check reads through it.
    _load_vectors(conn)
    return conn


def open_reader(driver: ModuleType, path: Path) -> Connection:
    """Open a connection that can neither write nor checkpoint."""
    conn = _open(driver, str(path))
    conn.execute("PRAGMA wal_autocheckpoint = 0")
    conn.execute("PRAGMA query_only = ON")
    return conn


def _load_vectors(conn: Connection) -> None:
    conn.enable_load_extension(True)
    conn.load_extension(_vectors_file())
    conn.enable_load_extension(False)


@cache
def _vectors_file() -> str:
    """Return the extension that the package sqlite-vec carries.

    Its Python side is not imported: it brings in NumPy, a tenth of a second at each start.
    """
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise SqliteUnsuitable("the vector search is missing: run `pip install sqlite-vec`")
    return str(Path(spec.origin).with_name("vec0"))


def _open(driver: ModuleType, name: str) -> Connection:
    conn = driver.connect(name, isolation_level=None, timeout=_BUSY_TIMEOUT_MS / 1000)
    try:
        _load_vectors(conn)
        conn.execute(f"PRAGMA cache_size = -{_PAGE_CACHE_KIB}")
        conn.execute("PRAGMA temp_store = MEMORY")
        conn.execute("PRAGMA mmap_size = 0")
    except BaseException:
        conn.close()
        raise
    return conn

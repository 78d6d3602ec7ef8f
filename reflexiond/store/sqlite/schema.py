"""The database's identity, its version, and how it gets to the newest one."""

from __future__ import annotations

import re
import time
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from reflexiond.errors import DatabaseError

from .driver import Connection

APPLICATION_ID = 0x52464C58
CHECK_BUDGET_MS = 400
"""How long the integrity check at boot may take before it is cut short."""
_STEPS_BETWEEN_LOOKS = 20_000


def migrations() -> list[tuple[int, str]]:
    """Return the numbered migrations, oldest first."""
    found = []
    for entry in files(__package__).joinpath("migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_\w+\.sql", entry.name)
        if match:
            found.append((int(match[1]), entry.read_text("utf-8")))
    return sorted(found)


def version(conn: Connection) -> int:
    """Return the schema version of an open database."""
    number: int = conn.execute("PRAGMA user_version").fetchone()[0]
    return number


def recognise(conn: Connection, path: Path | None, newest: int | None = None) -> None:
    """Refuse a database that is not ours to use. Reads only.

    Raises:
        DatabaseError: it belongs to another program, or to a newer one of ours.
    """
    newest = migrations()[-1][0] if newest is None else newest
    owner = conn.execute("PRAGMA application_id").fetchone()[0]
    tables = conn.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and owner != APPLICATION_ID:
        raise DatabaseError(f"{path} is a database of another program: choose another state folder")
    have = version(conn)
    if have > newest:
        raise DatabaseError(
            f"{path} has schema {have}, this program knows {newest}: "
            "it was written by a newer reflexiond; upgrade this one, nothing was changed"
        )


def migrate(
    driver: ModuleType,
    conn: Connection,
    path: Path | None,
    steps: list[tuple[int, str]] | None = None,
) -> None:
    """Bring an open database to the newest schema, in one transaction.

    An existing database is copied beside itself first.

    Raises:
        DatabaseError: it belongs to another program, or to a newer one of ours.
    """
    steps = migrations() if steps is None else steps
    newest = steps[-1][0]
    recognise(conn, path, newest)
    have = version(conn)
    if have == newest:
        return
    if path is not None and have:
        _back_up(driver, conn, path.with_name(f"{path.name}.schema-{have}"))
    conn.execute("BEGIN IMMEDIATE")
    try:
        for number, sql in steps:
            if number > have:
                for statement in statements(driver, sql):
                    conn.execute(statement)
        conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        conn.execute(f"PRAGMA user_version = {newest}")
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def statements(driver: ModuleType, sql: str) -> list[str]:
    """Split a script; a trigger's body holds semicolons of its own."""
    found, pending = [], ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if driver.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found


def _back_up(driver: ModuleType, conn: Connection, target: Path) -> None:
    copy = driver.connect(str(target))
    try:
        conn.backup(copy)
    finally:
        copy.close()
    target.chmod(0o600)


def check(conn: Connection, path: Path) -> str:
    """Look for damage, for at most `CHECK_BUDGET_MS`.

    Returns:
        "ok", or "partial" when the time ran out before the end.

    Raises:
        DatabaseError: the database is damaged; the message quotes the first finding.
    """
    deadline = time.monotonic() + CHECK_BUDGET_MS / 1000

    def late() -> int:
        return int(time.monotonic() > deadline)

    conn.set_progress_handler(late, _STEPS_BETWEEN_LOOKS)
    try:
        finding = conn.execute("PRAGMA quick_check(1)").fetchone()[0]
    except Exception as error:
        if "interrupted" in str(error):
            return "partial"
        raise
    finally:
        conn.set_progress_handler(None, 0)
    if finding != "ok":
        raise DatabaseError(
            f"{path} is damaged ({finding}); it was left as it is: "
            "move it away to start afresh, or restore a copy"
        )
    return "ok"

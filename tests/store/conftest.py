"""Every engine that the conformance suite runs against. A second engine is a second line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reflexiond.store.port import Store
from reflexiond.store.sqlite import SqliteStore


async def sqlite_on_disk(folder: Path) -> Store:
    return await SqliteStore.open(folder / "reflexion.db")


async def sqlite_in_memory(folder: Path) -> Store:
    return await SqliteStore.open(None)


async def sqlite_volatile_queue(folder: Path) -> Store:
    return await SqliteStore.open(folder / "reflexion.db", volatile_queue=True)


ENGINES = [sqlite_on_disk, sqlite_in_memory, sqlite_volatile_queue]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.__name__)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Return an empty store of each engine."""
    opened = await request.param(tmp_path)
    yield opened
    await opened.close()

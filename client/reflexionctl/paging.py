"""Lists that come in pages."""

from __future__ import annotations

from typing import Any, Protocol

PAGE = 200
"""The most rows asked for at a time."""


class Fetch(Protocol):
    """A verb of the client that answers with one page."""

    def __call__(self, *, limit: int, after: int | None) -> dict[str, Any]:
        """Return `{<key>: rows, next: cursor or None, total: count}`."""


def pages(fetch: Fetch, key: str, limit: int, after: int | None = None) -> dict[str, Any]:
    """Fetch up to `limit` rows, however many pages that takes.

    Returns:
        The rows under `key`; under `next` where to go on, None at the end; under
        `total` how many there are.
    """
    rows: list[Any] = []
    while True:
        page = fetch(limit=min(limit - len(rows), PAGE), after=after)
        rows += page[key]
        after = page["next"]
        if after is None or not page[key] or len(rows) >= limit:
            return {key: rows, "next": after, "total": page["total"]}

"""Parameters of a call, read by name and type. What does not fit is said by name."""

from __future__ import annotations

import math
from typing import Any

from reflexion_client.errors import BadParams

MAX_PAGE = 1_000


class Params:
    """One call's map of parameters. Unknown names are ignored: a newer client may send them.

    Raises (every reader): BadParams, naming the parameter and what it must be.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        if "" in given:
            raise BadParams("params must hold one map of names, not a list of values")
        self._given = given

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; bytes are taken as UTF-8. Required when there is no default."""
        value = self._given.get(name, default)
        if isinstance(value, str):
            return value
        if value is None:
            raise BadParams(f"`{name}` is missing: it must be a string")
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        raise BadParams(f"`{name}` must be a string, not {type(value).__name__}")

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a boolean."""
        value = self._given.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise BadParams(f"`{name}` must be true or false")
        return value

    def number(self, name: str, *, low: float, high: float) -> float | None:
        """Return a number within bounds; None when it is not given."""
        value = self._given.get(name)
        if value is None:
            return None
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not math.isfinite(value) or not low <= value <= high:
            raise BadParams(f"`{name}` must be a number from {low:g} to {high:g}, not {value!r}")
        return float(value)

    def integer(self, name: str, *, low: int, high: int) -> int | None:
        """Return a whole number within bounds; None when it is not given."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise BadParams(f"`{name}` must be a whole number from {low} to {high}, not {value!r}")
        return value

"""Instant, model-free reflection: is it a failure, which kind, what to try next.

Everything here is a pure function of the text it is given. `rules` holds what the
functions know about tools, as data. Names are loaded at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .heuristic import HeuristicReflector as HeuristicReflector
    from .heuristic import Reflector as Reflector
    from .judge import classify as classify
    from .judge import is_failure_output as is_failure_output
    from .model import Failure as Failure
    from .model import FailureMode as FailureMode
    from .model import Reflection as Reflection
    from .note import format_system_note as format_system_note

_HOMES = {
    "Failure": "model",
    "FailureMode": "model",
    "HeuristicReflector": "heuristic",
    "Reflection": "model",
    "Reflector": "heuristic",
    "classify": "judge",
    "format_system_note": "note",
    "is_failure_output": "judge",
}

__all__ = [*_HOMES]  # noqa: PLE0604 - the table is the list


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value

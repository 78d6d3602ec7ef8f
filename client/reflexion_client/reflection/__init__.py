"""Instant, model-free reflection: is it a failure, which kind, what to try next.

Everything here is a pure function of the text it is given. `rules` holds what the
functions know about tools, as data.
"""

from .heuristic import HeuristicReflector, Reflector
from .judge import classify, is_failure_output
from .model import Failure, FailureMode, Reflection
from .note import format_system_note

__all__ = [
    "Failure",
    "FailureMode",
    "HeuristicReflector",
    "Reflection",
    "Reflector",
    "classify",
    "format_system_note",
    "is_failure_output",
]

"""The nouns of reflection: a failure, its mode, and what we make of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailureMode(StrEnum):
    """The cause that an agent has to act on."""

    BUILD_ERROR = "build_error"
    TEST_FAILURE = "test_failure"
    LINT_ERROR = "lint_error"
    PERMISSION_DENIED = "permission_denied"
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"
    SYNTAX_ERROR = "syntax_error"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class Failure:
    """What a tool call left behind. `error` is what the caller says, not the tool."""

    tool_name: str = ""
    input: str = ""
    output: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Reflection:
    """The diagnosis of one failure.

    `root_cause` is an excerpt of at most 200 bytes of UTF-8 of the line that decides,
    `hypothesis` says what to do next, `confidence` lies between 0 and 1.
    """

    mode: FailureMode
    root_cause: str
    hypothesis: str
    confidence: float

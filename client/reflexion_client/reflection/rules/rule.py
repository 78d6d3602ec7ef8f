"""A rule: one thing a tool says, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reflexion_client.reflection.model import FailureMode

BUILD = FailureMode.BUILD_ERROR
TEST = FailureMode.TEST_FAILURE
LINT = FailureMode.LINT_ERROR
DENIED = FailureMode.PERMISSION_DENIED
MISSING = FailureMode.NOT_FOUND
TIMEOUT = FailureMode.TIMEOUT
SYNTAX = FailureMode.SYNTAX_ERROR
GENERIC = FailureMode.GENERIC


class Proof(StrEnum):
    """How much a match proves."""

    VERDICT = "verdict"  # the tool's own final word: nothing that follows heals it
    REPORT = "report"  # a complaint: a later summary without failures heals it
    PHRASE = "phrase"  # names the kind once a failure is known, proves nothing alone


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing a tool says, and what it means.

    `pattern` is searched in one line at a time, `beside` must match any line of the
    output. `hint` is the next step in words; `{what}` in it stands for the first named
    group that matched.
    """

    name: str
    mode: FailureMode
    pattern: str
    proof: Proof = Proof.REPORT
    beside: str = ""
    hint: str = ""
    bare: bool = False  # says that it failed, never why
    last: bool = False  # of several matching lines the last one is the cause


VERDICT = Proof.VERDICT
PHRASE = Proof.PHRASE

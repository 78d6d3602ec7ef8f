"""The reflector that needs no model: rules find the cause, the mode says what to try."""

from __future__ import annotations

import re
from typing import Protocol

from .cause import last_words, root_cause
from .judge import Finding, compiled, diagnose
from .model import Failure, FailureMode, Reflection
from .rules import Proof
from .transcript import clean, excerpt, lines_of

_CONFIDENCE = {Proof.VERDICT: 0.9, Proof.REPORT: 0.75, Proof.PHRASE: 0.5}
_UNSURE = 0.2  # nothing in the text tells what happened
_VAGUE = 0.3  # it failed, and nothing tells why

_PLACE = re.compile(r"(?P<place>[\w./\\-]+\.\w+(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)|:\[\d+,\d+\]))")
# An apostrophe inside a word ("can't") opens no quotation.
_QUOTED = re.compile(r"(?<![A-Za-z])['\"`‘“«»](?P<what>[^'\"`‘’“”«»\n]{1,80})['\"`’”«»]")  # noqa: RUF001
_PATH = re.compile(r"(?<![\w:/.])(?P<what>(?:[\w.~-]{0,60}/)[^\s:'\"]{0,100}[^\s:'\".,])")
_TEST = re.compile(r"(?P<test>(?!\d+ )[^\s:].{0,100}?): \S")
_FRAME = re.compile(r'(?:E )?\s+File "(?P<file>[^"]+)", line (?P<line>\d+)')
_LIBRARIES = ("site-packages", "dist-packages", "/lib/python", "<frozen", "<string>")

# With a place or name taken from the deciding line, and without one.
_ADVICE = {
    FailureMode.BUILD_ERROR: (
        "Open {what}, fix this first error there and build again; later ones often follow from it.",
        "Fix the first error that the build reports, then build again; later ones often follow.",
    ),
    FailureMode.TEST_FAILURE: (
        (
            "Run {what} alone, compare what it expects with what the code returned, and fix the"
            " code under test; change the test only if its expectation is wrong."
        ),
        (
            "Run the first failing test alone, compare expected with actual, and fix the code under"
            " test; change the test only if its expectation is wrong."
        ),
    ),
    FailureMode.LINT_ERROR: (
        "Correct {what} as the rule asks, or let the tool's fix option do it, then check again.",
        "Let the tool's fix or format option run first, correct by hand what it leaves.",
    ),
    FailureMode.PERMISSION_DENIED: (
        (
            "Check who owns {what} and what the current user may do; work inside a writable folder"
            " or ask for the right instead of trying again."
        ),
        (
            "Check which account or token is in use and what it may do; ask for the right or take a"
            " way that does not need it, instead of trying again."
        ),
    ),
    FailureMode.NOT_FOUND: (
        (
            "List what is really there from this working directory, then correct the name {what},"
            " or create or install what is missing."
        ),
        "List what is really there, then correct the name, or create or install what is missing.",
    ),
    FailureMode.TIMEOUT: (
        (
            "Find out whether {what} hangs or is only slow: do less at once, run it in the"
            " background, or raise the limit."
        ),
        (
            "Find out whether it hangs or is only slow: do less at once, run it in the"
            " background, or raise the limit."
        ),
    ),
    FailureMode.SYNTAX_ERROR: (
        (
            "Read {what} and the line before it, repair the quote, bracket, indentation or keyword,"
            " and have it parsed before running it again."
        ),
        (
            "Look at the last edit or the command itself for an open quote, bracket or keyword, and"
            " have it parsed before running it again."
        ),
    ),
    FailureMode.GENERIC: (
        "Start at {what}, find how it comes to this, and change something before running it again.",
        (
            "Act on this message first, and change something before running it again; the same call"
            " fails the same way."
        ),
    ),
}
_SILENT = "Nothing in the output says why: run it again with verbose output and both streams kept."


class Reflector(Protocol):
    """Whatever can make sense of a failure: rules here, a model elsewhere."""

    def reflect(self, failure: Failure) -> Reflection:
        """Diagnose one failure. Never raises on account of its text."""
        ...


class HeuristicReflector:
    """Diagnoses with the rules of this package, in milliseconds and without I/O."""

    def reflect(self, failure: Failure) -> Reflection:
        """Diagnose one failure from its output and error text."""
        finding, lines = diagnose(failure)
        if finding is None or finding.bare:
            words = last_words(
                _telling(failure.output), _telling(failure.error), lines_of(clean(failure.error))
            )
            confidence = _VAGUE if finding else _UNSURE
            cause = words or (excerpt(finding.line) if finding else "")
            return Reflection(FailureMode.GENERIC, cause, _SILENT, confidence)
        cause = root_cause(finding, lines)
        return Reflection(
            finding.mode, cause, _hypothesis(finding, cause, lines), _CONFIDENCE[finding.proof]
        )


def _telling(text: str) -> list[str]:
    """The lines that say more than an exit code."""
    marker = compiled(
        r"(?i)^\W*(?:\w+ ){0,3}(?:exit(?:ed)?[ _]|exit$|status \d)|^\w*make(?:\[\d+\])?: "
    )
    return [line for line in lines_of(clean(text)) if not marker.search(line)]


def _hypothesis(finding: Finding, cause: str, lines: list[str]) -> str:
    """What to do next, naming what the deciding line names."""
    rule = finding.rule
    if rule and rule.hint:
        match = compiled(rule.pattern).search(finding.line)
        names = [name for name in match.groupdict().values() if name] if match else []
        if "{what}" not in rule.hint:
            return _sentence(rule.hint)
        if names:
            return _sentence(rule.hint.replace("{what}", excerpt(names[0])[:80]))
    named, unnamed = _ADVICE[finding.mode]
    what = _subject(finding.mode, cause) or _own_frame(finding, lines)
    return named.replace("{what}", what) if what else unnamed


def _subject(mode: FailureMode, cause: str) -> str:
    """The test, place, file or quoted name that the deciding line is about."""
    match mode:
        case FailureMode.TEST_FAILURE:
            test = _TEST.match(cause)
            return f"`{test['test']}`" if test else ""
        case FailureMode.NOT_FOUND | FailureMode.PERMISSION_DENIED:
            patterns: tuple[re.Pattern[str], ...] = (_QUOTED, _PATH, _PLACE)
        case FailureMode.LINT_ERROR:
            patterns = (_PLACE, _PATH)
        case FailureMode.TIMEOUT:
            patterns = ()
        case _:
            patterns = (_PLACE,)
    found = next((m for pattern in patterns if (m := pattern.search(cause))), None)
    return f"`{found[1]}`" if found else ""


def _own_frame(finding: Finding, lines: list[str]) -> str:
    """The innermost frame of a Python traceback that is no installed library."""
    if finding.mode not in (FailureMode.GENERIC, FailureMode.SYNTAX_ERROR):
        return ""
    for line in reversed(lines[: max(finding.index, 0)]):
        frame = _FRAME.match(line)
        if frame and not any(part in frame["file"] for part in _LIBRARIES):
            return f"`{frame['file'][-80:]}:{frame['line']}`"
    return ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."

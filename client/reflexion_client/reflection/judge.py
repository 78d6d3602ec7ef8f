"""Whether an output is a failure, of which mode, and which line says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .model import Failure, FailureMode
from .payload import read_payload
from .rules import EVIDENCE, HANDLED, HEALED, LOOSE_PHRASES, PHRASES, Proof, Rule
from .transcript import clean, lines_of

# Tools whose output is somebody else's text: only their own first line can be a complaint.
_READERS = frozenset(
    [
        "read",
        "view",
        "open",
        "cat",
        "grep",
        "rg",
        "search",
        "find",
        "glob",
        "ls",
        "list",
        "dir",
        "tree",
        "fetch",
        "web",
        "browse",
    ]
)
_EDITORS = frozenset(["edit", "write", "patch", "replace", "create", "insert", "update", "apply"])
_EDIT_DONE = re.compile(
    r"(?i)\b(?:updated|replaced|created|written|wrote|applied|succe(?:ss|eded)\w*|edited)\b"
)
_NUMBERED = re.compile(r"^\s*\d+(?:\t|→|\| )")
_PLACED = re.compile(r"^[^\s:]+[:-]\d+[:-]")
_FENCE = re.compile(r"^(?:```|~~~)")
_HEADING = re.compile(r"^#{1,6} \S")
_SUBHEADING = re.compile(r"^#{2,6} \S")
_REPORT_LINES = 12  # a reader's complaint is short


@dataclass(frozen=True, slots=True)
class Finding:
    """The rule that decided and the line it decided on. `index` is -1 outside of `lines`."""

    mode: FailureMode
    proof: Proof
    line: str
    index: int = -1
    rule: Rule | None = None

    @property
    def bare(self) -> bool:
        """Whether it tells that the call failed and nothing of why."""
        return self.rule is not None and self.rule.bare


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Patterns are compiled at first use: importing them costs nothing."""
    return re.compile(pattern, flags)


def is_failure_output(tool_name: str, output: str) -> bool:
    """Whether an agent that sees this output should treat the call as failed."""
    text = clean(output)
    return find_evidence(tool_name, text, lines_of(text)) is not None


def classify(failure: Failure) -> FailureMode:
    """The mode of something already known to have failed; `generic` when nothing tells."""
    finding = diagnose(failure)[0]
    return finding.mode if finding else FailureMode.GENERIC


def diagnose(failure: Failure) -> tuple[Finding | None, list[str]]:
    """The best explanation that output and error hold, with the lines it comes from.

    Evidence in the output comes first, then evidence in the error. What says no more
    than "it failed" gives way to a phrase that names a kind.
    """
    texts = [clean(text) for text in (failure.output, failure.error)]
    sources = [(text, lines_of(text)) for text in texts if text.strip()]
    found: list[tuple[Finding, list[str]]] = []
    for text, lines in sources:
        if finding := find_evidence(failure.tool_name, text, lines):
            found.append((finding, lines))
    for finding, lines in found:
        if finding.mode is not FailureMode.GENERIC:
            return finding, lines
    telling = [(finding, lines) for finding, lines in found if not finding.bare]
    if telling:
        return telling[0]
    for text, lines in sources:
        if not is_reading(failure.tool_name, text) and (phrase := find_phrase(lines)):
            return phrase, lines
    return found[0] if found else (None, [])


def is_reading(tool_name: str, text: str) -> bool:
    """Whether the text is content that was looked up rather than a program's report."""
    words = _words(tool_name)
    first = next((line for line in text.split("\n", 40) if line.strip()), "")
    if words & _EDITORS:
        return bool(_EDIT_DONE.search(first)) or bool(_NUMBERED.match(first))
    return bool(words & _READERS) and text.count("\n") >= _REPORT_LINES


def find_evidence(tool_name: str, text: str, lines: list[str]) -> Finding | None:
    """What proves that the output is a failure, or None for a healthy one."""
    if (payload := read_payload(text)) is not None:
        if not payload.failed:
            return None
        mode = payload.mode or _mode_of_line(payload.message)
        return Finding(mode, Proof.VERDICT, payload.message)
    if is_reading(tool_name, text):
        return None
    if _words(tool_name) & _READERS:
        lines = _opening(lines)
    elif last := _last_mark(lines):
        finding = _first_evidence(lines[last:])
        return finding if finding and finding.proof is Proof.VERDICT else None
    return _first_evidence(lines) or _only_words(lines)


def find_phrase(
    lines: list[str], phrases: tuple[Rule, ...] = PHRASES + LOOSE_PHRASES
) -> Finding | None:
    """The first phrase that names a kind of trouble, in the order of `phrases`."""
    for rule in phrases:
        pattern = compiled(rule.pattern, re.IGNORECASE)
        for index, line in enumerate(lines):
            if pattern.search(line):
                return Finding(rule.mode, rule.proof, line, index, rule)
    return None


def _only_words(lines: list[str]) -> Finding | None:
    """An output that is one line and starts with a phrase says nothing but that."""
    told = [(index, line) for index, line in enumerate(lines) if line.strip()]
    if len(told) != 1:
        return None
    index, line = told[0]
    for rule in PHRASES:
        if compiled(rule.pattern, re.IGNORECASE).match(line.lstrip()):
            return Finding(rule.mode, Proof.REPORT, line, index, rule)
    return None


def _first_evidence(lines: list[str]) -> Finding | None:
    healed = _healed_until(lines)
    handled = compiled(HANDLED)
    open_lines = [
        (index, line)
        for index, line in enumerate(lines)
        if index > healed and line and not handled.search(line)
    ]
    all_lines = [(index, line) for index, line in enumerate(lines) if line]
    for rule in EVIDENCE:
        candidates = all_lines if rule.proof is Proof.VERDICT else open_lines
        if found := _matches(rule, candidates, lines):
            return _most_specific(rule, found)
    return None


def _most_specific(rule: Rule, found: list[tuple[int, str]]) -> Finding:
    """The first of the matched lines, unless a later one names its kind.

    A generic rule with a hint of its own knows its kind already.
    """
    index, line = found[0]
    mode = rule.mode
    if mode is FailureMode.GENERIC and not (rule.bare or rule.hint):
        for other, text in found[:50]:
            if (kind := _mode_of_line(text)) is not FailureMode.GENERIC:
                index, line, mode = other, text, kind
                break
    return Finding(mode, rule.proof, line, index, rule)


def _matches(
    rule: Rule, candidates: list[tuple[int, str]], lines: list[str]
) -> list[tuple[int, str]]:
    """The lines that a rule matches, the most telling one first."""
    pattern = compiled(rule.pattern)
    found = [(index, line) for index, line in candidates if pattern.search(line)]
    if found and rule.beside:
        beside = compiled(rule.beside)
        if not any(beside.search(line) for line in lines):
            return []
    return found[::-1] if rule.last else found


def _mode_of_line(line: str) -> FailureMode:
    finding = find_phrase([line], PHRASES)
    return finding.mode if finding else FailureMode.GENERIC


def _healed_until(lines: list[str]) -> int:
    """The index of the last line that sums up without failures, -1 without one."""
    pattern = compiled("|".join(HEALED))
    for index in range(len(lines) - 1, -1, -1):
        if lines[index] and pattern.search(lines[index]):
            return index
    return -1


def _opening(lines: list[str]) -> list[str]:
    """The first line, if it can be a reader's own complaint: not numbered, not placed."""
    first = next((line for line in lines if line), "")
    return [] if _NUMBERED.match(first) or _PLACED.match(first) else [first]


def _last_mark(lines: list[str]) -> int:
    """The line after the last heading or fence of a document, 0 for other text.

    A document is text about errors; only a final verdict below it can be a report.
    """
    marks = [i for i, line in enumerate(lines, 1) if _HEADING.match(line) or _FENCE.match(line)]
    sections = [lines[i - 1] for i in marks]
    fenced = any(map(_FENCE.match, sections))
    return marks[-1] if fenced or (len(marks) > 1 and any(map(_SUBHEADING.match, sections))) else 0


@cache
def _words(tool_name: str) -> frozenset[str]:
    return frozenset(w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", tool_name[:200]))

"""A lesson without a model: from the instant reflection on what the report says."""

from __future__ import annotations

import re

from reflexion_client.model import LessonRequest, Trigger
from reflexion_client.reflection import (
    Failure,
    FailureMode,
    HeuristicReflector,
    Reflection,
    is_failure_output,
)
from reflexiond.model import LessonDraft, Skipped

NAME = "heuristic"
MAX_TAGS = 5
_TASK_TEXT = 300
_TOOL = "bash"
"""Reports tell what was run and printed, not through which tool: judge it as a command."""
_FINDING_TEXT = 400

_WHAT_HAPPENED = {
    FailureMode.BUILD_ERROR: "the build broke",
    FailureMode.TEST_FAILURE: "a test failed",
    FailureMode.LINT_ERROR: "a check found faults",
    FailureMode.PERMISSION_DENIED: "access was denied",
    FailureMode.NOT_FOUND: "something needed was not there",
    FailureMode.TIMEOUT: "a time limit was hit",
    FailureMode.SYNTAX_ERROR: "something did not parse",
    FailureMode.GENERIC: "it ended in an error",
}

# The words that an outcome opens with, written by the hook; what follows is the finding.
_OUTCOME_LABEL = re.compile(r"^\s*(?:ERROR|DISCREPANCY|LOW QUALITY|MANUAL)\b[^:\n]*:\s*")
# How a report quotes the command itself, before what it printed.
_COMMAND_LINE = re.compile(r"\A\s*ran `[^\n]*`\n?")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_HOLLOW = frozenset({"exit", "exited", "status", "code", "command", "with", "error", "failed"})
_TELLING_WORDS = 3
_SAYS_WHY = 0.5
"""The confidence of a reflection that recognised its cause; below, it is a guess."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{2,}")
_DULL = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "from",
        "that",
        "this",
        "then",
        "than",
        "when",
        "into",
        "onto",
        "over",
        "under",
        "run",
        "runs",
        "running",
        "ran",
        "command",
        "fix",
        "make",
        "made",
        "please",
        "use",
        "using",
        "add",
        "all",
        "any",
        "are",
        "but",
        "can",
        "did",
        "does",
        "get",
        "has",
        "have",
        "how",
        "its",
        "just",
        "let",
        "may",
        "new",
        "not",
        "now",
        "off",
        "one",
        "our",
        "out",
        "should",
        "some",
        "task",
        "try",
        "was",
        "were",
        "what",
        "will",
        "you",
        "your",
        "error",
        "errors",
        "failed",
        "failing",
        "fails",
        "failure",
    ]
)


def distil(request: LessonRequest, source: str) -> LessonDraft | Skipped:
    """Turn a report into a lesson, or say why there is none in it.

    Args:
        request: the report.
        source: the tool that sent it; becomes a tag.
    """
    finding = _OUTCOME_LABEL.sub("", request.outcome, count=1).strip()
    match request.trigger.strip().lower():
        case Trigger.HALLUCINATION:
            return _judged(
                request,
                source,
                finding,
                happened="the answer did not hold up when it was verified",
                advice="Check each claim against its source before answering; what was wrong",
            )
        case Trigger.LOW_QUALITY:
            return _judged(
                request,
                source,
                finding,
                happened="the answer was judged not good enough",
                advice="Meet this before handing in the next answer",
            )
        case Trigger.MANUAL if not is_failure_output(source, request.attempt):
            return Skipped("a manual reflection on a turn that did not fail needs a model")
        case _:
            return _failed(request, source, finding)


def _failed(request: LessonRequest, source: str, finding: str) -> LessonDraft | Skipped:
    if not request.attempt.strip() and not finding:
        return Skipped("the report says neither what was tried nor how it ended")
    output = _COMMAND_LINE.sub("", request.attempt)
    failure = Failure(tool_name=_TOOL, input=request.task, output=output, error=finding)
    reflection = HeuristicReflector().reflect(failure)
    mistake, correction = reflection.root_cause or finding, reflection.hypothesis
    if reflection.confidence < _SAYS_WHY:
        # No rule knows this failure. Its own words are the lesson, if it has any: one that
        # says "exit status 1" would fit every other failure as well.
        last_line = output.rstrip().rpartition("\n")[2].strip()
        told = [text for text in (finding, mistake, last_line) if _is_telling(text)]
        if not told:
            return Skipped("the report does not say what went wrong")
        mistake = told[0]
        correction = f"Deal with this before trying again: {mistake[:_FINDING_TEXT]}"
    return LessonDraft(
        situation=_situation(request, _WHAT_HAPPENED[reflection.mode]),
        mistake=mistake,
        correction=correction,
        tags=_tags(request, source, reflection),
    )


def _is_telling(text: str) -> bool:
    """Return whether a text is more than a code, a number or a word."""
    words = {word.lower() for word in _LETTERS.findall(text)} - _HOLLOW
    return len(words) >= _TELLING_WORDS


def _judged(
    request: LessonRequest, source: str, finding: str, *, happened: str, advice: str
) -> LessonDraft | Skipped:
    if not finding:
        return Skipped("the report does not say what was wrong")
    finding = finding[:_FINDING_TEXT]
    return LessonDraft(
        situation=_situation(request, happened),
        mistake=finding,
        correction=f"{advice}: {finding}",
        tags=_tags(request, source, None),
    )


def _situation(request: LessonRequest, happened: str) -> str:
    task = " ".join(request.task[:_TASK_TEXT].split())
    return f"{task} ({happened})" if task else happened.capitalize()


def _tags(request: LessonRequest, source: str, reflection: Reflection | None) -> tuple[str, ...]:
    """Two to five tags: the mode, the tool, then the telling words of the task."""
    tags: dict[str, None] = {}
    if reflection is not None:
        tags[reflection.mode.value] = None
    else:
        tags[request.trigger.strip().lower()] = None
    if source.strip():
        tags["-".join(source.lower().split())[:40]] = None
    for found in _WORD.findall(request.task):
        if len(tags) == MAX_TAGS:
            break
        word = found.lower().strip(".-")
        if word not in _DULL:
            tags[word[:40]] = None
    if len(tags) < 2:  # noqa: PLR2004 - the least that a lesson has
        tags["unattributed"] = None
    return tuple(tags)

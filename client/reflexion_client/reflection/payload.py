"""Outputs that are JSON: whether the answer itself is an error object.

Values deep inside are data; only what the answer says of itself counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .model import FailureMode

_BAD_STATUS = frozenset({"error", "errored", "fail", "failed", "failure"})
_STATUS_KEYS = ("status", "statusCode", "status_code", "code")
_EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code")
_TEXT_KEYS = ("message", "detail", "error", "error_description", "reason", "title", "stderr")
_ONLY_MESSAGE = frozenset({"message", "detail", "documentation_url", "request_id", "code", "type"})
_HTTP_MODES = {
    401: FailureMode.PERMISSION_DENIED,
    403: FailureMode.PERMISSION_DENIED,
    404: FailureMode.NOT_FOUND,
    408: FailureMode.TIMEOUT,
    504: FailureMode.TIMEOUT,
}
_DENIAL = re.compile(
    r"(?i)not found|denied|forbidden|unauthori|timed out|timeout|invalid|internal server error"
)
_HTTP_HEAD = re.compile(r"HTTP/[\d.]+ 2\d\d[^\n]*\n(?:[^\n]+\n)*\n")


@dataclass(frozen=True, slots=True)
class Payload:
    """What a JSON answer says of itself. `mode` is None where the text has to tell it."""

    failed: bool
    message: str = ""
    mode: FailureMode | None = None


_HEALTHY = Payload(failed=False)


def read_payload(text: str) -> Payload | None:
    """Judge a JSON document, JSON lines, or an HTTP answer with a JSON body; else None."""
    head = _HTTP_HEAD.match(text)
    body = (text[head.end() :] if head else text).strip()
    if body[:1] not in ("{", "["):
        return None
    try:
        return _judge(json.loads(body))
    except (ValueError, RecursionError):
        pass
    try:
        return _events([json.loads(line) for line in body.split("\n") if line.strip()])
    except (ValueError, RecursionError):
        return None


def _judge(value: Any) -> Payload:
    match value:
        case dict():
            return _answer(value)
        case list():
            return _findings(value)
        case _:
            return _HEALTHY


def _events(events: list[Any]) -> Payload:
    """A stream of events, one a line: of test runs the failing ones count."""
    failed = [e for e in events if isinstance(e, dict) and e.get("Action") == "fail"]
    if not failed:
        return _HEALTHY
    tests = [str(e.get("Test") or e.get("Package", "")) for e in failed]
    return Payload(failed=True, message=f"FAIL {tests[0]}", mode=FailureMode.TEST_FAILURE)


def _findings(items: Sequence[Any]) -> Payload:
    """A list: the report of a linter when every item is a finding with a place."""
    rows = [item for item in items if isinstance(item, dict)]
    if not rows or len(rows) != len(items):
        return _HEALTHY
    counted = [row for row in rows if _positive(row.get("errorCount"))]
    if counted:
        found = [m for m in counted[0].get("messages", ()) if isinstance(m, dict)]
        worst = [m for m in found if m.get("severity") == 2] or found  # noqa: PLR2004 - error
        path = counted[0].get("filePath", "")
        return _lint(path, worst[0]) if worst else _lint(path, {})
    placed = all("message" in r and ("line" in r or "location" in r) for r in rows)
    coded = [r for r in rows if r.get("type") in ("error", "fatal") or r.get("code")]
    if placed and coded:
        return _lint(str(coded[0].get("path") or coded[0].get("filename") or ""), coded[0])
    return _HEALTHY


def _lint(path: str, finding: Mapping[str, Any]) -> Payload:
    place = finding.get("location")
    line = finding.get("line") or (place.get("row") if isinstance(place, dict) else None) or "?"
    rule = finding.get("ruleId") or finding.get("code") or finding.get("symbol") or ""
    mode = FailureMode.LINT_ERROR
    if finding.get("fatal") is True or rule in ("invalid-syntax", "E999"):
        mode = FailureMode.SYNTAX_ERROR
    text = f"{path}:{line}: {finding.get('message', '')} {rule}".rstrip()
    return Payload(failed=True, message=text, mode=mode)


def _answer(answer: Mapping[str, Any]) -> Payload:
    if _positive(answer.get("numFailedTests")) or _positive(answer.get("numFailedTestSuites")):
        return Payload(failed=True, message=_failed_test(answer), mode=FailureMode.TEST_FAILURE)
    result = answer.get("result")
    if isinstance(result, dict) and result.get("isError") is True:
        return Payload(failed=True, message=_text_of(result.get("content", result)))
    status = next((s for k in _STATUS_KEYS if (s := _http_status(answer.get(k)))), 0)
    if not _confesses(answer, status):
        return _HEALTHY
    mode = _HTTP_MODES.get(status)
    if answer.get("timed_out") is True:
        mode = FailureMode.TIMEOUT
    return Payload(failed=True, message=_message(answer), mode=mode)


def _confesses(answer: Mapping[str, Any], status: int) -> bool:
    """Whether the answer as a whole says that it is a failure."""
    errors = answer.get("errors")
    told = any(answer.get(key) for key in _TEXT_KEYS)
    state = answer.get("status")
    return bool(
        answer.get("error")
        or (errors and isinstance(errors, list | dict))
        or any(answer.get(key) is False for key in ("ok", "success", "succeeded"))
        or answer.get("isError") is True
        or answer.get("timed_out") is True
        or any(_nonzero(answer.get(key)) for key in _EXIT_KEYS)
        or (isinstance(state, str) and state.lower() in _BAD_STATUS and told and "id" not in answer)
        or (status and told)
        or (answer.keys() <= _ONLY_MESSAGE and told and _DENIAL.search(_message(answer)))
    )


def _message(answer: Mapping[str, Any]) -> str:
    """The text that says why, with the type or code before it."""
    inner = answer.get("error") or answer.get("errors")
    if isinstance(inner, list) and inner:
        inner = inner[0]
    if isinstance(inner, dict):
        parts = [str(inner[key]) for key in ("type", "code", "status") if inner.get(key)]
        return " ".join([*parts, _text_of(inner)])
    if isinstance(inner, str) and inner:
        more = next((t for k in _TEXT_KEYS if k != "error" and (t := answer.get(k))), None)
        return f"{inner}: {more}" if isinstance(more, str) else inner
    return _text_of(answer)


def _text_of(value: Any) -> str:
    """The first text in `value` that reads like a message, else all of it as JSON."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in (*_TEXT_KEYS, "text", "output", "stdout"):
            if isinstance(text := value.get(key), str) and text.strip():
                return text
    return json.dumps(value, ensure_ascii=False)


def _failed_test(answer: Mapping[str, Any]) -> str:
    """`name: message` of the first failing test in a jest or vitest report."""
    for suite in answer.get("testResults") or ():
        for test in (suite.get("assertionResults") or ()) if isinstance(suite, dict) else ():
            if isinstance(test, dict) and test.get("status") == "failed":
                messages = test.get("failureMessages") or [""]
                first = str(messages[0]).split("\n", 1)[0]
                return f"{test.get('fullName', '')}: {first}"
        if isinstance(suite, dict) and suite.get("message"):
            return str(suite["message"]).strip().split("\n", 1)[0]
    return "failing tests"


def _http_status(value: Any) -> int:
    """`value` as an HTTP status from 400 to 599, else 0."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) == 3:  # noqa: PLR2004
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:  # noqa: PLR2004
        return value
    return 0


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _nonzero(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value != 0

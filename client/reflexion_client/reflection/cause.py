"""The line that tells most about a failure, once its mode is known."""

# ruff: noqa: E501, RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

import re
from dataclasses import dataclass

from .judge import Finding, compiled
from .model import FailureMode
from .transcript import excerpt

_PYTEST_MARK = re.compile(r"^E\s{2,}")
_REACH = 80  # lines below a test's name in which its message is looked for


@dataclass(frozen=True, slots=True)
class TestReport:
    """How a runner names a failing test, and how its message below looks ("": none)."""

    name: str
    message: str


# The first report whose name is found wins, so the richest shapes come first.
TEST_REPORTS: tuple[TestReport, ...] = (
    # pytest: a header per test, the assertion on lines that start with E
    TestReport(
        r"^_{2,} (?:ERROR (?:at \w+ of |collecting ))?(?P<name>\S.*?) _{2,}$",
        r"^E\s+(?P<text>(?!File \"|\^+$|\w+\($)\S.*)",
    ),
    TestReport(
        r"^(?:FAILED|ERROR) (?P<name>[\w./]\S*)(?: - (?P<text>.+))?$", r"^E\s+(?P<text>\S.*)"
    ),
    # unittest: the exception is the last line of the traceback
    TestReport(
        r"^(?:FAIL|ERROR): (?P<name>\w+) \(",
        r"^(?P<text>(?:[\w]+\.)*\w*(?:Error|Exception|Failure|Exit)\b.*)",
    ),
    TestReport(r"^\s*--- FAIL: (?P<name>\S+)", r"^\s+(?P<text>\S+_test\.go:\d+: .+)"),
    TestReport(r"^thread '(?P<name>[^']+)' .*panicked at", r"^(?P<text>\S.*)"),
    TestReport(r"^ FAIL  (?P<name>\S.*)", r"^(?P<text>\w*Error: .+)"),
    TestReport(r"^\s*● (?P<name>.+)", r"^\s{2,}(?P<text>\S.*)"),
    TestReport(
        r"^✖ (?P<name>(?!failing tests).+?)(?: \([\d.]+m?s\))?$", r"^\s+(?P<text>\S*Error\b.*)"
    ),
    TestReport(r"^(?:    )*not ok \d+ - (?P<name>.+)", r"^\s+error: (?P<text>.+)"),
    TestReport(r"^#\s+Failed test '(?P<name>[^']*)'", r"^#\s+(?P<text>got: .+)"),
    TestReport(r"^\s*1\) (?P<name>\S.*)", r"^\s*(?:Failure/Error: )?(?P<text>\S.*)"),
    TestReport(r"^\[  FAILED  \] (?P<name>\S+)", r"^(?P<text>\S+:\d+: Failure)"),
    TestReport(
        r"^\[ERROR\]\s+(?P<name>\S+:\d+)(?:->\S+)? (?P<text>.+)", r"^\[ERROR\] (?P<text>\S.*)"
    ),
    TestReport(r"^rspec (?P<name>\S+:\d+) # (?P<text>.+)", r"(?P<text>\S.*)"),
    TestReport(r"^test (?P<name>\S+) \.\.\. FAILED$", r"^(?P<text>\S.*panicked.*)"),
    TestReport(r"^\s*[×✗✕✘] (?P<name>\S.*)", r"^\s+(?P<text>\S*Error\b.*)"),
    TestReport(r"^\s*\[?(?:FAIL|FAILED|FALHOU)\]? (?:- )?(?P<name>\S.*)", ""),
)

# Per mode, what a deciding line looks like when the rule matched a mere summary.
DETAILS: dict[FailureMode, tuple[str, ...]] = {
    FailureMode.BUILD_ERROR: (
        r"^(?:[A-Za-z]:)?[^\s:(]+[:(]\d+[:,]?(?:\d+[:)]?)?:? ?(?:fatal )?(?:error|Fehler|erro|erreur|错误|エラー)\b",
        r"^error(?:\[E\d+\])?: (?!could not compile|aborting|linking)",
        r"^\S+\.go:\d+:\d+: ",
        r"undefined reference to|cannot find -l|undefined symbol",
        r"^\[ERROR\] \S+\.(?:java|kt|scala):\[\d+",
        r"^e: |^CMake Error",
    ),
    FailureMode.LINT_ERROR: (
        r"^\S+:\d+:\d+:? (?!note)",
        r"^\S+:\d+: (?:error|warning)\b",
        r"^\s+\d+:\d+\s+error\s",
        r"^error(?:\[\w+\])?: (?!could not|aborting)",
        r"^(?:would reformat|Would reformat:|\[warn\]|ERROR:) \S",
    ),
    FailureMode.SYNTAX_ERROR: (
        r"^\S+:\d+:\d+:? .*(?:error|错误)",
        r"SyntaxError: \S|IndentationError: \S|TabError: \S",
    ),
}


def root_cause(finding: Finding, lines: list[str]) -> str:
    """An excerpt of at most 200 bytes that says what went wrong, not merely that it did."""
    if finding.index < 0:
        return excerpt(finding.line)
    if finding.mode is FailureMode.TEST_FAILURE:
        return excerpt(_test_report(lines) or finding.line)
    finding_line = _PYTEST_MARK.sub("", finding.line)
    for pattern in DETAILS.get(finding.mode, ()):
        search = compiled(pattern)
        if search.search(finding_line):
            break
        if line := next((line for line in lines if search.search(line)), None):
            return excerpt(_placed(line, lines))
    return excerpt(_placed(finding_line, lines))


def last_words(*texts: list[str]) -> str:
    """The last line that holds anything: what a program says before it gives up."""
    for lines in texts:
        if line := next((line for line in reversed(lines) if line.strip()), None):
            return excerpt(line)
    return ""


def _test_report(lines: list[str]) -> str:
    for report in TEST_REPORTS:
        name_pattern = compiled(report.name)
        for index, line in enumerate(lines):
            if named := name_pattern.search(line):
                below = lines[index + 1 : index + 1 + _REACH]
                return _with_message(named, compiled(report.message), below)
    return ""


def _with_message(named: re.Match[str], message: re.Pattern[str], below: list[str]) -> str:
    groups = named.groupdict()
    text = groups.get("text")
    if not text and message.pattern:
        found = (match["text"] for line in below if line and (match := message.search(line)))
        text = next(found, None)
    return f"{groups['name']}: {text}" if text else named.string.strip("_ ")


def _placed(line: str, lines: list[str]) -> str:
    """`line` with the place that rustc and friends print below it, if they do."""
    if not line.startswith("error"):
        return line
    index = lines.index(line) if line in lines else len(lines)
    for below in lines[index + 1 : index + 3]:
        if below.lstrip().startswith("--> "):
            return f"{below.strip()[4:]}: {line}"
    return line

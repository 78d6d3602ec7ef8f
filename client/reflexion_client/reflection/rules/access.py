"""What the system or a server refuses: time and rights."""
# ruff: noqa: E501, RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

from .idioms import ACTOR, COLON, DENIED_TEXT, ERROR, SAYS_ERROR
from .rule import DENIED, TIMEOUT, Rule

ACCESS: tuple[Rule, ...] = (
    # -- time limits of the call
    Rule("curl timed out", TIMEOUT, r"^curl: \(28\)"),
    Rule(
        "timeout exception",
        TIMEOUT,
        r"^(?:[\w.$]+[.:])?\w*Time(?:d)?[Oo]ut(?:Error|Exception|Expired)?\b(?: \[\w+\])?:(?!\d)",
        last=True,
    ),
    Rule(
        "deadline",
        TIMEOUT,
        rf"^(?:{ACTOR}|{ERROR}{COLON}|rpc error: ).{{0,300}}?(?:context deadline exceeded|DeadlineExceeded|DEADLINE_EXCEEDED"
        r"|statement timeout|[Ll]ock wait timeout|ETIMEDOUT|ESOCKETTIMEDOUT|ERR_SOCKET_TIMEOUT)",
    ),
    Rule(
        "gateway timeout",
        TIMEOUT,
        r"^(?:HTTP/[\d.]+ (?:504|408)\b|.*\b(?:status(?: code)?|HTTP|error):? (?:504|408)\b"
        r"|(?:504|408) (?:Gateway|Request) Time-?[Oo]ut$|.{0,200}<title>\s*(?:504|408) )",
    ),
    Rule(
        "program timed out",
        TIMEOUT,
        rf"^[\w./+-]+: (?:.{{0,200}}: )?(?:.{{0,120}}\btimed out\b|Tempo esgotado|Zeitüberschreitung)|^{ERROR}{COLON}.*\btimed out\b",
    ),
    # -- rights
    Rule(
        "HTTP refuses",
        DENIED,
        r"^(?:HTTP/[\d.]+ (?:401|403|407)\b|.*\b(?:status(?: code)?|HTTP|[Ee]rror):? (?:401|403)\b"
        r"|(?:401 Unauthorized|403 Forbidden)$|.{0,200}<title>\s*(?:401|403) |.*requested URL returned error: 40[13])",
    ),
    Rule(
        "npm may not write", DENIED, r"^npm (?:ERR!|error) (?:code )?(?:EACCES|EPERM|E401|E403)\b"
    ),
    Rule(
        "program may not",
        DENIED,
        rf"^{ACTOR}(?:.{{0,300}}[:：] ?)?{DENIED_TEXT}|^.{{0,120}}Permission denied \(publickey",
    ),
    Rule("errno denied", DENIED, r"^(?:Error:? )?\b(?:EACCES|EPERM|EROFS)\b"),
    Rule(
        "permission exception",
        DENIED,
        r"^(?:[\w.$]+[.$])?(?:PermissionError|AccessDenied\w*|UnauthorizedAccessException"
        r"|ForbiddenError|PermissionDenied\w*)\b:",
    ),
    Rule(
        "server denies",
        DENIED,
        rf"^{SAYS_ERROR}\s*(?:.{{0,120}}\b)?(?:permission denied|forbidden|password authentication failed|must be owner|access denied"
        r"|not authorized|not permitted|is forbidden|Access denied for user|keine Berechtigung|permissão negada)"
        r"|^remote: Permission to .* denied|^fatal: Authentication failed"
        r"|^fatal: could not read Username|^sudo: (?:a password is required|.*not in the sudoers)"
        r"|^E: Could not open lock file|(?:are you root\?|[Mm]ust be (?:run as )?root\b)",
    ),
    Rule(
        "path outside",
        DENIED,
        r"^(?:Error: )?.*outside (?:of )?(?:the )?allowed (?:dir|fold|path)",
    ),
)

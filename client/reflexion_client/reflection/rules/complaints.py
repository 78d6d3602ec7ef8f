"""Every other way in which a program says that it failed."""
# ruff: noqa: E501, RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

from .idioms import (
    ACTOR,
    CONFLICT_TEXT,
    EXHAUSTED_TEXT,
    FRAMES,
    NONZERO,
    REFUSED_TEXT,
    SAYS_ERROR,
)
from .rule import GENERIC, VERDICT, Rule

COMPLAINTS: tuple[Rule, ...] = (
    Rule(
        "exhausted",
        GENERIC,
        rf"^{ACTOR}(?:.{{0,300}}[:：] ?)?{EXHAUSTED_TEXT}|^FATAL ERROR: .*out of memory"
        r"|^java\.lang\.OutOfMemoryError",
        hint="disk, memory or handles ran out: free some, or do the work in smaller portions",
    ),
    Rule(
        "crash",
        GENERIC,
        r"^(?:\S+: )?(?:line \d+:\s+)?(?:\d+ )?(?:Segmentation fault|Bus error|Aborted|Killed"
        r"|Terminated$|Illegal instruction|Floating point exception|Abgebrochen|Speicherzugriffsfehler"
        r"|Falha de segmentação|段错误|セグメンテーション違反)\b"
        r"|^Fatal Python error: |==ERROR: \w+Sanitizer|runtime error: .*(?:overflow|null pointer)"
        r"|^fatal error: |^FATAL ERROR: |^(?:SIG(?:SEGV|ABRT|BUS|KILL|ILL|FPE))\b"
        r"|^terminate called|^\S+: \S+:\d+: .*Assertion .* failed|^\*\*\* stack smashing|^#? ?A fatal error",
        hint="look at the frame of our own code nearest to the crash and at memory and input size",
    ),
    Rule("sanitizer count", GENERIC, rf"ERROR SUMMARY: {NONZERO} errors"),
    Rule("go panic", GENERIC, r"^panic: ", beside=r"^goroutine \d+|^exit status 2"),
    Rule("rust panic", GENERIC, r"^thread '.*' (?:\(\d+\) )?panicked at", beside=r"RUST_BACKTRACE"),
    Rule("php fatal", GENERIC, r"^(?:PHP )?(?:Fatal error|Uncaught \w+): "),
    Rule(
        "merge conflict",
        GENERIC,
        r"^(?:CONFLICT|CONFLITO|KONFLIKT|CONFLIT|CONFLICTO|冲突|衝突|コンフリクト) ?[(（]",
        VERDICT,
        hint="open the file, resolve the conflict markers, then add it and continue",
    ),
    Rule("merge failed", GENERIC, r"^Automatic merge failed|^Automatischer Merge fehlgeschlagen"),
    Rule(
        "push rejected",
        GENERIC,
        r"^ ! \[(?:remote )?rejected\]",
        VERDICT,
        hint="fetch and rebase onto the remote branch, then push again",
    ),
    Rule(
        "patch does not apply",
        GENERIC,
        r"^error: patch failed|^Hunk #\d+ FAILED|^\d+ out of \d+ hunks? (?:FAILED|failed)",
        VERDICT,
        hint="the file has changed since the patch was made: read it and redo the edit",
    ),
    Rule(
        "edit is ambiguous",
        GENERIC,
        r"^(?:Error: )?(?:Found \d+ (?:matches|occurrences)|.*\b(?:is not unique|multiple (?:matches|occurrences)|appears \d+ times))",
        hint="give more lines around the text, so that exactly one place matches",
    ),
    Rule(
        "rate limit",
        GENERIC,
        r"^(?:HTTP/[\d.]+ 429\b|.*\b(?:status(?: code)?|HTTP|[Ee]rror):? 429\b|429 Too Many Requests$)",
        hint="wait as long as the answer asks for, then send fewer requests",
    ),
    Rule(
        "HTTP error",
        GENERIC,
        r"^(?:HTTP/[\d.]+ [45]\d\d\b|.*\b(?:status(?: code)?|HTTP|returned error):? [45]\d\d\b"
        r"|[45]\d\d (?:[A-Z][\w-]+ ?){1,4}$|.{0,200}<title>\s*[45]\d\d |<h1>[45]\d\d )",
    ),
    Rule("in the way", GENERIC, rf"^{ACTOR}(?:.{{0,300}}[:：] ?)?{CONFLICT_TEXT}"),
    Rule(
        "no connection",
        GENERIC,
        rf"^(?:{ACTOR}|(?:The |[Cc]annot |[Cc]ould not |[Ff]ailed ).{{0,80}}|正在).{{0,300}}(?:{REFUSED_TEXT}|Could not resolve host|Temporary failure in name"
        r"|Name or service not known|ENOTFOUND|ECONNRESET|Cannot connect to|was refused - did you)",
        hint="check that the service runs, and its host and port, before trying again",
        last=True,
    ),
    Rule(
        "exception",
        GENERIC,
        r"^(?:\w+: )?(?:Exception in thread \S+ |Uncaught |Unhandled exception\. |Caused by: )?(?:\w+[.$:]{1,2})*"
        r"[A-Z]\w*(?:Error|Exception|Interrupt|Failure|Exit|Warning|Fault|Iteration|Group)\b(?: \[\w+\])?(?::|$| \()",
        beside=FRAMES,
        last=True,
    ),
    Rule("exception alone", GENERIC, r"^(?:\w+[.$])*[A-Z]\w*(?:Error|Exception): \S", last=True),
    Rule("errno", GENERIC, r"^(?:Error: )?E[A-Z]{3,14}: [a-z]"),
    Rule(
        "uncaught exception",
        GENERIC,
        r"^\S+:\d+:in [`'].*\(\w+\)$|^(?:Uncaught|Unhandled) \w*(?:Error|Exception|[Rr]ejection)",
    ),
    Rule(
        "custom exception",
        GENERIC,
        r"^(?:[\w$]+\.)+[A-Z]\w+: \S|^[A-Z]\w+: \S",
        beside=r"^Traceback \(most recent call last\)",
        last=True,
    ),
    Rule(
        "exit marker",
        GENERIC,
        r"^\W{0,3}(?:##\[error\])?(?:[Pp]rocess |[Cc]ommand |[Ss]cript )?(?:exited with |completed with |failed with |returned |finished with )?"
        rf"(?:[Ee]xit[ _]?(?:code|status)|[Cc]ode|[Ss]tatus)[:= ]+-?{NONZERO}\W{{0,3}}$"
        r"|^(?:[Pp]rocess|[Cc]ommand|[Ss]cript) .{0,80}(?:exited|failed|finished) with (?:exit )?(?:code|status) -?[1-9]"
        r"|^error Command failed with exit code [1-9]",
        VERDICT,
        bare=True,
    ),
    Rule("npm", GENERIC, r"^npm (?:ERR!|error) (?!A complete log|code ELIFECYCLE)\S"),
    Rule(
        "usage",
        GENERIC,
        r"^[\w./+-]+: (?:error: (?:the following|unrecognized|invalid choice|argument|ambiguous|too few|expected)|invalid option|unrecognized (?:option|argument)|illegal option|unknown option|option requires)|^(?:Error: )?(?:[Uu]nknown|[Ii]nvalid|[Uu]nexpected) (?:command|option|argument|flag|subcommand)\b|^error: (?:unexpected|unrecognized|unknown|invalid|the following required) ",
        hint="read the usage text of the command and call it again with what it accepts",
    ),
    Rule(
        "archive",
        GENERIC,
        r"^\s+End-of-central-directory signature not found|^gzip: .*not in gzip format"
        r"|^tar: .*(?:not recoverable|does not look like)",
        hint="the file is no valid archive: check how it was made or downloaded",
    ),
    Rule(
        "program complains",
        GENERIC,
        r"^[\w./+-]{2,60}: +(?:[^:]{1,80}: )?(?:[Cc]annot|[Cc]an't|[Cc]ould not|[Cc]ouldn't|[Uu]nable to|[Ff]ailed to|[Ee]rror\b"
        r"|[Mm]issing|[Ii]nvalid|[Uu]nknown|[Uu]nrecognized|[Nn]o such|[Nn]ot (?:a|in)\b|[Rr]efusing|[Ff]atal)",
    ),
    Rule(
        "says error",
        GENERIC,
        rf"^(?:\[|[!*✗✖×❌] ?)?{SAYS_ERROR}\s*(?!none|None|['\x22]{{2}}|\[\]|\{{\}}|undefined$|0\b|no\b|null\b|nenhum|keine\b|false)\S",
    ),
    Rule("says fatal", GENERIC, r"^(?:[Pp]anic|PANIC|ABORT(?:ED)?|CRITICAL|E): +\S"),
    Rule(
        "cannot",
        GENERIC,
        r"^(?:[Cc]annot|[Cc]an't|[Cc]ould not|[Uu]nable to|[Ff]ailed to|FAILED to|Request failed|System has not been)\s+\S",
    ),
    Rule(
        "make stops",
        GENERIC,
        r"^g?make(?:\[\d+\])?: \*\*\* .*(?:Error|Fehler|Erro|错误|エラー|Stop)",
        bare=True,
    ),
    Rule(
        "ansible or terraform",
        GENERIC,
        r"^fatal: \[\S+\]: (?:FAILED|UNREACHABLE)|^│ Error: |^╷$",
        beside=r"Error|fatal",
    ),
)

"""What test runners print: their own time limits, suites that cannot start, summaries."""
# ruff: noqa: E501, RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

from .idioms import NONZERO, SUITE_BLOCKED
from .rule import BUILD, MISSING, SYNTAX, TEST, TIMEOUT, VERDICT, Rule

RUNNERS: tuple[Rule, ...] = (
    # -- the runner hit its own limit
    Rule("go test alarm", TIMEOUT, r"^panic: test timed out after", VERDICT),
    Rule(
        "tool limit",
        TIMEOUT,
        r"^(?:\[?(?:[Ee]rror|ERROR)\]?:? )?(?:The |the )?(?:[Cc]ommand|[Oo]peration|[Pp]rocess"
        r"|[Rr]equest|[Tt]ool|[Tt]ask|[Ss]cript|[Ee]xecution|[Jj]ob)\b.{0,160}"
        r"\b(?:timed out|time limit|timeout)\b",
        hint="run it in the background, narrow its scope, or raise the time limit",
    ),
    Rule("timeout(1)", TIMEOUT, r"^timeout: sending signal \w+ to command", VERDICT),
    Rule("ctest limit", TIMEOUT, r"\*\*\*Timeout\s+\d", VERDICT),
    # -- a test suite that could not even start
    Rule(
        "suite does not parse",
        SYNTAX,
        r"^(?:E\s+|\s+)(?:[\w.]*(?:SyntaxError|IndentationError|TabError)\b:)",
        VERDICT,
        beside=SUITE_BLOCKED,
    ),
    Rule(
        "suite lacks a module",
        MISSING,
        r"^(?:E\s+|\s*)(?:(?:Error: )?Cannot find (?:module|package) '(?P<what>[^']+)'"
        r"|ModuleNotFoundError: No module named '(?P<module>[^']+)'"
        r"|(?:Error: )?Failed to (?:load url|resolve import) \"?(?P<path>[^\s\"]+)"
        r"|LoadError:|cannot load such file)",
        VERDICT,
        beside=SUITE_BLOCKED,
        hint="no test ran: install or create `{what}`, or correct the import that names it",
    ),
    Rule("go build failed", BUILD, r"^(?P<spot>\S+\.go:\d+:\d+): ", VERDICT, r"\[build failed\]"),
    Rule("go setup failed", MISSING, r"^FAIL\s+\S+ \[setup failed\]", VERDICT),
    # -- the summaries of test runners
    Rule(
        "pytest",
        TEST,
        rf"^(?:=+ )?(?:\d+ \w+, )*{NONZERO} (?:failed|errors?)\b.* in \d[\d.]*s",
        VERDICT,
    ),
    Rule("pytest item", TEST, r"^(?:FAILED|ERROR) \S+(?:::\S+| - )", VERDICT),
    Rule("pytest collection", TEST, r"^!+ .*\berrors? during collection", VERDICT),
    Rule("unittest", TEST, r"^FAILED \((?:failures|errors|unexpected successes)=", VERDICT),
    Rule("go test item", TEST, r"^\s*--- FAIL: \S+", VERDICT),
    Rule("go test package", TEST, r"^FAIL(?:\t\S+|$)", VERDICT),
    Rule("go test inline", TEST, r"^ok\s+\S+\s+[\d.]+s\s+FAIL\b|^\S+ [\d.]+s\s+FAIL$", VERDICT),
    Rule("cargo test", TEST, r"^test result: FAILED\.", VERDICT),
    Rule("cargo test item", TEST, r"^test \S+ (?:- [\w ]+ )?\.\.\. FAILED$", VERDICT),
    Rule(
        "jest or vitest",
        TEST,
        rf"^\s*(?:Tests|Test Suites|Test Files|Suites):?\s+(?:\d+ \w+[,|\s]+)*{NONZERO} failed\b",
        VERDICT,
    ),
    Rule("jest file", TEST, r"^ ?FAIL\s+\S+\.\w+", VERDICT),
    Rule("mocha", TEST, rf"^\s*{NONZERO} failing$", VERDICT),
    Rule("node --test", TEST, rf"^(?:# |ℹ )fail {NONZERO}$|^✖ failing tests:$", VERDICT),
    Rule("TAP", TEST, r"^(?:    )*not ok \d+(?!.*# (?:TODO|SKIP))", VERDICT),
    Rule("prove", TEST, r"^Result: FAIL$|^#\s+Failed test '|^Failed \d+/\d+ subtests", VERDICT),
    Rule("rspec", TEST, rf"^\d+ examples?, {NONZERO} failures?\b", VERDICT),
    Rule("rspec item", TEST, r"^rspec \S+:\d+ # |^Failed examples:$", VERDICT),
    Rule(
        "xunit counts",
        TEST,
        rf"^(?:\[ERROR\]\s+)?Tests run: \d+,.*\b(?:Failures|Errors): *{NONZERO}",
        VERDICT,
    ),
    Rule("minitest", TEST, rf"\d+ assertions, (?:{NONZERO} failures|\d+ failures, {NONZERO} e)"),
    Rule("JUnit", TEST, r"^FAILURES!(?:!!)?$|^There (?:was|were) \d+ (?:failure|error)", VERDICT),
    Rule("surefire", TEST, r"^\[ERROR\] There are test failures|<<< (?:FAILURE|ERROR)!", VERDICT),
    Rule("gradle test", TEST, rf"^\d+ tests? completed, {NONZERO} failed", VERDICT),
    Rule("dotnet test", TEST, rf"^(?:Failed!\s+-\s|\s+Failed:\s+{NONZERO}$)", VERDICT),
    Rule(
        "ctest",
        TEST,
        rf"^\d+% tests passed, {NONZERO} tests? failed|^The following tests FAILED:",
        VERDICT,
    ),
    Rule("googletest", TEST, r"^\[  FAILED  \]", VERDICT),
    Rule("phpunit", TEST, rf"^Tests: \d+, Assertions: .*\b(?:Errors|Failures): {NONZERO}"),
    Rule("exunit", TEST, rf"^(?:\d+ \w+, )*\d+ tests?, {NONZERO} failures?\b", VERDICT),
    Rule("doctest", TEST, rf"^\*\*\*Test Failed\*\*\* {NONZERO} failures?", VERDICT),
    Rule("deno or bun test", TEST, rf"^\s*{NONZERO} fail$|^FAILED \| \d+ passed", VERDICT),
    Rule("pester", TEST, rf"^Tests Passed: \d+, Failed: {NONZERO}", VERDICT),
    Rule("bats or plain mark", TEST, r"^\s*(?:✗|✘|✕|×) \S"),
    Rule(
        "plain test summary",
        TEST,
        rf"^(?=.*\b(?:tests?|passed|checks?|specs?|testes|tests?|Tests?|aprovad\w+|bestanden)\b)"
        rf"(?:.*[\s,])?(?:[Ff]ail(?:ed|ures?)?|FAILED|[Ff]alhas?|[Ff]ehlgeschlagen): ?{NONZERO}\b"
        rf"|^(?=.*\b(?:tests?|passed|checks?|specs?|testes|aprovad\w+|bestanden|réussis?)\b)"
        rf"(?:.*[\s,|(])?{NONZERO} (?:failed|failures?|falh\w+|fallos?|fehlgeschlagen|échecs?)\b"
        rf"|^(?=.*(?:测试|通过|テスト|成功)).*?(?<!\d){NONZERO} ?(?:个|件)?(?:が|の)?(?:失败|失敗)",
        VERDICT,
    ),
    Rule(
        "plain failed test",
        TEST,
        r"^\s*\[?(?:FAIL(?:ED)?|FALHOU|FEHLER)\]? +(?:- )?\S|^\s*\[(?:FAIL|FAILED|FALHOU)\]|^FAIL: \S",
    ),
    Rule(
        "coverage gate",
        TEST,
        r"(?:Required test coverage of|Coverage failure:|coverage threshold for) .*(?:not|less)",
        VERDICT,
        hint="the tests pass but cover too little: add tests for the uncovered lines named above",
    ),
)

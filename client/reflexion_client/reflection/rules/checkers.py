"""What linters, formatters and static checkers report."""

from __future__ import annotations

from .idioms import NONZERO
from .rule import LINT, VERDICT, Rule

CHECKERS: tuple[Rule, ...] = (
    Rule("clippy", LINT, r"^error(?:\[\w+\])?: (?!could not|aborting)", beside=r"clippy::"),
    Rule("rust lint as error", LINT, r"^error: (?!could not|aborting)", beside=r"`-D [\w-]+`"),
    Rule("eslint", LINT, rf"^✖ \d+ problems? \({NONZERO} errors?", VERDICT),
    Rule("eslint warnings gate", LINT, r"^ESLint found too many warnings", VERDICT),
    Rule("eslint line", LINT, r"^\s+\d+:\d+\s+error\s+\S"),
    Rule(
        "mypy",
        LINT,
        rf"^Found {NONZERO} errors? in \d+ files? \(checked|^\S+\.pyi?:\d+: error: .*\[[\w-]+\]$",
        VERDICT,
    ),
    Rule("pyright", LINT, rf"^{NONZERO} errors?, \d+ warnings?(?:, \d+ informations?)?\s*$"),
    Rule("ruff", LINT, rf"^Found {NONZERO} errors?\.$", VERDICT),
    Rule(
        "ruff partly fixed",
        LINT,
        rf"^Found \d+ errors? \(\d+ fixed, {NONZERO} remaining",
        VERDICT,
    ),
    Rule("python lint code", LINT, r"^\S+\.pyi?:\d+:\d+:? (?:[A-Z]{1,4}\d{3,4})\b"),
    Rule(
        "ruff frame",
        LINT,
        r"^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?.*",
        beside=r"^\s*--> \S+\.pyi?:\d+:\d+",
    ),
    Rule("formatter check", LINT, r"^would reformat \S|^Would reformat: \S", VERDICT),
    Rule("formatter summary", LINT, rf"^\d+ files? would be reformatted|^{NONZERO} files? need"),
    Rule("prettier", LINT, r"^\[warn\] Code style issues|^\[error\] Code style", VERDICT),
    Rule("isort", LINT, r"Imports are incorrectly sorted", VERDICT),
    Rule("rustfmt", LINT, r"^Diff in \S+(?: at line \d+|:\d+:)", VERDICT),
    Rule("go vet", LINT, r"^vet: \S+:\d+:\d+: |^\S+\.go:\d+:\d+: .*\(\w{2,20}\)$"),
    Rule("go vet package", LINT, r"^\S+\.go:\d+:\d+: ", beside=r"^# \[\S+\]$|^go vet:"),
    Rule("rubocop", LINT, rf"^\d+ files? inspected, {NONZERO} offenses? detected(?!.*corrected)"),
    Rule("shellcheck", LINT, r"^\s*\^-+\^? SC\d{4} \(error|^In \S+ line \d+:$", beside=r"SC\d{4}"),
    Rule(
        "stylelint or markdownlint",
        LINT,
        rf"^\S+:\d+(?::\d+)? (?:error )?MD\d{{3}}/|^{NONZERO} problems? \({NONZERO} errors?",
    ),
    Rule("yamllint", LINT, r"^\s+\d+:\d+\s+error\s+|^::error file="),
    Rule("pre-commit hook", LINT, r"^- hook id: |\.{5,}Failed$", VERDICT),
    Rule("checkstyle", LINT, r"^\[ERROR\] \S+\.java:\d+.*\[\w+\]$|You have \d+ Checkstyle viol"),
    Rule("terraform fmt or tflint", LINT, rf"^{NONZERO} issue\(s\) found:"),
)

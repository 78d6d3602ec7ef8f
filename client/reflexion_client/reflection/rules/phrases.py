"""Words that name a kind of trouble, and words that tell of trouble overcome."""
# ruff: noqa: E501 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

from .idioms import DENIED_TEXT, MISSING_TEXT
from .rule import BUILD, DENIED, GENERIC, LINT, MISSING, PHRASE, SYNTAX, TEST, TIMEOUT, Rule

# What a complaint is about, once we know that it is one. Searched without case.
PHRASES: tuple[Rule, ...] = (
    Rule(
        "timed out",
        TIMEOUT,
        r"timed[ -]?out|(?:context )?deadline exceeded|timeout (?:after|of|exceeded|expired)|context cancell?ed|time ?limit exceeded|etimedout|zeitüberschreitung|tempo esgotado",
        PHRASE,
    ),
    Rule(
        "does not parse",
        SYNTAX,
        r"syntax ?error|invalid syntax|unexpected (?:token|eof|end of (?:file|input))\b|parse error|cannot parse|could not parse|failed to parse|unterminated|malformed|syntaxfehler|erro de sintaxe|语法错误|構文エラー",
        PHRASE,
    ),
    Rule(
        "no rights",
        DENIED,
        r"permission denied|access (?:is )?denied|authentication failed|\be(?:acces|perm)\b|operation not permitted|\bforbidden\b|\bunauthori[sz]ed\b|not authori[sz]ed|read-only file system|"
        + DENIED_TEXT,
        PHRASE,
    ),
    Rule(
        "refused",
        GENERIC,
        r"(?:connection|econn)[ -]?(?:refused|reset)|rate limit|too many requests|already exists",
        PHRASE,
    ),
    Rule(
        "missing dependency of a build",
        BUILD,
        r"cannot find -l|undeclared \(first use|undefined reference|cannot find symbol|\bts\d{4,5}\b|error\[e\d+\]",
        PHRASE,
    ),
    Rule(
        "does not exist",
        MISSING,
        r"no such (?:file|directory|table|column|module|command|host|container|image)|not found\b|\benoent\b|does(?: not|n't) exist|no module named|cannot find\b|could not find\b|couldn't find\b|unknown (?:command|host|revision)|"
        + MISSING_TEXT,
        PHRASE,
    ),
)

# The same for failures that show nothing else: words that prove little.
LOOSE_PHRASES: tuple[Rule, ...] = (
    Rule(
        "tests fail",
        TEST,
        r"^\s*fail(?:ed)?\s|^\d+ failed\b|\bfail(?:ed|ing) tests?\b|tests? failed",
        PHRASE,
    ),
    Rule(
        "build fails",
        BUILD,
        r"build failed|compilation (?:failed|error)|failed to compile|could not compile|linker",
        PHRASE,
    ),
    Rule(
        "lint",
        LINT,
        r"^[^\s:][^:]*:\d+:\d+:\s+(?:warning|error):?\s|\blint(?:er|ing)? (?:error|fail)|code style",
        PHRASE,
    ),
)

# Summaries without failures, at or after which earlier complaints count as handled.
HEALED: tuple[str, ...] = (
    r"^(?:=+ )?(?:\d+ \w+, )*\d+ passed\b(?!.*\b[1-9]\d* (?:failed|errors?)\b).* in \d",
    r"^OK(?: \(.*\))?$|^All tests passed|^Test passed\.$|^PASS$|^ok\s+\S+\s+[\d.]+s",
    r"^test result: ok\.|^# fail 0$|^BUILD SUCCESS|^\[INFO\] BUILD SUCCESS|^Result: PASS$",
    r"^\s*Tests:?\s+(?:\d+ \w+[ ,|]+)*\d+ passed(?!.*failed)",
    r"(?<![\d.,])0 (?:failed|failures?|errors?|problems?|remaining|falhas|fehler|erros)\b",
    r"\b(?:failed|failures|errors|falhas)[:=] ?0\b",
    r"^\s*\d+ (?:passing|examples?, 0 failures)",
    r"\((?:ignored|ignoriert|ignorado|ignoré|已忽略|忽略|無視されました|無視)\)",
    r"^\W{0,3}(?:[Pp]rocess |[Cc]ommand )?(?:exited with |finished with )?[Ee]xit[ _](?:code|status)[:= ]+0\W{0,3}$",
)

# Lines that tell of trouble already dealt with, or of none: they prove nothing.
HANDLED = (
    r"\bretry(?:ing)?\b|\bskipp(?:ed|ing)\b|using defaults?\b|fall(?:ing|s)? back|fell back"
    r"|trying the next|\bWARN(?:ING)?\b|\bwarn(?:ing)?[:\]]|\bINFO\b|\bDEBUG\b|\bxfail"
    r"|^NOTICE:|^npm (?:WARN|warn|notice)|\(ignored\)|expected failure"
)

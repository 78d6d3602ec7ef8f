"""Source, data or commands that do not parse."""
# ruff: noqa: E501, RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

from .idioms import COLON, ERROR, SPOT
from .rule import SYNTAX, Rule

PARSING: tuple[Rule, ...] = (
    Rule(
        "python does not parse",
        SYNTAX,
        r"^(?:\w+: )?(?:[\w.]+\.)?(?:SyntaxError|IndentationError|TabError): ",
        last=True,
    ),
    Rule("python does not parse, bare", SYNTAX, r"^SyntaxError$", beside=r'^\s+File "'),
    Rule("js or ruby does not parse", SYNTAX, r"^(?:Uncaught )?\w*SyntaxError\b: |\(SyntaxError\)"),
    Rule(
        "compiler cannot parse",
        SYNTAX,
        rf"{SPOT}:? ?{ERROR}{COLON}(?:syntax error|expected (?:['‘\"`“»]|\w+(?: or \w+)? (?:before|at)"
        r"|identifier|expression|declaration|unqualified-id|primary-expression|statement|;)"
        r"|['‘\"`].{1,3}['’\"`] expected|unterminated|missing terminating|stray |invalid syntax"
        r"|illegal start of|reached end of file|unclosed |not a statement|class, interface"
        r"|unexpected token|Parsing error|unexpected end)",
    ),
    Rule("typescript cannot parse", SYNTAX, r"error TS1\d{3}: "),
    Rule(
        "rustc cannot parse",
        SYNTAX,
        r"^error: (?:expected .*found|unexpected closing|this file contains an un"
        r"|mismatched closing|unterminated|unknown start of token)",
    ),
    Rule("go cannot parse", SYNTAX, r"^\S+\.go:\d+:\d+: (?:syntax error|expected )"),
    Rule(
        "linter cannot parse",
        SYNTAX,
        r"Parsing error: |^\S+:\d+:\d+: (?:E999|E9\d\d|invalid-syntax|SyntaxError)\b"
        r"|^error: (?:cannot format|[Ff]ailed to parse) .*|\[error\] .*SyntaxError: |\(syntax-error\)$",
    ),
    Rule(
        "shell cannot parse",
        SYNTAX,
        r"^(?:\S+: ){1,3}(?:(?:line |[Zz]eile |linha |línea |ligne |行 ?)?\d+: )?"
        r"(?:[Ss]yntax error\b|Syntaxfehler|erro de sintaxe|error de sintaxis|erreur de syntaxe"
        r"|unexpected EOF|未预期的|構文エラー|语法错误|unterminated quoted)",
    ),
    Rule(
        "interpreter cannot parse",
        SYNTAX,
        r"^(?:PHP )?Parse error: |^(?:jq: )?(?:parse error|error: syntax error)\b"
        r"|^syntax error at \S+ line|^jq: \d+ compile error"
        r"|^Error: (?:in prepare, )?(?:near \".*\": )?syntax error|^(?:sed|awk|gawk|mawk): .*"
        r"(?:unterminated|unknown command|syntax error|unknown option to)"
        r"|^psql.*syntax error|^\S*: -e:\d+: syntax error",
    ),
    Rule(
        "SQL cannot parse",
        SYNTAX,
        rf"^(?:psql:.*: )?{ERROR}(?: \d+ \(\w+\)(?: at line \d+)?)?:\s+.*(?:syntax error at|[Ss]yntaxfehler"
        r"|erro de sintaxe|error de sintaxis|erreur de syntaxe|in your SQL syntax|语法错误|構文エラー)",
    ),
    Rule(
        "make cannot parse",
        SYNTAX,
        r"^\S+:\d+: \*\*\* (?:missing|unterminated|commands commence|extraneous)",
    ),
    Rule(
        "data does not parse",
        SYNTAX,
        r"^(?:[\w.]*\.)?(?:JSONDecodeError|TOMLDecodeError|ParserError|ScannerError|YAMLException"
        r"|ParseError|XMLSyntaxError|PatternError|re\.error)\b: "
        r"|^(?:\w+: )*(?:[Ii]nvalid|[Mm]alformed) (?:regular expression|regex|JSON|YAML|TOML|XML|pattern)\b"
        r"|^regex parse error:|^(?:error|Error|ERROR): (?:could not parse|[Ff]ailed to parse|[Ii]nvalid requirement|parsing)\b"
        r"|^grep: (?:Unmatched|Invalid|Trailing|Invalid) |^npm (?:ERR!|error) code EJSONPARSE"
        r"|^(?:yaml|toml|json): |^Error: .*(?:YAML|JSON) parse",
    ),
)

"""What we know about the outputs of tools, as data.

`EVIDENCE` is tried from top to bottom and the first rule that matches a line decides:
put what is specific, and what outranks other causes, above. A rule of mode `generic`
leaves the kind to `PHRASES`, which are tried on the lines that it matched.

To teach a new tool, add a `Rule`. Patterns are searched in one line at a time, without
terminal escapes, and are anchored: text *about* errors is seldom at the start of a line.
`beside` must match somewhere else in the output. `hint` is the next step in words, with
the named groups of the pattern filled in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .model import FailureMode

_BUILD = FailureMode.BUILD_ERROR
_TEST = FailureMode.TEST_FAILURE
_LINT = FailureMode.LINT_ERROR
_DENIED = FailureMode.PERMISSION_DENIED
_MISSING = FailureMode.NOT_FOUND
_TIMEOUT = FailureMode.TIMEOUT
_SYNTAX = FailureMode.SYNTAX_ERROR
_GENERIC = FailureMode.GENERIC


class Proof(StrEnum):
    """How much a match proves."""

    VERDICT = "verdict"  # the tool's own final word: nothing that follows heals it
    REPORT = "report"  # a complaint: a later summary without failures heals it
    PHRASE = "phrase"  # names the kind once a failure is known, proves nothing alone


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing a tool says, and what it means."""

    name: str
    mode: FailureMode
    pattern: str
    proof: Proof = Proof.REPORT
    beside: str = ""
    hint: str = ""
    bare: bool = False  # says that it failed, never why
    last: bool = False  # of several matching lines the last one is the cause


_VERDICT = Proof.VERDICT
_PHRASE = Proof.PHRASE

# "error" as compilers and shells print it, in the languages their messages come in.
_ERROR = r"(?:[Ff]atal error|[Ee]rror|ERROR|FATAL|[Ff]atal|Fehler|FEHLER|[Ee]rro|ERRO|[Ee]rreur|ERREUR|ERREUR|[Ee]rrore|[Oo]shibka|[Оо]шибка|ОШИБКА|致命错误|错误|錯誤|エラー|[Ss]chwerwiegender Fehler|[Ee]rro fatal|[Ee]rreur fatale|오류)"  # noqa: E501
_COLON = r" ?[:：] ?"  # noqa: RUF001 - Chinese messages use the full-width colon
# "Error", with who says so or which number, and the colon: the start of a complaint.
_SAYS_ERROR = (
    rf"{_ERROR}(?:\[\w+\]|\])?(?: \d+(?: \(\w+\))?(?: at line \d+)?| in [^:]{{1,60}}"
    rf"| (?:response )?from \w+(?: \(\w+\))?)?{_COLON}"
)
_NONZERO = r"[1-9]\d*(?:,\d{3})*"
_SPOT = (
    r"^(?:[A-Za-z]:)?[^\s:()|]{1,200}[:(]\d+[:,)]?(?:\d+[:)]?)?"  # file:line:col, file(line,col)
)

# What `strerror` says, per language, after the name of a program and a file.
_DENIED_TEXT = r"(?:[Pp]ermission denied|[Oo]peration not permitted|[Aa]ccess(?: is)? denied|Read-only file system|Keine Berechtigung|Zugriff verweigert|Die Operation ist nicht erlaubt|Vorgang nicht zulässig|Permissão negada|Operação não permitida|Permiso denegado|Operación no permitida|Permission non accordée|Opération non permise|Permesso negato|权限不够|权限被拒绝|不允许的操作|許可がありません|許可されていない操作です|Отказано в доступе|허가 거부)"  # noqa: E501
_MISSING_TEXT = r"(?:[Nn]o such file or directory|[Cc]ommand not found|[Nn]ot a directory|Datei oder Verzeichnis nicht gefunden|(?:Kommando|Befehl) nicht gefunden|Arquivo ou diretório inexistente|Ficheiro ou directoria inexistente|Ficheiro ou pasta inexistente|comando não encontrado|No existe el (?:fichero|archivo) o el directorio|orden no encontrada|comando no encontrado|Aucun fichier ou dossier de ce (?:type|nom)|commande introuvable|File o directory non esistente|comando non trovato|没有那个文件或目录|未找到命令|そのようなファイルやディレクトリはありません|コマンドが見つかりません|Нет такого файла или каталога|команда не найдена)"  # noqa: E501
_REFUSED_TEXT = r"(?:[Cc]onnection refused|ECONNREFUSED|[Cc]onnection reset|[Nn]o route to host|[Nn]etwork is unreachable|Verbindungsaufbau abgelehnt|Conexão recusada|[Ll]igação recusada|Conexión rehusada|Connexion refusée|拒绝连接|接続を拒否されました|接続が拒否されました|В соединении отказано)"  # noqa: E501, RUF001
_EXHAUSTED_TEXT = r"(?:[Nn]o space left on device|ENOSPC|[Dd]isk quota exceeded|[Cc]annot allocate memory|ENOMEM|[Oo]ut of memory|MemoryError|[Tt]oo many open files|EMFILE|[Rr]esource temporarily unavailable|[Aa]rgument list too long|Kein Speicherplatz|Auf dem Gerät ist kein Speicherplatz|Não há espaço|No queda espacio|设备上没有空间)"  # noqa: E501
_CONFLICT_TEXT = r"(?:[Aa]ddress already in use|EADDRINUSE|[Ii]s a directory|EISDIR|[Ff]ile exists|EEXIST|[Dd]irectory not empty|[Ii]nput/output error|[Ee]xec format error|[Tt]ext file busy|[Dd]evice or resource busy|[Bb]roken pipe|EPIPE)"

# What a line of complaint starts with: a program, a system call with its path, "Error".
_ACTOR = (
    r"(?:[^\s:：]{1,60}|(?:open|stat|lstat|mkdir|unlink|read|write|remove|rename|chmod|exec"  # noqa: RUF001
    r"|fork/exec|dial|listen|Get|Post|rpc error|[A-Z]\w+ [Ee]rror) [^:]{1,200}): ?"
)

_SUITE_BLOCKED = (
    r"errors? during collection|Test suite failed to run|while loading conftest"
    r"|Failed to import test module|Failed Suites \d|occurred while loading|errors? in \d[\d.]*s"
    r"|error occurred outside of examples"
)
_FRAMES = (
    r"^Traceback \(most recent call last\)|^\s+at .+[:(]|Exception in thread|Uncaught"
    r'|^  File ".+", line \d+|^\s+#\d+ |^\s+from .+:\d+:in |^Node\.js v'
)

EVIDENCE: tuple[Rule, ...] = (
    # -- the runner hit its own limit
    Rule("go test alarm", _TIMEOUT, r"^panic: test timed out after", _VERDICT),
    Rule(
        "tool limit",
        _TIMEOUT,
        r"^(?:\[?(?:[Ee]rror|ERROR)\]?:? )?(?:The |the )?(?:[Cc]ommand|[Oo]peration|[Pp]rocess"
        r"|[Rr]equest|[Tt]ool|[Tt]ask|[Ss]cript|[Ee]xecution|[Jj]ob)\b.{0,160}"
        r"\b(?:timed out|time limit|timeout)\b",
        hint="run it in the background, narrow its scope, or raise the time limit",
    ),
    Rule("timeout(1)", _TIMEOUT, r"^timeout: sending signal \w+ to command", _VERDICT),
    Rule("ctest limit", _TIMEOUT, r"\*\*\*Timeout\s+\d", _VERDICT),
    # -- a test suite that could not even start
    Rule(
        "suite does not parse",
        _SYNTAX,
        r"^(?:E\s+|\s+)(?:[\w.]*(?:SyntaxError|IndentationError|TabError)\b:)",
        _VERDICT,
        beside=_SUITE_BLOCKED,
    ),
    Rule(
        "suite lacks a module",
        _MISSING,
        r"^(?:E\s+|\s*)(?:(?:Error: )?Cannot find (?:module|package) '(?P<what>[^']+)'"
        r"|ModuleNotFoundError: No module named '(?P<module>[^']+)'"
        r"|(?:Error: )?Failed to (?:load url|resolve import) \"?(?P<path>[^\s\"]+)"
        r"|LoadError:|cannot load such file)",
        _VERDICT,
        beside=_SUITE_BLOCKED,
        hint="no test ran: install or create `{what}`, or correct the import that names it",
    ),
    Rule("go build failed", _BUILD, r"^(?P<spot>\S+\.go:\d+:\d+): ", _VERDICT, r"\[build failed\]"),
    Rule("go setup failed", _MISSING, r"^FAIL\s+\S+ \[setup failed\]", _VERDICT),
    # -- the summaries of test runners
    Rule(
        "pytest",
        _TEST,
        rf"^(?:=+ )?(?:\d+ \w+, )*{_NONZERO} (?:failed|errors?)\b.* in \d[\d.]*s",
        _VERDICT,
    ),
    Rule("pytest item", _TEST, r"^(?:FAILED|ERROR) \S+(?:::\S+| - )", _VERDICT),
    Rule("pytest collection", _TEST, r"^!+ .*\berrors? during collection", _VERDICT),
    Rule("unittest", _TEST, r"^FAILED \((?:failures|errors|unexpected successes)=", _VERDICT),
    Rule("go test item", _TEST, r"^\s*--- FAIL: \S+", _VERDICT),
    Rule("go test package", _TEST, r"^FAIL(?:\t\S+|$)", _VERDICT),
    Rule("go test inline", _TEST, r"^ok\s+\S+\s+[\d.]+s\s+FAIL\b|^\S+ [\d.]+s\s+FAIL$", _VERDICT),
    Rule("cargo test", _TEST, r"^test result: FAILED\.", _VERDICT),
    Rule("cargo test item", _TEST, r"^test \S+ (?:- [\w ]+ )?\.\.\. FAILED$", _VERDICT),
    Rule(
        "jest or vitest",
        _TEST,
        rf"^\s*(?:Tests|Test Suites|Test Files|Suites):?\s+(?:\d+ \w+[,|\s]+)*{_NONZERO} failed\b",
        _VERDICT,
    ),
    Rule("jest file", _TEST, r"^ ?FAIL\s+\S+\.\w+", _VERDICT),
    Rule("mocha", _TEST, rf"^\s*{_NONZERO} failing$", _VERDICT),
    Rule("node --test", _TEST, rf"^(?:# |ℹ )fail {_NONZERO}$|^✖ failing tests:$", _VERDICT),
    Rule("TAP", _TEST, r"^(?:    )*not ok \d+(?!.*# (?:TODO|SKIP))", _VERDICT),
    Rule("prove", _TEST, r"^Result: FAIL$|^#\s+Failed test '|^Failed \d+/\d+ subtests", _VERDICT),
    Rule("rspec", _TEST, rf"^\d+ examples?, {_NONZERO} failures?\b", _VERDICT),
    Rule("rspec item", _TEST, r"^rspec \S+:\d+ # |^Failed examples:$", _VERDICT),
    Rule(
        "xunit counts",
        _TEST,
        rf"^(?:\[ERROR\]\s+)?Tests run: \d+,.*\b(?:Failures|Errors): *{_NONZERO}",
        _VERDICT,
    ),
    Rule("minitest", _TEST, rf"\d+ assertions, (?:{_NONZERO} failures|\d+ failures, {_NONZERO} e)"),
    Rule("JUnit", _TEST, r"^FAILURES!(?:!!)?$|^There (?:was|were) \d+ (?:failure|error)", _VERDICT),
    Rule("surefire", _TEST, r"^\[ERROR\] There are test failures|<<< (?:FAILURE|ERROR)!", _VERDICT),
    Rule("gradle test", _TEST, rf"^\d+ tests? completed, {_NONZERO} failed", _VERDICT),
    Rule("dotnet test", _TEST, rf"^(?:Failed!\s+-\s|\s+Failed:\s+{_NONZERO}$)", _VERDICT),
    Rule(
        "ctest",
        _TEST,
        rf"^\d+% tests passed, {_NONZERO} tests? failed|^The following tests FAILED:",
        _VERDICT,
    ),
    Rule("googletest", _TEST, r"^\[  FAILED  \]", _VERDICT),
    Rule("phpunit", _TEST, rf"^Tests: \d+, Assertions: .*\b(?:Errors|Failures): {_NONZERO}"),
    Rule("exunit", _TEST, rf"^(?:\d+ \w+, )*\d+ tests?, {_NONZERO} failures?\b", _VERDICT),
    Rule("doctest", _TEST, rf"^\*\*\*Test Failed\*\*\* {_NONZERO} failures?", _VERDICT),
    Rule("deno or bun test", _TEST, rf"^\s*{_NONZERO} fail$|^FAILED \| \d+ passed", _VERDICT),
    Rule("pester", _TEST, rf"^Tests Passed: \d+, Failed: {_NONZERO}", _VERDICT),
    Rule("bats or plain mark", _TEST, r"^\s*(?:✗|✘|✕|×) \S"),
    Rule(
        "plain test summary",
        _TEST,
        rf"^(?=.*\b(?:tests?|passed|checks?|specs?|testes|tests?|Tests?|aprovad\w+|bestanden)\b)"
        rf"(?:.*[\s,])?(?:[Ff]ail(?:ed|ures?)?|FAILED|[Ff]alhas?|[Ff]ehlgeschlagen): ?{_NONZERO}\b"
        rf"|^(?=.*\b(?:tests?|passed|checks?|specs?|testes|aprovad\w+|bestanden|réussis?)\b)"
        rf"(?:.*[\s,|(])?{_NONZERO} (?:failed|failures?|falh\w+|fallos?|fehlgeschlagen|échecs?)\b"
        rf"|^(?=.*(?:测试|通过|テスト|成功)).*?(?<!\d){_NONZERO} ?(?:个|件)?(?:が|の)?(?:失败|失敗)",
        _VERDICT,
    ),
    Rule(
        "plain failed test",
        _TEST,
        r"^\s*\[?(?:FAIL(?:ED)?|FALHOU|FEHLER)\]? +(?:- )?\S|^\s*\[(?:FAIL|FAILED|FALHOU)\]|^FAIL: \S",
    ),
    Rule(
        "coverage gate",
        _TEST,
        r"(?:Required test coverage of|Coverage failure:|coverage threshold for) .*(?:not|less)",
        _VERDICT,
        hint="the tests pass but cover too little: add tests for the uncovered lines named above",
    ),
    # -- something does not parse
    Rule(
        "python does not parse",
        _SYNTAX,
        r"^(?:\w+: )?(?:[\w.]+\.)?(?:SyntaxError|IndentationError|TabError): ",
        last=True,
    ),
    Rule("python does not parse, bare", _SYNTAX, r"^SyntaxError$", beside=r'^\s+File "'),
    Rule(
        "js or ruby does not parse", _SYNTAX, r"^(?:Uncaught )?\w*SyntaxError\b: |\(SyntaxError\)"
    ),
    Rule(
        "compiler cannot parse",
        _SYNTAX,
        rf"{_SPOT}:? ?{_ERROR}{_COLON}(?:syntax error|expected (?:['‘\"`“»]|\w+(?: or \w+)? (?:before|at)"  # noqa: RUF001, E501
        r"|identifier|expression|declaration|unqualified-id|primary-expression|statement|;)"
        r"|['‘\"`].{1,3}['’\"`] expected|unterminated|missing terminating|stray |invalid syntax"  # noqa: RUF001
        r"|illegal start of|reached end of file|unclosed |not a statement|class, interface"
        r"|unexpected token|Parsing error|unexpected end)",
    ),
    Rule("typescript cannot parse", _SYNTAX, r"error TS1\d{3}: "),
    Rule(
        "rustc cannot parse",
        _SYNTAX,
        r"^error: (?:expected .*found|unexpected closing|this file contains an un"
        r"|mismatched closing|unterminated|unknown start of token)",
    ),
    Rule("go cannot parse", _SYNTAX, r"^\S+\.go:\d+:\d+: (?:syntax error|expected )"),
    Rule(
        "linter cannot parse",
        _SYNTAX,
        r"Parsing error: |^\S+:\d+:\d+: (?:E999|E9\d\d|invalid-syntax|SyntaxError)\b"
        r"|^error: (?:cannot format|[Ff]ailed to parse) .*|\[error\] .*SyntaxError: |\(syntax-error\)$",
    ),
    Rule(
        "shell cannot parse",
        _SYNTAX,
        r"^(?:\S+: ){1,3}(?:(?:line |[Zz]eile |linha |línea |ligne |行 ?)?\d+: )?"
        r"(?:[Ss]yntax error\b|Syntaxfehler|erro de sintaxe|error de sintaxis|erreur de syntaxe"
        r"|unexpected EOF|未预期的|構文エラー|语法错误|unterminated quoted)",
    ),
    Rule(
        "interpreter cannot parse",
        _SYNTAX,
        r"^(?:PHP )?Parse error: |^(?:jq: )?(?:parse error|error: syntax error)\b"
        r"|^syntax error at \S+ line|^jq: \d+ compile error"
        r"|^Error: (?:in prepare, )?(?:near \".*\": )?syntax error|^(?:sed|awk|gawk|mawk): .*"
        r"(?:unterminated|unknown command|syntax error|unknown option to)"
        r"|^psql.*syntax error|^\S*: -e:\d+: syntax error",
    ),
    Rule(
        "SQL cannot parse",
        _SYNTAX,
        rf"^(?:psql:.*: )?{_ERROR}(?: \d+ \(\w+\)(?: at line \d+)?)?:\s+.*(?:syntax error at|[Ss]yntaxfehler"
        r"|erro de sintaxe|error de sintaxis|erreur de syntaxe|in your SQL syntax|语法错误|構文エラー)",
    ),
    Rule(
        "make cannot parse",
        _SYNTAX,
        r"^\S+:\d+: \*\*\* (?:missing|unterminated|commands commence|extraneous)",
    ),
    Rule(
        "data does not parse",
        _SYNTAX,
        r"^(?:[\w.]*\.)?(?:JSONDecodeError|TOMLDecodeError|ParserError|ScannerError|YAMLException"
        r"|ParseError|XMLSyntaxError|PatternError|re\.error)\b: "
        r"|^(?:\w+: )*(?:[Ii]nvalid|[Mm]alformed) (?:regular expression|regex|JSON|YAML|TOML|XML|pattern)\b"  # noqa: E501
        r"|^regex parse error:|^(?:error|Error|ERROR): (?:could not parse|[Ff]ailed to parse|[Ii]nvalid requirement|parsing)\b"  # noqa: E501
        r"|^grep: (?:Unmatched|Invalid|Trailing|Invalid) |^npm (?:ERR!|error) code EJSONPARSE"
        r"|^(?:yaml|toml|json): |^Error: .*(?:YAML|JSON) parse",
    ),
    # -- time limits of the call
    Rule("curl timed out", _TIMEOUT, r"^curl: \(28\)"),
    Rule(
        "timeout exception",
        _TIMEOUT,
        r"^(?:[\w.$]+[.:])?\w*Time(?:d)?[Oo]ut(?:Error|Exception|Expired)?\b(?: \[\w+\])?:(?!\d)",
        last=True,
    ),
    Rule(
        "deadline",
        _TIMEOUT,
        rf"^(?:{_ACTOR}|{_ERROR}{_COLON}|rpc error: ).{{0,300}}?(?:context deadline exceeded|DeadlineExceeded|DEADLINE_EXCEEDED"  # noqa: E501
        r"|statement timeout|[Ll]ock wait timeout|ETIMEDOUT|ESOCKETTIMEDOUT|ERR_SOCKET_TIMEOUT)",
    ),
    Rule(
        "gateway timeout",
        _TIMEOUT,
        r"^(?:HTTP/[\d.]+ (?:504|408)\b|.*\b(?:status(?: code)?|HTTP|error):? (?:504|408)\b"
        r"|(?:504|408) (?:Gateway|Request) Time-?[Oo]ut$|.{0,200}<title>\s*(?:504|408) )",
    ),
    Rule(
        "program timed out",
        _TIMEOUT,
        rf"^[\w./+-]+: (?:.{{0,200}}: )?(?:.{{0,120}}\btimed out\b|Tempo esgotado|Zeitüberschreitung)|^{_ERROR}{_COLON}.*\btimed out\b",  # noqa: E501
    ),
    # -- rights
    Rule(
        "HTTP refuses",
        _DENIED,
        r"^(?:HTTP/[\d.]+ (?:401|403|407)\b|.*\b(?:status(?: code)?|HTTP|[Ee]rror):? (?:401|403)\b"
        r"|(?:401 Unauthorized|403 Forbidden)$|.{0,200}<title>\s*(?:401|403) |.*requested URL returned error: 40[13])",  # noqa: E501
    ),
    Rule(
        "npm may not write", _DENIED, r"^npm (?:ERR!|error) (?:code )?(?:EACCES|EPERM|E401|E403)\b"
    ),
    Rule(
        "program may not",
        _DENIED,
        rf"^{_ACTOR}(?:.{{0,300}}[:：] ?)?{_DENIED_TEXT}|^.{{0,120}}Permission denied \(publickey",  # noqa: RUF001
    ),
    Rule("errno denied", _DENIED, r"^(?:Error:? )?\b(?:EACCES|EPERM|EROFS)\b"),
    Rule(
        "permission exception",
        _DENIED,
        r"^(?:[\w.$]+[.$])?(?:PermissionError|AccessDenied\w*|UnauthorizedAccessException"
        r"|ForbiddenError|PermissionDenied\w*)\b:",
    ),
    Rule(
        "server denies",
        _DENIED,
        rf"^{_SAYS_ERROR}\s*(?:.{{0,120}}\b)?(?:permission denied|forbidden|password authentication failed|must be owner|access denied"
        r"|not authorized|not permitted|is forbidden|Access denied for user|keine Berechtigung|permissão negada)"
        r"|^remote: Permission to .* denied|^fatal: Authentication failed"
        r"|^fatal: could not read Username|^sudo: (?:a password is required|.*not in the sudoers)"
        r"|^E: Could not open lock file .*|.*(?:are you root\?|[Mm]ust be (?:run as )?root\b)",
    ),
    Rule(
        "path outside",
        _DENIED,
        r"^(?:Error: )?.*outside (?:of )?(?:the )?allowed (?:dir|fold|path)",
    ),
    # -- linters, formatters and static checkers
    Rule("clippy", _LINT, r"^error(?:\[\w+\])?: (?!could not|aborting)", beside=r"clippy::"),
    Rule("rust lint as error", _LINT, r"^error: (?!could not|aborting)", beside=r"`-D [\w-]+`"),
    Rule("eslint", _LINT, rf"^✖ \d+ problems? \({_NONZERO} errors?", _VERDICT),
    Rule("eslint warnings gate", _LINT, r"^ESLint found too many warnings", _VERDICT),
    Rule("eslint line", _LINT, r"^\s+\d+:\d+\s+error\s+\S"),
    Rule(
        "mypy",
        _LINT,
        rf"^Found {_NONZERO} errors? in \d+ files? \(checked|^\S+\.pyi?:\d+: error: .*\[[\w-]+\]$",
        _VERDICT,
    ),
    Rule("pyright", _LINT, rf"^{_NONZERO} errors?, \d+ warnings?(?:, \d+ informations?)?\s*$"),
    Rule("ruff", _LINT, rf"^Found {_NONZERO} errors?\.$", _VERDICT),
    Rule(
        "ruff partly fixed",
        _LINT,
        rf"^Found \d+ errors? \(\d+ fixed, {_NONZERO} remaining",
        _VERDICT,
    ),
    Rule("python lint code", _LINT, r"^\S+\.pyi?:\d+:\d+:? (?:[A-Z]{1,4}\d{3,4})\b"),
    Rule(
        "ruff frame",
        _LINT,
        r"^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?.*",
        beside=r"^\s*--> \S+\.pyi?:\d+:\d+",
    ),
    Rule("formatter check", _LINT, r"^would reformat \S|^Would reformat: \S", _VERDICT),
    Rule("formatter summary", _LINT, rf"^\d+ files? would be reformatted|^{_NONZERO} files? need"),
    Rule("prettier", _LINT, r"^\[warn\] Code style issues|^\[error\] Code style", _VERDICT),
    Rule("isort", _LINT, r"Imports are incorrectly sorted", _VERDICT),
    Rule("rustfmt", _LINT, r"^Diff in \S+(?: at line \d+|:\d+:)", _VERDICT),
    Rule("go vet", _LINT, r"^vet: \S+:\d+:\d+: |^\S+\.go:\d+:\d+: .*\(\w{2,20}\)$"),
    Rule("go vet package", _LINT, r"^\S+\.go:\d+:\d+: ", beside=r"^# \[\S+\]$|^go vet:"),
    Rule("rubocop", _LINT, rf"^\d+ files? inspected, {_NONZERO} offenses? detected(?!.*corrected)"),
    Rule("shellcheck", _LINT, r"^\s*\^-+\^? SC\d{4} \(error|^In \S+ line \d+:$", beside=r"SC\d{4}"),
    Rule(
        "stylelint or markdownlint",
        _LINT,
        rf"^\S+:\d+(?::\d+)? (?:error )?MD\d{{3}}/|^{_NONZERO} problems? \({_NONZERO} errors?",
    ),
    Rule("yamllint", _LINT, r"^\s+\d+:\d+\s+error\s+|^::error file="),
    Rule("pre-commit hook", _LINT, r"^- hook id: |\.{5,}Failed$", _VERDICT),
    Rule("checkstyle", _LINT, r"^\[ERROR\] \S+\.java:\d+.*\[\w+\]$|You have \d+ Checkstyle viol"),
    Rule("terraform fmt or tflint", _LINT, rf"^{_NONZERO} issue\(s\) found:"),
    # -- compilers, linkers, build systems
    Rule(
        "missing header",
        _BUILD,
        rf"{_SPOT}:? ?{_ERROR}{_COLON}(?P<what>[^\s:]+\.(?:h|hh|hpp|hxx|inc))[:：]? ",  # noqa: RUF001
        _VERDICT,
        hint="install the package that ships `{what}`, or add its folder to the include path",
    ),
    Rule(
        "linker",
        _BUILD,
        r"undefined reference to|[Uu]ndefined symbols? for|undefined symbol:|cannot find -l\S+|collect2: \S+ ld returned"
        r"|collect2: |linker command failed|multiple definition of|referência não definida"
        r"|Nicht definierter Verweis|référence indéfinie|referencia a .* sin definir"
        r"|对.*未定义的引用|に対する定義されていない参照",
    ),
    Rule("compiler", _BUILD, rf"{_SPOT}:? ?{_ERROR}(?: \w+)?{_COLON}", _VERDICT),
    Rule("rustc", _BUILD, r"^error(?:\[E\d+\])?: ", _VERDICT, beside=r"^\s*--> \S+\.rs:\d+:\d+"),
    Rule("cargo", _BUILD, r"^error: could not compile |^error: aborting due to", _VERDICT),
    Rule("rustc code", _BUILD, r"^(?i:error)\[[Ee]\d+\]:"),
    Rule("typescript", _BUILD, r"\berror TS\d{4,5}: |^TS\d{4,5}: ", _VERDICT),
    Rule(
        "typescript count", _BUILD, rf"^Found {_NONZERO} errors? in (?:\d+ files|\S+:\d+)", _VERDICT
    ),
    Rule(
        "clang count", _BUILD, rf"^(?:\d+ warnings? and )?{_NONZERO} errors? generated\.$", _VERDICT
    ),
    Rule(
        "javac count",
        _BUILD,
        rf"^{_NONZERO} (?:errors?|Fehler|erros?|erreurs?)$",
        beside=r"\.java:\d+",
    ),
    Rule("cmake", _BUILD, r"^CMake Error\b|^-- Configuring incomplete, errors", _VERDICT),
    Rule("autoconf", _BUILD, r"^configure: error: ", _VERDICT),
    Rule(
        "ninja",
        _BUILD,
        r"^FAILED: \S+|^ninja: build stopped|^ninja: error: (?!unknown)",
        _VERDICT,
        beside=r"^ninja: ",
    ),
    Rule(
        "maven",
        _BUILD,
        r"^\[ERROR\] COMPILATION ERROR|^\[ERROR\] \S+\.(?:java|kt|scala):\[\d+"
        r"|^\[ERROR\] Failed to execute goal|^\[INFO\] BUILD FAILURE|^BUILD FAILED",
        _VERDICT,
    ),
    Rule(
        "gradle", _BUILD, r"^FAILURE: Build (?:failed|completed with)|^> Task \S+ FAILED", _VERDICT
    ),
    Rule("dotnet or msvc", _BUILD, r"\berror (?:CS|C|LNK|MSB|NU|FS|BC)\d{4}\b: ?", _VERDICT),
    Rule(
        "go build",
        _BUILD,
        r"^(?:\./)?\S+\.go:\d+:\d+: (?:undefined:|.*(?:imported and not used|declared and not used"
        r"|cannot use|missing return|not enough|too many|no required module|is not in std|cannot find package)"  # noqa: E501
        r"|invalid operation|assignment mismatch|.* redeclared|undefined|unknown field|.*undefined)"
        r"|^(?:go: )?.*no required module provides package|^package \S+ is not in (?:std|GOROOT)",
    ),
    Rule("go build package", _BUILD, r"^(?:\./)?\S+\.go:\d+:\d+: ", beside=r"^# [\w./-]+(?: \[|$)"),
    Rule(
        "bundler",
        _BUILD,
        r"^(?:ERROR in |Module not found: |\[vite\].*error|error during build:|✘ \[ERROR\]"
        r"|Failed to compile\.?$|Build failed with \d+ error|webpack .*compiled with \d+ error)",
    ),
    Rule(
        "dependency conflict",
        _BUILD,
        r"^npm (?:ERR!|error) (?:code )?ERESOLVE|^ERROR: ResolutionImpossible|^ERROR: Cannot install .*conflict"  # noqa: E501
        r"|failed to select a version for|^error: no matching package named",
    ),
    Rule(
        "python wheel",
        _BUILD,
        r"^\s*error: subprocess-exited-with-error|^ERROR: Failed building wheel",
    ),
    Rule("docker build", _BUILD, r"^ERROR: failed to (?:solve|build)|^failed to solve:", _VERDICT),
    # -- what was named does not exist
    Rule(
        "missing command",
        _MISSING,
        r"^(?:\S+: )?(?:(?:line|Zeile|linha|línea|ligne|行) ?\d+: )?(?:\S+: )*?(?P<what>[^\s:]+): "
        r"(?:command not found|(?:Kommando|Befehl) nicht gefunden|comando não encontrado"
        r"|(?:orden|comando) no encontrad[ao]|commande introuvable|comando non trovato|未找到命令"
        r"|コマンドが見つかりません|команда не найдена|not found)$"
        r"|^(?:zsh|fish): (?:command not found|Unknown command): ?(?P<other>\S+)",
        hint="`{what}` is not on PATH: install it, call it by its full path, or use a tool that is there",  # noqa: E501
    ),
    Rule(
        "missing module",
        _MISSING,
        r"^(?:\w+: )?ModuleNotFoundError: No module named '(?P<what>[^']+)'"
        r"|^(?:Uncaught )?Error(?: \[\w+\])?: Cannot find (?:module|package) '(?P<module>[^']+)'"
        r"|No module named (?P<name>[\w.]+)$|cannot load such file -- (?P<path>\S+)"
        r"|^Can't locate (?P<perl>\S+) in @INC|ClassNotFoundException: (?P<cls>\S+)"
        r"|Could not find or load main class (?P<main>\S+)",
        hint="install `{what}` in the environment that runs this, or correct the import",
        last=True,
    ),
    Rule(
        "missing file exception",
        _MISSING,
        r"^(?:[\w.$]+[.$])?(?:FileNotFoundError|NoSuchFileException|FileNotFoundException"
        r"|NotADirectoryError|DirectoryNotFoundException|Errno::ENOENT)(?:: |$)"
        r"(?:.*?['\"](?P<what>[^'\"]+)['\"])?|\(Errno::ENOENT\)",
        beside=_FRAMES,
        hint="`{what}` does not exist from this working directory: list the folder and fix the path",
        last=True,
    ),
    Rule(
        "missing script",
        _MISSING,
        r"^npm (?:ERR!|error) Missing script: \"?(?P<what>[\w:.-]+)|^error: Script not found \"(?P<bun>\S+)\""  # noqa: E501
        r"|^error(?: Command|: Command) \"(?P<yarn>\S+)\" not found",
        hint="there is no script `{what}`: list the scripts of the package and call one of them",
    ),
    Rule(
        "missing package",
        _MISSING,
        r"No matching distribution found for (?P<what>\S+)|^npm (?:ERR!|error) (?:code )?E404\b"
        r"|^npm (?:ERR!|error) 404|^E: Unable to locate package (?P<apt>\S+)"
        r"|could not find `?(?P<crate>\S+?)`? in registry|^Error: No (?:available formula|such keg)",
        hint="`{what}` is not in the index that was asked: check its name, version and the index",
    ),
    Rule(
        "missing make target",
        _MISSING,
        r"^make(?:\[\d+\])?: \*\*\* .*(?:No rule to make target [`'‘](?P<what>[^'’]+)"  # noqa: RUF001
        r"|No targets specified|Keine Regel|Sem regra|没有规则|ルールがありません)"
        r"|^ninja: error: unknown target '(?P<ninja>[^']+)",
        hint="nothing makes `{what}`: list the targets, or create the file it depends on",
    ),
    Rule(
        "missing ref or repository",
        _MISSING,
        r"^(?:error|fatal): (?:pathspec '(?P<what>[^']+)' did not match|couldn't find remote ref (?P<ref>\S+)"  # noqa: E501
        r"|.*(?:unknown revision|not a valid object name|bad revision|does not exist|not found)"
        r"|.*not a git repository|invalid reference)",
        hint="git knows no `{what}` here: list the branches, tags and files, and check the spelling",
    ),
    Rule(
        "missing table",
        _MISSING,
        rf"^(?:psql:.*: )?{_ERROR}.{{0,60}}(?:[Nn]o such (?:table|column|function)|[Rr]elation .* (?:does not exist|existiert nicht|não existe|n'existe pas)"  # noqa: E501
        r"|.{0,200}(?:does not exist|existiert nicht|não existe|no existe|n'existe pas|doesn't exist|Unknown (?:table|database|column))"  # noqa: E501
        r"|.*不存在|.*は存在しません)",
    ),
    Rule(
        "missing text of an edit",
        _MISSING,
        r"^(?:Error: )?(?:(?:The )?(?:[Ss]tring|old_str(?:ing)?|[Tt]ext|[Ss]earch (?:text|block))\b.{0,80}"
        r"(?:not found|did not (?:match|appear)|was not found)|[Nn]o match(?:es)? (?:was |were )?found for (?:replacement|old)"  # noqa: E501
        r"|Could not find (?:the )?(?:old|string|text))",
        hint="read the file again and copy the text to replace exactly, with its whitespace",
    ),
    Rule(
        "HTTP 404",
        _MISSING,
        r"^(?:HTTP/[\d.]+ (?:404|410)\b|.*\b(?:status(?: code)?|HTTP|[Ee]rror):? 404\b"
        r"|(?:404|410):? (?:page )?(?:[Nn]ot [Ff]ound|Gone)\.?$|.{0,200}<title>\s*(?:404|410) "
        r"|.*requested URL returned error: 404|.*ERROR 404: )",
    ),
    Rule(
        "program finds no",
        _MISSING,
        rf"^{_ACTOR}(?:.{{0,300}}[:：] ?)?(?:\[Errno 2\] )?{_MISSING_TEXT}",  # noqa: RUF001
    ),
    Rule(
        "errno missing",
        _MISSING,
        r"^(?:\[?Error\]?:? )?(?:\w+: )?ENOENT\b|^npm (?:ERR!|error) code ENOENT",
    ),
    Rule(
        "path does not exist",
        _MISSING,
        rf"^(?:{_ERROR}{_COLON})?(?:[Tt]he )?(?:[Ff]ile|[Pp]ath|[Dd]irectory|[Ff]older|URL|[Cc]ommand)\b.{{0,200}}"
        r"\b(?:does not exist|doesn't exist|not found|could not be found)",
    ),
    # -- everything else that is a complaint
    Rule(
        "exhausted",
        _GENERIC,
        rf"^{_ACTOR}(?:.{{0,300}}[:：] ?)?{_EXHAUSTED_TEXT}|^FATAL ERROR: .*out of memory"  # noqa: RUF001
        r"|^java\.lang\.OutOfMemoryError",
        hint="disk, memory or handles ran out: free some, or do the work in smaller portions",
    ),
    Rule(
        "crash",
        _GENERIC,
        r"^(?:\S+: )?(?:line \d+:\s+)?(?:\d+ )?(?:Segmentation fault|Bus error|Aborted|Killed"
        r"|Terminated$|Illegal instruction|Floating point exception|Abgebrochen|Speicherzugriffsfehler"
        r"|Falha de segmentação|段错误|セグメンテーション違反)\b"
        r"|^Fatal Python error: |==ERROR: \w+Sanitizer|runtime error: .*(?:overflow|null pointer)"
        r"|^fatal error: |^FATAL ERROR: |^(?:SIG(?:SEGV|ABRT|BUS|KILL|ILL|FPE))\b"
        r"|^terminate called|^\S+: \S+:\d+: .*Assertion .* failed|^\*\*\* stack smashing|^#? ?A fatal error",  # noqa: E501
        hint="look at the frame of our own code nearest to the crash and at memory and input size",
    ),
    Rule("sanitizer count", _GENERIC, rf"ERROR SUMMARY: {_NONZERO} errors"),
    Rule("go panic", _GENERIC, r"^panic: ", beside=r"^goroutine \d+|^exit status 2"),
    Rule(
        "rust panic", _GENERIC, r"^thread '.*' (?:\(\d+\) )?panicked at", beside=r"RUST_BACKTRACE"
    ),
    Rule("php fatal", _GENERIC, r"^(?:PHP )?(?:Fatal error|Uncaught \w+): "),
    Rule(
        "merge conflict",
        _GENERIC,
        r"^(?:CONFLICT|CONFLITO|KONFLIKT|CONFLIT|CONFLICTO|冲突|衝突|コンフリクト) ?[(（]",  # noqa: RUF001
        _VERDICT,
        hint="open the file, resolve the conflict markers, then add it and continue",
    ),
    Rule("merge failed", _GENERIC, r"^Automatic merge failed|^Automatischer Merge fehlgeschlagen"),
    Rule(
        "push rejected",
        _GENERIC,
        r"^ ! \[(?:remote )?rejected\]",
        _VERDICT,
        hint="fetch and rebase onto the remote branch, then push again",
    ),
    Rule(
        "patch does not apply",
        _GENERIC,
        r"^error: patch failed|^Hunk #\d+ FAILED|^\d+ out of \d+ hunks? (?:FAILED|failed)",
        _VERDICT,
        hint="the file has changed since the patch was made: read it and redo the edit",
    ),
    Rule(
        "edit is ambiguous",
        _GENERIC,
        r"^(?:Error: )?(?:Found \d+ (?:matches|occurrences)|.*\b(?:is not unique|multiple (?:matches|occurrences)|appears \d+ times))",  # noqa: E501
        hint="give more lines around the text, so that exactly one place matches",
    ),
    Rule(
        "rate limit",
        _GENERIC,
        r"^(?:HTTP/[\d.]+ 429\b|.*\b(?:status(?: code)?|HTTP|[Ee]rror):? 429\b|429 Too Many Requests$)",
        hint="wait as long as the answer asks for, then send fewer requests",
    ),
    Rule(
        "HTTP error",
        _GENERIC,
        r"^(?:HTTP/[\d.]+ [45]\d\d\b|.*\b(?:status(?: code)?|HTTP|returned error):? [45]\d\d\b"
        r"|[45]\d\d (?:[A-Z][\w-]+ ?){1,4}$|.{0,200}<title>\s*[45]\d\d |<h1>[45]\d\d )",
    ),
    Rule("in the way", _GENERIC, rf"^{_ACTOR}(?:.{{0,300}}[:：] ?)?{_CONFLICT_TEXT}"),  # noqa: RUF001
    Rule(
        "no connection",
        _GENERIC,
        rf"^(?:{_ACTOR}|(?:The |[Cc]annot |[Cc]ould not |[Ff]ailed ).{{0,80}}|正在).{{0,300}}(?:{_REFUSED_TEXT}|Could not resolve host|Temporary failure in name"
        r"|Name or service not known|ENOTFOUND|ECONNRESET|Cannot connect to|was refused - did you)",
        hint="check that the service runs, and its host and port, before trying again",
        last=True,
    ),
    Rule(
        "exception",
        _GENERIC,
        r"^(?:\w+: )?(?:Exception in thread \S+ |Uncaught |Unhandled exception\. |Caused by: )?(?:[\w$]+[.$:]{1,2})*"
        r"[A-Z]\w*(?:Error|Exception|Interrupt|Failure|Exit|Warning|Fault|Iteration|Group)\b(?: \[\w+\])?(?::|$| \()",  # noqa: E501
        beside=_FRAMES,
        last=True,
    ),
    Rule(
        "exception alone", _GENERIC, r"^(?:[\w$]+[.$])*[A-Z]\w*(?:Error|Exception): \S", last=True
    ),
    Rule("errno", _GENERIC, r"^(?:Error: )?E[A-Z]{3,14}: [a-z]"),
    Rule(
        "uncaught exception",
        _GENERIC,
        r"^\S+:\d+:in [`'].*\(\w+\)$|^(?:Uncaught|Unhandled) \w*(?:Error|Exception|[Rr]ejection)",
    ),
    Rule(
        "custom exception",
        _GENERIC,
        r"^(?:[\w$]+\.)+[A-Z]\w+: \S|^[A-Z]\w+: \S",
        beside=r"^Traceback \(most recent call last\)",
        last=True,
    ),
    Rule(
        "exit marker",
        _GENERIC,
        r"^\W{0,3}(?:##\[error\])?(?:[Pp]rocess |[Cc]ommand |[Ss]cript )?(?:exited with |completed with |failed with |returned |finished with )?"  # noqa: E501
        rf"(?:[Ee]xit[ _]?(?:code|status)|[Cc]ode|[Ss]tatus)[:= ]+-?{_NONZERO}\W{{0,3}}$"
        r"|^(?:[Pp]rocess|[Cc]ommand|[Ss]cript) .{0,80}(?:exited|failed|finished) with (?:exit )?(?:code|status) -?[1-9]"  # noqa: E501
        r"|^error Command failed with exit code [1-9]",
        _VERDICT,
        bare=True,
    ),
    Rule("npm", _GENERIC, r"^npm (?:ERR!|error) (?!A complete log|code ELIFECYCLE)\S"),
    Rule(
        "usage",
        _GENERIC,
        r"^[\w./+-]+: (?:error: (?:the following|unrecognized|invalid choice|argument|ambiguous|too few|expected)|invalid option|unrecognized (?:option|argument)|illegal option|unknown option|option requires)|^(?:Error: )?(?:[Uu]nknown|[Ii]nvalid|[Uu]nexpected) (?:command|option|argument|flag|subcommand)\b|^error: (?:unexpected|unrecognized|unknown|invalid|the following required) ",
        hint="read the usage text of the command and call it again with what it accepts",
    ),
    Rule(
        "archive",
        _GENERIC,
        r"^\s+End-of-central-directory signature not found|^gzip: .*not in gzip format"
        r"|^tar: .*(?:not recoverable|does not look like)",
        hint="the file is no valid archive: check how it was made or downloaded",
    ),
    Rule(
        "program complains",
        _GENERIC,
        r"^[\w./+-]{2,60}: +(?:[^:]{1,80}: )?(?:[Cc]annot|[Cc]an't|[Cc]ould not|[Cc]ouldn't|[Uu]nable to|[Ff]ailed to|[Ee]rror\b"
        r"|[Mm]issing|[Ii]nvalid|[Uu]nknown|[Uu]nrecognized|[Nn]o such|[Nn]ot (?:a|in)\b|[Rr]efusing|[Ff]atal)",  # noqa: E501
    ),
    Rule(
        "says error",
        _GENERIC,
        rf"^(?:\[|[!*✗✖×❌] ?)?{_SAYS_ERROR}\s*(?!none|None|['\x22]{{2}}|\[\]|\{{\}}|undefined$|0\b|no\b|null\b|nenhum|keine\b|false)\S",  # noqa: E501
    ),
    Rule("says fatal", _GENERIC, r"^(?:[Pp]anic|PANIC|ABORT(?:ED)?|CRITICAL|E): +\S"),
    Rule(
        "cannot",
        _GENERIC,
        r"^(?:[Cc]annot|[Cc]an't|[Cc]ould not|[Uu]nable to|[Ff]ailed to|FAILED to|Request failed|System has not been)\s+\S",
    ),
    Rule(
        "make stops",
        _GENERIC,
        r"^g?make(?:\[\d+\])?: \*\*\* .*(?:Error|Fehler|Erro|错误|エラー|Stop)",
        bare=True,
    ),
    Rule(
        "ansible or terraform",
        _GENERIC,
        r"^fatal: \[\S+\]: (?:FAILED|UNREACHABLE)|^│ Error: |^╷$",
        beside=r"Error|fatal",
    ),
)

# What a complaint is about, once we know that it is one. Searched without case.
PHRASES: tuple[Rule, ...] = (
    Rule(
        "timed out",
        _TIMEOUT,
        r"timed[ -]?out|deadline exceeded|timeout (?:after|of|exceeded|expired)|context cancell?ed|time ?limit exceeded|etimedout|zeitüberschreitung|tempo esgotado",
        _PHRASE,
    ),
    Rule(
        "does not parse",
        _SYNTAX,
        r"syntax ?error|invalid syntax|unexpected (?:token|eof|end of (?:file|input))\b|parse error|cannot parse|could not parse|failed to parse|unterminated|malformed|syntaxfehler|erro de sintaxe|语法错误|構文エラー",
        _PHRASE,
    ),
    Rule(
        "no rights",
        _DENIED,
        r"permission denied|access (?:is )?denied|authentication failed|\be(?:acces|perm)\b|operation not permitted|\bforbidden\b|\bunauthori[sz]ed\b|not authori[sz]ed|read-only file system|"
        + _DENIED_TEXT,
        _PHRASE,
    ),
    Rule(
        "refused",
        _GENERIC,
        r"(?:connection|econn)[ -]?(?:refused|reset)|rate limit|too many requests|already exists",
        _PHRASE,
    ),
    Rule(
        "missing dependency of a build",
        _BUILD,
        r"cannot find -l|undeclared \(first use|undefined reference|cannot find symbol|\bts\d{4,5}\b|error\[e\d+\]",
        _PHRASE,
    ),
    Rule(
        "does not exist",
        _MISSING,
        r"no such (?:file|directory|table|column|module|command|host|container|image)|not found\b|\benoent\b|does(?: not|n't) exist|no module named|cannot find\b|could not find\b|couldn't find\b|unknown (?:command|host|revision)|"
        + _MISSING_TEXT,
        _PHRASE,
    ),
)

# The same for failures that show nothing else: words that prove little.
LOOSE_PHRASES: tuple[Rule, ...] = (
    Rule(
        "tests fail",
        _TEST,
        r"^\s*fail(?:ed)?\s|^\d+ failed\b|\bfail(?:ed|ing) tests?\b|tests? failed|assertionerror",
        _PHRASE,
    ),
    Rule(
        "compiler",
        _BUILD,
        r"build failed|compilation (?:failed|error)|failed to compile|could not compile|linker",
        _PHRASE,
    ),
    Rule(
        "lint",
        _LINT,
        r"^[^\s:][^:]*:\d+:\d+:\s+(?:warning|error):?\s|\blint(?:er|ing)? (?:error|fail)|code style",
        _PHRASE,
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

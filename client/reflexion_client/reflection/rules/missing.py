"""Names of things that do not exist."""
# ruff: noqa: E501, RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations

from .idioms import ACTOR, COLON, ERROR, FRAMES, MISSING_TEXT
from .rule import MISSING, Rule

ABSENCES: tuple[Rule, ...] = (
    Rule(
        "missing command",
        MISSING,
        r"^(?:\S+: )?(?:(?:line|Zeile|linha|línea|ligne|行) ?\d+: )?(?:\S+: )*?(?P<what>[^\s:]+): "
        r"(?:command not found|(?:Kommando|Befehl) nicht gefunden|comando não encontrado"
        r"|(?:orden|comando) no encontrad[ao]|commande introuvable|comando non trovato|未找到命令"
        r"|コマンドが見つかりません|команда не найдена|not found)$"
        r"|^(?:zsh|fish): (?:command not found|Unknown command): ?(?P<other>\S+)",
        hint="`{what}` is not on PATH: install it, call it by its full path, or use a tool that is there",
    ),
    Rule(
        "missing module",
        MISSING,
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
        MISSING,
        r"^(?:[\w.$]+[.$])?(?:FileNotFoundError|NoSuchFileException|FileNotFoundException"
        r"|NotADirectoryError|DirectoryNotFoundException|Errno::ENOENT)(?:: |$)"
        r"(?:.*?['\"](?P<what>[^'\"]+)['\"])?|\(Errno::ENOENT\)",
        beside=FRAMES,
        hint="`{what}` does not exist from this working directory: list the folder and fix the path",
        last=True,
    ),
    Rule(
        "missing script",
        MISSING,
        r"^npm (?:ERR!|error) Missing script: \"?(?P<what>[\w:.-]+)|^error: Script not found \"(?P<bun>\S+)\""
        r"|^error(?: Command|: Command) \"(?P<yarn>\S+)\" not found",
        hint="there is no script `{what}`: list the scripts of the package and call one of them",
    ),
    Rule(
        "missing package",
        MISSING,
        r"No matching distribution found for (?P<what>\S+)|^npm (?:ERR!|error) (?:code )?E404\b"
        r"|^npm (?:ERR!|error) 404|^E: Unable to locate package (?P<apt>\S+)"
        r"|could not find `?(?P<crate>\S+?)`? in registry|^Error: No (?:available formula|such keg)",
        hint="`{what}` is not in the index that was asked: check its name, version and the index",
    ),
    Rule(
        "missing make target",
        MISSING,
        r"^make(?:\[\d+\])?: \*\*\* .*(?:No rule to make target [`'‘](?P<what>[^'’]+)"
        r"|No targets specified|Keine Regel|Sem regra|没有规则|ルールがありません)"
        r"|^ninja: error: unknown target '(?P<ninja>[^']+)",
        hint="nothing makes `{what}`: list the targets, or create the file it depends on",
    ),
    Rule(
        "missing ref or repository",
        MISSING,
        r"^(?:error|fatal): (?:pathspec '(?P<what>[^']+)' did not match|couldn't find remote ref (?P<ref>\S+)"
        r"|.*(?:unknown revision|not a valid object name|bad revision|does not exist|not found)"
        r"|.*not a git repository|invalid reference)",
        hint="git knows no `{what}` here: list the branches, tags and files, and check the spelling",
    ),
    Rule(
        "missing table",
        MISSING,
        rf"^(?:psql:.*: )?{ERROR}.{{0,60}}(?:[Nn]o such (?:table|column|function)|[Rr]elation .* (?:does not exist|existiert nicht|não existe|n'existe pas)"
        r"|.{0,200}(?:does not exist|existiert nicht|não existe|no existe|n'existe pas|doesn't exist|Unknown (?:table|database|column))"
        r"|.*不存在|.*は存在しません)",
    ),
    Rule(
        "missing text of an edit",
        MISSING,
        r"^(?:Error: )?(?:(?:The )?(?:[Ss]tring|old_str(?:ing)?|[Tt]ext|[Ss]earch (?:text|block))\b.{0,80}"
        r"(?:not found|did not (?:match|appear)|was not found)|[Nn]o match(?:es)? (?:was |were )?found for (?:replacement|old)"
        r"|Could not find (?:the )?(?:old|string|text))",
        hint="read the file again and copy the text to replace exactly, with its whitespace",
    ),
    Rule(
        "HTTP 404",
        MISSING,
        r"^(?:HTTP/[\d.]+ (?:404|410)\b|.*\b(?:status(?: code)?|HTTP|[Ee]rror):? 404\b"
        r"|(?:404|410):? (?:page )?(?:[Nn]ot [Ff]ound|Gone)\.?$|.{0,200}<title>\s*(?:404|410) "
        r"|.*requested URL returned error: 404|.*ERROR 404: )",
    ),
    Rule(
        "program finds no",
        MISSING,
        rf"^{ACTOR}(?:.{{0,300}}[:：] ?)?(?:\[Errno 2\] )?{MISSING_TEXT}",
    ),
    Rule(
        "errno missing",
        MISSING,
        r"^(?:\[?Error\]?:? )?(?:\w+: )?ENOENT\b|^npm (?:ERR!|error) code ENOENT",
    ),
    Rule(
        "path does not exist",
        MISSING,
        rf"^(?:{ERROR}{COLON})?(?:[Tt]he )?(?:[Ff]ile|[Pp]ath|[Dd]irectory|[Ff]older|URL|[Cc]ommand)\b.{{0,200}}"
        r"\b(?:does not exist|doesn't exist|not found|could not be found)",
    ),
)

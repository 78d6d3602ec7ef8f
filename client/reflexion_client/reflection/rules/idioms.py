"""Turns of phrase that many tools share, in the languages their messages come in."""
# ruff: noqa: RUF001 - a pattern stays on its line, in the script its tool prints

from __future__ import annotations


def any_of(*patterns: str) -> str:
    """A group that matches any of the patterns."""
    return f"(?:{'|'.join(patterns)})"


# "error" as compilers and shells print it.
ERROR = any_of(
    r"[Ss]chwerwiegender Fehler",
    r"[Ee]rreur fatale",
    r"[Ff]atal error",
    r"[Ee]rro fatal",
    r"[Oo]shibka",
    r"[Ee]rreur",
    r"[Ee]rrore",
    r"[Оо]шибка",
    r"[Ee]rror",
    r"[Ff]atal",
    r"[Ee]rro",
    r"Fehler",
    r"FEHLER",
    r"ERREUR",
    r"ОШИБКА",
    r"ERROR",
    r"FATAL",
    r"ERRO",
    r"致命错误",
    r"エラー",
    r"错误",
    r"錯誤",
    r"오류",
)
COLON = r" ?[:：] ?"
# "Error", with who says so or which number, and the colon: the start of a complaint.
SAYS_ERROR = (
    rf"{ERROR}(?:\[\w+\]|\])?(?: \d+(?: \(\w+\))?(?: at line \d+)?| in [^:]{{1,60}}"
    rf"| (?:response )?from \w+(?: \(\w+\))?)?{COLON}"
)
NONZERO = r"[1-9]\d*(?:,\d{3})*"
SPOT = r"^(?:[A-Za-z]:)?[^\s:()|]{1,200}[:(]\d+[:,)]?(?:\d+[:)]?)?"  # file:line:col, file(line,col)

# What `strerror` says after the name of a program and a file.
DENIED_TEXT = any_of(
    r"[Pp]ermission denied",
    r"[Oo]peration not permitted",
    r"[Aa]ccess(?: is)? denied",
    r"Read-only file system",
    r"Keine Berechtigung",
    r"Zugriff verweigert",
    r"Die Operation ist nicht erlaubt",
    r"Vorgang nicht zulässig",
    r"Permissão negada",
    r"Operação não permitida",
    r"Permiso denegado",
    r"Operación no permitida",
    r"Permission non accordée",
    r"Opération non permise",
    r"Permesso negato",
    r"权限不够",
    r"权限被拒绝",
    r"不允许的操作",
    r"許可がありません",
    r"許可されていない操作です",
    r"Отказано в доступе",
    r"허가 거부",
)
MISSING_TEXT = any_of(
    r"[Nn]o such file or directory",
    r"[Cc]ommand not found",
    r"[Nn]ot a directory",
    r"Datei oder Verzeichnis nicht gefunden",
    r"(?:Kommando|Befehl) nicht gefunden",
    r"Arquivo ou diretório inexistente",
    r"Ficheiro ou directoria inexistente",
    r"Ficheiro ou pasta inexistente",
    r"comando não encontrado",
    r"No existe el (?:fichero|archivo) o el directorio",
    r"orden no encontrada",
    r"comando no encontrado",
    r"Aucun fichier ou dossier de ce (?:type|nom)",
    r"commande introuvable",
    r"File o directory non esistente",
    r"comando non trovato",
    r"没有那个文件或目录",
    r"未找到命令",
    r"そのようなファイルやディレクトリはありません",
    r"コマンドが見つかりません",
    r"Нет такого файла или каталога",
    r"команда не найдена",
)
REFUSED_TEXT = any_of(
    r"[Cc]onnection refused",
    r"ECONNREFUSED",
    r"[Cc]onnection reset",
    r"[Nn]o route to host",
    r"[Nn]etwork is unreachable",
    r"Verbindungsaufbau abgelehnt",
    r"Conexão recusada",
    r"[Ll]igação recusada",
    r"Conexión rehusada",
    r"Connexion refusée",
    r"拒绝连接",
    r"接続を拒否されました",
    r"接続が拒否されました",
    r"В соединении отказано",
)
EXHAUSTED_TEXT = any_of(
    r"[Nn]o space left on device",
    r"ENOSPC",
    r"[Dd]isk quota exceeded",
    r"[Cc]annot allocate memory",
    r"ENOMEM",
    r"[Oo]ut of memory",
    r"MemoryError",
    r"[Tt]oo many open files",
    r"EMFILE",
    r"[Rr]esource temporarily unavailable",
    r"[Aa]rgument list too long",
    r"Kein Speicherplatz",
    r"Auf dem Gerät ist kein Speicherplatz",
    r"Não há espaço",
    r"No queda espacio",
    r"设备上没有空间",
)
CONFLICT_TEXT = any_of(
    r"[Aa]ddress already in use",
    r"EADDRINUSE",
    r"[Ii]s a directory",
    r"EISDIR",
    r"[Ff]ile exists",
    r"EEXIST",
    r"[Dd]irectory not empty",
    r"[Ii]nput/output error",
    r"[Ee]xec format error",
    r"[Tt]ext file busy",
    r"[Dd]evice or resource busy",
    r"[Bb]roken pipe",
    r"EPIPE",
)

# What a line of complaint starts with: a program, a system call with its path, "Error".
ACTOR = (
    r"(?:[^\s:：]{1,60}|(?:open|stat|lstat|mkdir|unlink|read|write|remove|rename|chmod|exec"
    r"|fork/exec|dial|listen|Get|Post|rpc error|[A-Z]\w+ [Ee]rror) [^:]{1,200}): ?"
)

SUITE_BLOCKED = (
    r"errors? during collection|Test suite failed to run|while loading conftest"
    r"|Failed to import test module|Failed Suites \d|occurred while loading|errors? in \d[\d.]*s"
    r"|error occurred outside of examples"
)
FRAMES = (
    r"^Traceback \(most recent call last\)|^\s+at .+[:(]|Exception in thread|Uncaught"
    r'|^  File ".+", line \d+|^\s+#\d+ |^\s+from .+:\d+:in |^Node\.js v'
)

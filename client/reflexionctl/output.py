"""What reaches the user: JSON documents, tables, times, and lines on stderr.

On a terminal a table is cut to its width; piped, every row is one whole line of
plain text, its columns two or more spaces apart.
"""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROGRAM = "reflexionctl"
WIDE = 120
"""The width in characters from which a terminal shows every column."""
S = 1_000_000_000
"""Nanoseconds in a second."""

# What a tool printed is shown to people here: nothing in it may steer their terminal
# or reverse the direction of the text around it.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    A flexible one gives way when the terminal is narrow, an extra one is not shown then.
    """

    title: str
    flexible: bool = False
    extra: bool = False


def print_json(document: object) -> None:
    """Print one JSON document in UTF-8, whatever the locale."""
    text = json.dumps(document, ensure_ascii=False, indent=2, default=str)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def complain(message: str) -> None:
    """Print one line on stderr that says who speaks."""
    # With stderr gone nobody could read the line anyway.
    try:
        write(f"{PROGRAM}: {one_line(message)}", sys.stderr)
    except (OSError, ValueError):
        return


def write(text: str, stream: TextIO) -> None:
    """Write one line, or several. The streams are looked up at each call: tests replace them."""
    stream.write(f"{text}\n")
    if stream is sys.stderr:
        stream.flush()


def say(text: str = "") -> None:
    """Print text on stdout, harmless to the terminal."""
    write(printable(text), sys.stdout)


def printable(text: str) -> str:
    """Return the text with everything that could steer a terminal replaced."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return the text as one printable line."""
    return " ".join(_STEERING.sub(" ", text).split())


def shortened(text: str, limit: int) -> str:
    """Return the text as one line of at most `limit` characters."""
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their titles."""
    lines = [tuple(one_line(cell) for cell in row) for row in rows]
    if sys.stdout.isatty():
        _print_rich(columns, lines)
    else:
        for line in aligned([tuple(column.title for column in columns), *lines]):
            write(line, sys.stdout)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print one fact per line behind its label; facts without a value are left out."""
    for line in aligned([(label, one_line(value)) for label, value in facts if value]):
        write(line, sys.stdout)


def print_block(label: str, text: str) -> None:
    """Print a text of several lines, indented below its label; nothing for an empty one."""
    if text.strip():
        body = printable(text).rstrip("\n").replace("\n", "\n  ")
        write(f"\n{label}\n  {body}", sys.stdout)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns; the last column is never padded."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    widths[-1:] = [0]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _print_rich(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    shown = [i for i, column in enumerate(columns) if console.width >= WIDE or not column.extra]
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for column in (columns[i] for i in shown):
        table.add_column(
            column.title,
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if column.flexible else None,
        )
    for row in rows:
        # Text, not str: a tool's output is no markup.
        table.add_row(*(Text(row[i]) for i in shown))
    console.print(table)


def now_ns() -> int:
    """Return the time of day, in nanoseconds since the epoch."""
    return time.time_ns()


def stamp(at_ns: int | None) -> str:
    """Return a time as ISO 8601 in UTC, to the second; empty for none."""
    if at_ns is None:
        return ""
    return datetime.fromtimestamp(at_ns // S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def when(at_ns: int | None, now: int | None = None) -> str:
    """Return a time as people say it on a terminal, as ISO 8601 when piped."""
    if at_ns is None or not sys.stdout.isatty():
        return stamp(at_ns)
    return relative(at_ns, now_ns() if now is None else now)


def relative(at_ns: int, now: int) -> str:
    """Return a time as seen from `now`: "in 5 s", "3 min ago", "now"."""
    seconds = (at_ns - now) / S
    if abs(seconds) < 1:
        return "now"
    return f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"


def span(seconds: float) -> str:
    """Return a length of time in its largest fitting unit."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def size(count: float) -> str:
    """Return a number of bytes in its largest fitting binary unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:  # noqa: PLR2004 - the binary thousand
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"

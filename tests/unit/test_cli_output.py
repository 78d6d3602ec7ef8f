"""What reflexionctl prints, and the pure parts of keeping a command's output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexionctl.completion import described
from reflexionctl.config import shown
from reflexionctl.kept import Kept, plain
from reflexionctl.output import aligned, one_line, printable, relative, shortened, size, span
from reflexionctl.paging import PAGE, pages

S = 1_000_000_000


@given(st.text())
def test_printable_cannot_steer_a_terminal(text: str) -> None:
    """No escape, control or direction mark gets through; lines and tabs do."""
    left = set(printable(text))
    assert not left & set("\x1b\x07\x08\r\x00\x7f\x9b\u202e\u2066\u200f")
    assert text.count("\n") == printable(text).count("\n")


@given(st.text(), st.integers(2, 80))
def test_shortened_is_one_short_line(text: str, limit: int) -> None:
    """A preview is one line and never longer than asked for."""
    short = shortened(text, limit)
    assert limit >= len(short)
    assert short.splitlines() in ([], [short])


def test_one_line_folds_white_space() -> None:
    """Line ends and tabs become single spaces."""
    assert "a b c" == one_line(" a\r\n\tb \x1b c ")


def test_aligned() -> None:
    """Columns are two spaces apart, the last one is not padded, and no line is cut."""
    assert ["ID   TASK", "abc  x", f"d    {'y' * 500}"] == aligned(
        [("ID", "TASK"), ("abc", "x"), ("d", "y" * 500)]
    )


@pytest.mark.parametrize(
    ("offset_s", "text"),
    [(0, "now"), (5, "in 5 s"), (-119, "119 s ago"), (-180, "3 min ago"), (10_800, "in 3 h")],
)
def test_relative(offset_s: int, text: str) -> None:
    """A time is told from now, in its largest fitting unit."""
    assert text == relative(1_000_000 * S + offset_s * S, 1_000_000 * S)


def test_span_and_size() -> None:
    """Lengths of time and numbers of bytes carry their unit."""
    assert ["45 s", "2 min", "48 h", "3 d"] == [span(s) for s in (45, 120, 172_799, 259_200)]
    assert ["0 B", "4 KiB", "1 MiB", "2.0 GiB"] == [size(n) for n in (0, 4096, 2**20, 2**31)]


@given(st.lists(st.binary(max_size=40)), st.integers(1, 30), st.integers(1, 30))
def test_kept_holds_both_ends(chunks: list[bytes], head: int, tail: int) -> None:
    """However the output arrives, its first and last bytes are kept, and no more."""
    kept = Kept(head, tail)
    for chunk in chunks:
        kept.feed(chunk)
    whole = b"".join(chunks)
    kept.text()
    assert whole[:head] == bytes(kept._head)
    assert whole[head:][-tail:] == bytes(kept._tail)


def test_kept_says_what_is_missing() -> None:
    """A gap is marked with its length; an output that fits has none."""
    short, long = Kept(4, 4), Kept(4, 4)
    short.feed(b"abcdefgh")
    long.feed(b"abcdefghij")
    assert "abcdefgh" == short.text()
    assert "abcd\n[… 2 bytes left out …]\nghij" == long.text()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("windows\r\n", "windows\n"),
        ("\x1b]0;title\x07x", "x"),
        ("plain [31m text", "plain [31m text"),
    ],
)
def test_plain(raw: str, text: str) -> None:
    """A report holds what was readable: no colours, no overwritten progress."""
    assert text == plain(raw)


@given(st.text(), st.text())
def test_completion_cannot_run_code(task: str, error: str) -> None:
    """A description holds nothing that zsh would evaluate or rich would read as markup."""
    assert not set(described(task, error)) & set("$`\\\"'[](){};&|<>*?~#!:\n")


def test_completion_tells_task_and_error() -> None:
    """A description is the task and the last error, each cut to fit."""
    assert "build the image \N{EM DASH} no space left" == described(
        "build the\nimage", "no space left"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), ("", "-"), (None, "-"), (["a", "b"], "a, b"), (0.2, "0.2")]
)
def test_settings_are_shown_as_written(value: object, text: str) -> None:
    """A setting's value looks as in the configuration file."""
    assert text == shown(value)


@given(st.integers(1, 3 * PAGE), st.integers(0, 3 * PAGE))
def test_pages(limit: int, stored: int) -> None:
    """As many rows come as were asked for or exist, in order, however many pages it takes."""

    def fetch(*, limit: int, after: int | None) -> dict[str, object]:
        start = after or 0
        end = min(start + min(limit, PAGE), stored)
        return {
            "rows": list(range(start, end)),
            "next": end if end < stored else None,
            "total": stored,
        }

    answer = pages(fetch, "rows", limit)
    assert list(range(min(limit, stored))) == answer["rows"]
    assert (limit if limit < stored else None) == answer["next"]

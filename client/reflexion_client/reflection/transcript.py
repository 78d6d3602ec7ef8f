"""The lines of a tool's output that are worth looking at, cleaned."""

from __future__ import annotations

import re

WINDOW = 64 * 1024  # characters kept at each end of a huge output
LINE_LIMIT = 1000  # characters kept of one line
EXCERPT_BYTES = 200

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)?|[@-_])")
_WRAPPER = re.compile(r"^\s*<\w{0,20}error>|</\w{0,20}error>\s*$")
_LINE_ENDS = re.compile(r"\r+\n|\r")


def clean(text: str) -> str:
    """The head and tail of `text` without terminal escapes, with plain line feeds."""
    if len(text) > 2 * WINDOW:
        text = f"{text[:WINDOW]}\n{text[-WINDOW:]}"
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if text.endswith("error>"):
        text = _WRAPPER.sub("", text)
    return _LINE_ENDS.sub("\n", text) if "\r" in text else text


def lines_of(text: str) -> list[str]:
    """The lines of a cleaned text, each without trailing blanks and of bounded length."""
    return [line[:LINE_LIMIT].rstrip() for line in text.split("\n")]


def excerpt(text: str) -> str:
    """`text` on one line, cut to 200 bytes of UTF-8 at a character boundary."""
    raw = " ".join(text[: 4 * EXCERPT_BYTES].split()).encode("utf-8", "replace")
    return raw[:EXCERPT_BYTES].decode("utf-8", "ignore").rstrip()

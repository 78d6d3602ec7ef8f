"""The text of a lesson: the form it is stored in, and what makes text from outside harmless."""

from __future__ import annotations

import re
import unicodedata

from reflexion_client._gotext import fields

UNKNOWN = "(unknown)"

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")

# How many times the limit is read of a text: enough, even when most of it is markup.
_SEEN = 8

# Characters that take part in no category of invisible ones, and yet show nothing.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")

_SPEAKER = (
    r"(?i:antml:[\w-]+|s|sys|system[\w-]*|user|human|assistant|developer|tools?(?:[_-]\w+)?"
    r"|functions?(?:[_-]\w+)?|invoke|parameter|instructions?|prompt|context|important"
    r"|reminder|memory|thinking)"
)
_GENERIC = r"(?!(?<=\w)<[A-Z][a-z])"  # List<User> is code
_MARKUP = (
    # Code fences. Single and double backticks are how people quote code, and stay.
    (re.compile(r"`{3,}|~{3,}"), "''"),
    # Quote marks and headings, also in the middle of what was a text of several lines.
    (re.compile(r"^(?:#+(?:\s+|$)|>+\s*)+|#{2,}(?:\s+|$)"), ""),
    # Hidden comments.
    (re.compile(r"<!-+"), "("),
    # Tags by which prompts tell who speaks: <system>, </user>, <|im_start|>, <<SYS>>, [INST].
    (re.compile(rf"{_GENERIC}<(\s*/?\s*{_SPEAKER}\s*|/?{_SPEAKER}\b[^<>]*)>"), r"(\1)"),
    (re.compile(rf"{_GENERIC}<(/?{_SPEAKER})(?=\s|$)"), r"(\1"),
    (re.compile(r"<\|\s*([\w /.-]*?)\s*\|>"), r"(\1)"),
    (re.compile(r"\[\s*(/?\s*(?i:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w+))\s*\]"), r"(\1)"),
)


def fact_text(situation: str, mistake: str, correction: str, trigger: str) -> str:
    """Write a lesson as the four lines that memory keeps.

    Whitespace within a field collapses to single blanks; a blank field reads
    "(unknown)"; the trigger stays as it is.
    """
    return (
        f"LESSON: {_field(situation)}\n"
        f"MISTAKE: {_field(mistake)}\n"
        f"CORRECTION: {_field(correction)}\n"
        f"TRIGGER: {trigger}"
    )


def one_line(text: str, limit: int) -> str:
    """Make text from outside fit to be shown to an agent: one readable line, data only.

    Colour codes, control, bidirectional and invisible characters go, whitespace collapses,
    markup that could pose as a heading, a fence or another speaker loses its brackets.
    A text over `limit` characters ends in an ellipsis, after a whole word where possible.
    Applying it twice changes nothing more.
    """
    seen = text[: limit * _SEEN]
    visible = "".join(_visible(character) for character in _ANSI.sub("", seen))
    return _shorten(_neutral(" ".join(visible.split())), limit)


def _field(text: str) -> str:
    return " ".join(fields(text)) or UNKNOWN


def _visible(character: str) -> str:
    """Give the character, a blank for whitespace and controls, or nothing."""
    if " " <= character <= "~":
        return character
    category = unicodedata.category(character)
    if character.isspace() or category == "Cc":
        return " "
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    if category in {"Cf", "Cs"} or selector or character in _BLANK:
        return ""
    return character


def _neutral(text: str) -> str:
    """Disarm markup. Repeated, because taking one mark out can bring forth another."""
    while True:
        before = text
        for pattern, harmless in _MARKUP:
            text = pattern.sub(harmless, text)
        text = " ".join(text.split())
        if text == before:
            return text


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    head = text[: limit - 1]
    if text[limit - 1] != " " and (blank := head.rfind(" ")) >= limit // 2:
        head = head[:blank]
    return head.rstrip() + "…"
